"""`manage.py mad`: choose the images of a MAD competition, and rank from people's answers."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import load
from evaluation.management.numbers import whole
from evaluation.metrics.mad.ranking import (
    SMOOTHINGS,
    MissingAnswers,
    RankingError,
    counted_images,
    rank,
)
from evaluation.metrics.mad.selection import Rule
from evaluation.metrics.wordnet.distances import DISTANCES
from evaluation.readers.answers import read_accuracy, read_answers, read_selection
from evaluation.selection import selecting
from evaluation.selection import shards as parts_of_pools
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, UsageError, table

DEFAULTS = {**vars(Rule()), "distance": "weighted"}


class Command(ContractCommand):
    help = "A MAD competition: choose images on which classifiers differ most, then rank."

    def add_arguments(self, parser: CommandParser) -> None:
        select = self.verb(parser, "select", self.select, show_selection, help="choose images")
        _add_pool(select)
        select.add_argument("--classifiers", type=_names, help="A,B,…; default: all, sorted")
        select.add_argument(
            "--shard", type=_shard, metavar="I/N", help="write part I of N (from 1)"
        )
        select.add_argument(
            "--out", type=Path, required=True, help="selection.jsonl; of a part, part.npz"
        )

        merge = self.verb(parser, "merge", self.merge, show_selection, help="join parts")
        merge.add_argument(
            "parts", nargs="+", type=Path, metavar="PART", help="as mad select --shard wrote them"
        )
        merge.add_argument("--out", type=Path, required=True, help="selection.jsonl")

        add = self.verb(parser, "add", self.add, show_selection, help="add a classifier")
        _add_pool(add)
        add.add_argument("--into", type=Path, required=True, help="the selection it joins")
        add.add_argument("--classifier", required=True, metavar="NEW", help="the one that joins")
        add.add_argument("--out", type=Path, required=True, help="the images of its pairs")

        ranking = self.verb(parser, "rank", self.rank, show_ranking, help="rank from answers")
        ranking.add_argument(
            "--selection",
            type=Path,
            required=True,
            nargs="+",
            action="extend",
            help="as mad select, merge and add wrote them",
        )
        ranking.add_argument(
            "--answers", type=Path, required=True, help="answers.jsonl of a release"
        )
        ranking.add_argument(
            "--smoothing",
            choices=SMOOTHINGS,
            default="laplace",
            help="of accuracies: (correct + 1) / (images + 2), or none (laplace)",
        )
        ranking.add_argument(
            "--bootstrap",
            type=whole(),
            default=2000,
            metavar="ROUNDS",
            help="for the intervals of ranks (2000); 0: none",
        )
        ranking.add_argument("--seed", type=whole(), default=0, help="of the bootstrap (0)")
        ranking.add_argument("--accuracy", type=Path, help="a classifier,accuracy file")
        ranking.add_argument("--ablation", action="store_true", help="ranks for every k below")

    def select(
        self,
        predictions: Path,
        classifiers: list[str] | None,
        shard: tuple[int, int] | None,
        out: Path,
        threads: int,
        device: str | None,
        **given: Any,
    ) -> Result:
        settings = _settings({**DEFAULTS, **_given(given)})
        wordnet = load()
        pool = selecting.open_pool(predictions, classifiers, wordnet, shard or (1, 1), threads)
        classes = predictions / "classes.txt"
        levels = selecting.levels_of(pool.classes, wordnet, settings.distance, classes)
        names = list(pool.predictions)
        meta = selecting.meta_of(
            pool, settings, names, "given" if classifiers else "sorted", wordnet
        )
        pairs = selecting.pairs_of(names)
        with self.progress(len(pairs), "pair", "choosing") as bar:
            if shard:
                stretch = selecting.part_of(len(pool.images), *shard)
                meta["shard"] = list(shard)
                reduced = selecting.reduce_pairs(
                    pool,
                    pairs,
                    levels,
                    settings.rule,
                    part=stretch,
                    prune=False,
                    threads=threads,
                    device=_device(device),
                )
                held = parts_of_pools.write_part(out, pool, meta, stretch, reduced, bar.update)
                return {**meta, "out": str(out), "held": held}
            lists = selecting.select(
                pool,
                pairs,
                levels,
                settings.rule,
                threads=threads,
                device=_device(device),
                progress=bar.update,
            )
            return {**selecting.write_selection(out, meta, lists), "out": str(out)}

    def merge(self, parts: list[Path], out: Path, **options: Any) -> Result:
        opened = [parts_of_pools.Part(path) for path in parts]
        meta, rule, levels = parts_of_pools.join_parts(opened, load())
        with self.progress(len(selecting.pairs_of(meta["classifiers"])), "pair", "joining") as bar:
            lists = parts_of_pools.merged(opened, meta, rule, levels, bar.update)
            clean = {key: value for key, value in meta.items() if key != "all_classes"}
            clean["parts"] = len(parts)
            return {**selecting.write_selection(out, clean, lists), "out": str(out)}

    def add(
        self,
        predictions: Path,
        into: Path,
        classifier: str,
        out: Path,
        threads: int,
        device: str | None,
        **given: Any,
    ) -> Result:
        before = read_selection(into)
        if classifier in before.classifiers:
            raise BadInput(
                f"{classifier!r} is in the competition already",
                file=into,
                cure="give a classifier that is not",
            )
        settings = _joining_settings(before.meta, _given(given), into)
        wordnet = load()
        names = [*before.classifiers, classifier]
        order = before.meta.get("classifier_order", "given")
        if order == "sorted":
            names.sort()
        pool = selecting.open_pool(predictions, names, wordnet, threads=threads)
        _refuse_another_pool(before.meta, pool.sha256, predictions, into)
        classes = predictions / "classes.txt"
        levels = selecting.levels_of(pool.classes, wordnet, settings.distance, classes)
        pairs = [pair for pair in selecting.pairs_of(names) if classifier in pair]
        meta = selecting.meta_of(pool, settings, names, order, wordnet)
        meta["added"] = classifier
        with self.progress(len(pairs), "pair", "choosing") as bar:
            lists = selecting.select(
                pool,
                pairs,
                levels,
                settings.rule,
                threads=threads,
                device=_device(device),
                progress=bar.update,
            )
            return {**selecting.write_selection(out, meta, lists), "out": str(out)}

    def rank(
        self,
        selection: list[Path],
        answers: Path,
        accuracy: Path | None,
        **options: Any,
    ) -> Result:
        chosen = read_selection(*selection)
        given = read_answers(answers)
        accuracies = read_accuracy(accuracy, chosen.classifiers) if accuracy else None
        try:
            return rank(
                chosen.images,
                given,
                chosen.classifiers,
                chosen.top_k,
                accuracy=accuracies,
                **{key: options[key] for key in ("smoothing", "bootstrap", "seed", "ablation")},
            )
        except MissingAnswers as error:
            raise BadInput(
                str(error), file=answers, cure="add a line for each, null where it was dropped"
            ) from error
        except RankingError as error:
            raise BadInput(str(error), file=answers, cure=error.cure) from error


def _add_pool(parser: CommandParser) -> None:
    parser.add_argument(
        "--predictions",
        type=Path,
        required=True,
        metavar="DIR",
        help="classes.txt, images.txt and two arrays for each classifier",
    )
    # No defaults here: `add` takes what is not given from the selection it joins.
    parser.add_argument("--top-k", type=int, help=f"images a pair ({DEFAULTS['top_k']})")
    parser.add_argument("--min-confidence", type=float, help="of both classifiers (0.8)")
    parser.add_argument("--max-per-label", type=int, help="images with one label (3)")
    parser.add_argument("--distance", choices=DISTANCES, help="(weighted)")
    parser.add_argument("--reserve", type=int, help="further images a pair (30)")
    parser.add_argument(
        "--unique-pairs",
        action="store_true",
        default=None,
        help="no two images of a pair with the same two labels",
    )
    parser.add_argument(
        "--threads",
        type=whole(),
        default=selecting.threads_here(),
        help="by default as many as processors",
    )
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1, … (auto: a GPU if there is one)")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in DEFAULTS if options.get(key) is not None}


def _settings(values: dict[str, Any]) -> selecting.Settings:
    try:
        return selecting.settings_of(values)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _joining_settings(
    meta: dict[str, Any], given: dict[str, Any], into: Path
) -> selecting.Settings:
    values = {**{key: meta[key] for key in DEFAULTS if key in meta}, **given}
    missing = [f"--{key.replace('_', '-')}" for key in DEFAULTS if key not in values]
    if missing:
        raise BadInput(
            f"the meta line lacks settings of the selection ({', '.join(missing)})",
            file=into,
            line=1,
            cure="give them as options",
        )
    if values["top_k"] != meta["top_k"]:
        raise UsageError(f"--top-k is {values['top_k']}, but {into} has {meta['top_k']}")
    if values["distance"] not in DISTANCES:
        raise BadInput(f"the distance is {values['distance']!r}", file=into, line=1)
    try:
        return selecting.settings_of(values)
    except (TypeError, ValueError) as error:
        raise BadInput(
            str(error), file=into, line=1, cure="mend it or give it as an option"
        ) from error


def _refuse_another_pool(
    meta: dict[str, Any], now: dict[str, str], predictions: Path, into: Path
) -> None:
    """The union ranks as a full run would only if the pool and the predictions are the same."""
    before = meta.get("inputs")
    for name, digest in before.items() if isinstance(before, dict) else ():
        if now.get(name) != digest:
            raise BadInput(
                f"is not the file that {into} was made from",
                file=predictions / name,
                cure="bring it back, or select anew",
            )


def _device(name: str | None) -> str | None:
    """A torch device to sort on, or None for the compiled table on the CPU."""
    if name == "cpu" or (name in (None, "auto") and not _has_accelerator()):
        return None
    import torch

    if name in (None, "auto"):
        return "cuda" if torch.cuda.is_available() else None
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"--device {name} is not usable: {str(error).splitlines()[0]}") from error
    return name


def _has_accelerator() -> bool:
    # Importing torch takes seconds; a look at the driver's files first takes none.
    return any(Path(file).exists() for file in ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names) or not all(names) or len(names) < 2:
        raise argparse.ArgumentTypeError(f"{text!r}: give two or more different names, A,B,…")
    return names


def _shard(text: str) -> tuple[int, int]:
    try:
        index, parts = (int(number) for number in text.split("/"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give I/N, such as 1/4") from None
    if not 1 <= index <= parts:
        raise argparse.ArgumentTypeError(f"{text!r}: parts count from 1 to {parts}")
    return index, parts


def show_selection(result: Result) -> str:
    counts = result["counts"]
    rows: list[tuple[str, Any]] = [("written", result["out"]), *counts.items()]
    if "held" in result:
        rows.append(("images held for merge", result["held"]))
    return table(rows)


def show_ranking(result: Result) -> str:
    level = f"{100 * result['sure']['level']:g} %"
    head = ["rank", "classifier", "images", "score", f"places at {level}", "Hodge rank"]
    order = sorted(range(len(result["classifiers"])), key=lambda i: result["ranks"][i])
    rows = [
        (
            f"{result['ranks'][i]:g}",
            result["classifiers"][i],
            result["images"][i],
            f"{result['scores'][i]:.4f}",
            "{} – {}".format(*result["sure"]["places"][i]),
            f"{result['hodge']['ranks'][i]:g}",
        )
        for i in order
    ]
    lines = [table(rows, head), ""]
    if result["sure"]["words"]:
        lines += [result["sure"]["words"], ""]
    lines.append("images: " + ", ".join(f"case {k} {n}" for k, n in result["cases"].items()))
    lines += counted_images(result)
    if result["bootstrap"]["left_out"]:
        drawn = result["bootstrap"]
        lines.append(f"{drawn['left_out']} of {drawn['rounds']} rounds had no ranking: left out")
    lines.append(f"smoothing: {result['smoothing']}; cyclicity {result['hodge']['cyclicity']:.4f}")
    if "spearman" in result:
        lines.append(f"against accuracy: Spearman {result['spearman']:.4f}, Kendall ")
        lines[-1] += f"{result['kendall']:.4f}"
    if "ablation" in result:
        rows_k = [(row["k"], row["spearman"]) for row in result["ablation"]]
        lines += ["", table(rows_k, ("k", "Spearman"))]
    return "\n".join(lines)
