"""`manage.py classes`: a list of classes checked, and a better one suggested, from WordNet."""

import csv
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.collecting import class_lists
from evaluation.collecting.class_lists import Basic, Checked, Listed, Suggested
from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.box_files import Options
from evaluation.readers.shipped import classes_file
from evaluation.scoring import explaining
from evaluation.scoring.analysis import scales_of
from labeling.bounded_numbers import share, whole
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.plurals import count_of
from labeling.question_graph.graph import shipped
from labeling.release_files import frozen

BASIC = "ilsvrc-detection"


class Command(ContractCommand):
    help = "Classes of a new benchmark: none above another, none too large, none too fine."

    def add_arguments(self, parser: CommandParser) -> None:
        check = self.verb(
            parser,
            "check",
            self.check_list,
            self.show_checked,
            help="say what is wrong with a list",
        )
        suggest = self.verb(
            parser, "suggest", self.suggest, self.show_suggested, help="write a better list"
        )
        for verb in (check, suggest):
            verb.add_argument(
                "classes",
                metavar="CLASSES.txt",
                type=classes_file,
                help="a class a line: a wnid, dog.n.01, or a lemma of one sense; ilsvrc: the 1000 "
                "of ILSVRC 2012",
            )
            verb.add_argument(
                "--boxes",
                type=Path,
                metavar="TRUTH|RELEASE",
                help="true boxes, as score detection reads them, or a release with boxes: classes "
                "that cover the image",
            )
            verb.add_argument(
                "--images",
                type=Path,
                metavar="FILE",
                help="image,width,height rows of their images",
            )
            verb.add_argument("--inclusive", action="store_true", help="x1 and y1 are last pixels")
            verb.add_argument(
                "--largest",
                type=share,
                default=class_lists.LARGE,
                metavar="SHARE",
                help="of the image that a class may take in the mean (0.5)",
            )
            verb.add_argument(
                "--basic",
                metavar=f"CLASSES.txt|{BASIC}",
                help="classes of the basic level, into which others are merged; without it they "
                f"are guessed from WordNet; {BASIC}: the 200 of ILSVRC's detection",
            )
        suggest.add_argument(
            "--replacements",
            type=whole(),
            default=5,
            metavar="N",
            help="classes to name for one that goes out (5)",
        )
        suggest.add_argument(
            "--out", type=Path, required=True, metavar="CLASSES.txt", help="the new list of wnids"
        )
        suggest.add_argument(
            "--changes", type=Path, metavar="CHANGES.csv", help="wnid,becomes,why rows"
        )

    def check_list(self, classes: Path, largest: float, **options: Any) -> Checked:
        wordnet = load()
        class_list = class_lists.read(classes, wordnet)
        rule = _rule(wordnet, options["basic"])
        return class_lists.check(class_list, wordnet, rule, _scales(options), largest)

    def suggest(
        self,
        classes: Path,
        largest: float,
        replacements: int,
        out: Path,
        changes: Path | None,
        **options: Any,
    ) -> Suggested:
        for goal in (out, changes):
            if goal is not None:
                refuse_input(goal, [classes])
        wordnet = load()
        class_list = class_lists.read(classes, wordnet)
        rule = _rule(wordnet, options["basic"])
        suggestion = class_lists.suggest(
            class_list, wordnet, rule, _scales(options), largest, replacements
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

    def show_checked(self, result: Checked) -> str:
        overlaps = [
            (
                overlap.above.name,
                overlap.above.line,
                overlap.below.name,
                overlap.below.line,
                overlap.cure,
            )
            for overlap in result.overlaps
        ]
        large = [(row.name, row.line, row.scale) for row in result.large]
        below = [(row.name, row.line, row.basic_name) for row in result.below_basic]
        counts: list[tuple[str, object]] = [
            ("classes", result.classes),
            ("one above the other", len(overlaps)),
            ("cover the image", "not measured" if result.measured is None else len(large)),
            ("below their basic level", len(below)),
        ]
        parts = [table(counts)]
        if overlaps:
            parts.append(table(overlaps, ("above", "line", "below", "line", "cure")))
        if large:
            parts.append(table(large, ("covers the image", "line", "mean share")))
        if below:
            parts.append(table(below, ("below its basic level", "line", "merge into")))
        return "\n\n".join([*parts, f"basic level: {result.rule}"])

    def show_suggested(self, result: Suggested) -> str:
        parts = [f"{count_of(len(result.classes), 'class', 'classes')} in the new list"]
        changes = [
            (change.name, change.line, change.becomes or "goes out", change.why)
            for change in result.changes
        ]
        if changes:
            parts.append(table(changes, ("class", "line", "becomes", "why")))
        instead = [
            (replacement.name, candidate.wnid, candidate.name, candidate.uses)
            for replacement in result.replacements
            for candidate in replacement.candidates
        ]
        if instead:
            parts.append(table(instead, ("in place of", "wnid", "name", "uses")))
        return "\n\n".join([*parts, f"basic level: {result.rule}"])


def _rule(wordnet: WordNet, basic: str | None) -> tuple[Basic, str]:
    if basic is None:
        return class_lists.rule_of(wordnet, None)
    if basic == BASIC:
        return class_lists.rule_of(wordnet, _detection_classes(wordnet))
    return class_lists.rule_of(wordnet, class_lists.read(Path(basic), wordnet))


def _detection_classes(wordnet: WordNet) -> Listed:
    """The classes of ILSVRC's detection, from the question graph that is shipped."""
    graph = shipped("ilsvrc")
    wnids = [graph.node(leaf).key for leaf in graph.leaves]
    lines = {wordnet.index(wnid): line for line, wnid in enumerate(wnids, 1)}
    return Listed(Path(BASIC), [*lines], lines)


def _scales(options: Mapping[str, Any]) -> dict[str, float] | None:
    """Class → the share of the image that a thing of it takes; None without boxes."""
    boxes, images, inclusive = (options[key] for key in ("boxes", "images", "inclusive"))
    if boxes is None:
        if images or inclusive:
            raise UsageError("--images and --inclusive tell of --boxes, which is missing")
        return None
    if not (boxes / "release.json").is_file():
        request = explaining.Asked(boxes, Options(images=images, inclusive=inclusive))
        difficulty = explaining.difficulty(request)
    else:
        with tempfile.TemporaryDirectory(prefix="boxes-") as scratch:
            folder = Path(scratch)
            try:
                ground_truth.write(frozen.read(boxes), ground_truth.DETECTION, folder, False)
            except Refusal as refusal:
                raise BadInput(refusal.message.rstrip("."), boxes) from refusal
            read = Options(images=folder / ground_truth.IMAGES)
            difficulty = explaining.difficulty(explaining.Asked(folder / ground_truth.TRUTH, read))
    assert difficulty is not None, "sizes are needed"
    return scales_of(difficulty)
