"""`manage.py classes`: check a list of classes, and suggest a better one, by WordNet."""

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.collecting import class_lists
from evaluation.collecting.class_lists import Basic, CheckedClasses, ClassList, Suggested
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.box_files import BoxReading
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.shipped import classes_file
from evaluation.scoring import explaining
from evaluation.scoring.analysis import scales_of
from labeling.bounded_numbers import share
from labeling.files import atomic_write, refuse_input
from labeling.management.contract import ContractCommand, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.question_graph.graph import shipped
from labeling.release_files import frozen

BASIC = "ilsvrc-detection"


@dataclass(kw_only=True)
class CheckOptions:
    classes: Path = argument(
        "a class a line: a wnid, dog.n.01, or a lemma of one sense; ilsvrc: the 1000 of ILSVRC "
        "2012",
        type=classes_file,
        metavar="CLASSES.txt",
    )
    boxes: Path | None = option(
        "true boxes, as score detection reads them, or a release with boxes: classes that cover "
        "the image",
        metavar="TRUTH|RELEASE",
    )
    images: Path | None = option("image,width,height rows of their images", metavar="FILE")
    largest: float = option(
        "of the image that a class may take in the mean (0.5)",
        class_lists.LARGE,
        type=share,
        metavar="SHARE",
    )
    basic: str | None = option(
        "classes of the basic level, into which others are merged; without it they are guessed "
        f"from WordNet; {BASIC}: the 200 of ILSVRC's detection",
        metavar=f"CLASSES.txt|{BASIC}",
    )


@dataclass(kw_only=True)
class SuggestOptions(CheckOptions):
    out: Path = option("the new list of wnids", metavar="CLASSES.txt")
    changes: Path | None = option("wnid,becomes,why rows", metavar="CHANGES.csv")


class Command(ContractCommand):
    help = "Classes of a new benchmark: none above another, none too large, none too fine."

    # Not called check, which is a method of BaseCommand.
    @verb("say what is wrong with a list", "check")
    def check_list(self, options: CheckOptions) -> CheckedClasses:
        wordnet = load_wordnet()
        class_list = class_lists.read(options.classes, wordnet)
        rule = _rule(wordnet, options.basic)
        return class_lists.check(class_list, wordnet, rule, _scales(options), options.largest)

    @verb("write a better list")
    def suggest(self, options: SuggestOptions) -> Suggested:
        out, changes = options.out, options.changes
        for goal in (out, changes):
            if goal is not None:
                refuse_input(goal, [options.classes])
        wordnet = load_wordnet()
        class_list = class_lists.read(options.classes, wordnet)
        rule = _rule(wordnet, options.basic)
        suggestion = class_lists.suggest(
            class_list, wordnet, rule, _scales(options), options.largest
        )
        with atomic_write(out) as file:
            file.writelines(f"{wnid}\n" for wnid in suggestion.classes)
        if changes is not None:
            with atomic_write(changes) as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(("wnid", "becomes", "why"))
                writer.writerows(
                    (change.wnid, change.becomes or "", change.why) for change in suggestion.changes
                )
        return suggestion


def _rule(wordnet: WordNet, basic: str | None) -> tuple[Basic, str]:
    if basic is None:
        return class_lists.rule_of(wordnet, None)
    if basic == BASIC:
        return class_lists.rule_of(wordnet, _detection_classes(wordnet))
    return class_lists.rule_of(wordnet, class_lists.read(Path(basic), wordnet))


def _detection_classes(wordnet: WordNet) -> ClassList:
    """Return the classes of ILSVRC's detection, from the shipped question graph."""
    graph = shipped("ilsvrc")
    wnids = [graph.node(leaf).key for leaf in graph.leaves]
    lines = {wordnet.index(wnid): line for line, wnid in enumerate(wnids, 1)}
    return ClassList(Path(BASIC), [*lines], lines)


def _scales(options: CheckOptions) -> dict[str, float] | None:
    """Return the mean share of the image that objects of each class take; None without boxes."""
    boxes, images = options.boxes, options.images
    if boxes is None:
        if images:
            raise UsageError("--images requires --boxes")
        return None
    if not (boxes / "release.json").is_file():
        request = explaining.AnalysisInput(boxes, BoxReading(images=images))
        difficulty = explaining.difficulty(request)
    else:
        with tempfile.TemporaryDirectory(prefix="boxes-") as scratch:
            folder = Path(scratch)
            with refusals(boxes):
                ground_truth.write(frozen.read(boxes), ground_truth.DETECTION, folder, False)
            read = BoxReading(images=folder / ground_truth.IMAGES)
            difficulty = explaining.difficulty(
                explaining.AnalysisInput(folder / ground_truth.TRUTH, read)
            )
    assert difficulty is not None, "sizes are needed"
    return scales_of(difficulty)
