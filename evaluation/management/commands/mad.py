"""`manage.py mad`: choose the images of a MAD competition, and rank from people's answers."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.engines.running import Engine
from evaluation.engines.tasks import Task
from evaluation.management.commands.wordnet import load
from evaluation.management.device_options import add_device, on_device
from evaluation.management.engine_options import Work, add_engine, in_tasks, needed, shard_of
from evaluation.management.mad_printing import show_ranking
from evaluation.metrics.mad.ranking import (
    SMOOTHINGS,
    MissingAnswers,
    RankingError,
    rank,
)
from evaluation.metrics.mad.results import Ranking
from evaluation.metrics.mad.selection import Levels, Rule
from evaluation.metrics.wordnet.distances import DISTANCES, OF_WORDNET
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import sharded_pools
from evaluation.readers.answers import read_accuracy, read_answers
from evaluation.readers.pools import CLASSES, Pool, read_pool, sha256_in_stretches
from evaluation.readers.selections import Meta, read_ranked
from evaluation.selection import pool_tasks, selecting, shards
from evaluation.selection.distance_files import read_distances
from evaluation.selection.stored_pools import Source, pool_at, source_of
from labeling import processors
from labeling.bounded_numbers import whole
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.plurals import count_of

BRING_BACK = "bring it back, or select again"
THREADS = "by default as many as processors"
DEFAULTS = {**vars(Rule()), "distance": "weighted"}


@dataclass(kw_only=True)
class SelectionResult(Meta):
    """The meta line of what was written to `out`. shard: (I, N); held: images of its pairs.

    just_below: confidences below the threshold by at most one step of float16.
    """

    shard: list[int] | None = None
    out: str
    held: int | None = None
    just_below: int | None = None


class Command(ContractCommand):
    help = "A MAD competition: choose images on which classifiers differ most, then rank."

    def add_arguments(self, parser: CommandParser) -> None:
        select = self.verb(
            parser, "select", on_device(self.select), show_selection, help="choose images"
        )
        _add_pool(select)
        _add_rule(select)
        select.add_argument("--classifiers", type=_names, help="A,B,…; default: all, sorted")
        select.add_argument(
            "--shard",
            type=shard_of,
            metavar="I/N",
            help="write part I of N (from 1); with --work: make the tasks j with j mod N = I",
        )
        select.add_argument("--out", type=Path, help="selection.jsonl; of a part, part.npz")
        add_engine(select, shard=False)

        pool = self.verb(parser, "pool", self.pool, help="cut a pool into shards")
        pool.add_argument("folder", type=Path, metavar="DIR", help="a predictions folder")
        pool.add_argument(
            "--shards", type=whole(1), required=True, metavar="N", help="folders; 1: DIR itself"
        )
        pool.add_argument(
            "--out", type=Path, required=True, help="pool.jsonl; the folders go into pool.shards"
        )
        pool.add_argument("--threads", type=whole(1), default=processors.count(), help=THREADS)

        merged = on_device(self.merge, on_gpu=False)
        merge = self.verb(parser, "merge", merged, show_selection, help="join parts")
        add_device(merge, on_gpu=False)
        merge.add_argument(
            "parts", nargs="+", type=Path, metavar="PART", help="as mad select --shard wrote them"
        )
        merge.add_argument("--out", type=Path, required=True, help="selection.jsonl")

        add = self.verb(parser, "add", on_device(self.add), show_selection, help="add a classifier")
        _add_pool(add)
        add.add_argument("--into", type=Path, required=True, help="the selection it joins")
        add.add_argument("--classifier", required=True, metavar="NEW", help="the one that joins")
        add.add_argument("--out", type=Path, required=True, help="the images of its pairs")
        add_engine(add, shard=False)

        ranked = on_device(self.rank, on_gpu=False)
        ranking = self.verb(parser, "rank", ranked, show_ranking, help="rank from answers")
        add_device(ranking, on_gpu=False)
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

    def pool(
        self, folder: Path, shards: int, out: Path, threads: int, **options: Any
    ) -> dict[str, object]:
        """pool.jsonl, and the folders that its lines name."""
        written = sharded_pools.write_sharded(folder, shards, out, threads)
        images = sum(shard.images for shard in written)
        return {"out": str(out), "shards": len(written), "images": images}

    def select(
        self,
        predictions: Path | None,
        pool: Source | None,
        classifiers: list[str] | None,
        shard: tuple[int, int] | None,
        threads: int,
        on: Engine | None,
        work: str | None,
        out: Path | None,
        **options: Any,
    ) -> SelectionResult:
        settings = _settings({**DEFAULTS, **_given(options)})
        if shard and on and not work:
            raise UsageError("--shard I/N of tasks needs --work, where the other shares are kept")
        if shard and not work and not shard[0]:
            raise UsageError(f"--shard 0/{shard[1]}: parts count from 1 to {shard[1]}")
        if not (shard and work):
            needed(out)
        source = pool or predictions
        assert source is not None
        if out is not None:
            refuse_input(out, [source, *Path(source).glob("*")])
        wordnet, order = _wordnet(settings.distance), "given" if classifiers else "sorted"
        with in_tasks(self, on, work, shard if work else None) as engine:
            if engine is not None:
                device = _sorting_on(options["device"])
                tasks = pool_tasks.tasks_of(
                    source, pool is not None, classifiers, settings, order, device=device
                )
                if out is not None and shard is None:
                    return self._join_tasks(engine, tasks, out)
                engine.make(engine.mine(tasks), "choosing")
                return SelectionResult(
                    classifiers=tasks[0].arguments["names"],
                    top_k=settings.rule.top_k,
                    shard=list(shard or (1, 1)),
                    out=engine.store.address,
                )
        assert out is not None
        opened = _Opened(predictions, pool, classifiers, wordnet, threads, shard)
        names = list(opened.first.predictions)
        meta = selecting.meta_of(opened.first, settings, names, order, wordnet)
        pairs = selecting.pairs_of(names)
        if not shard:
            return self._choose(opened, pairs, settings, meta, wordnet, threads, out=out, **options)
        levels = _levels(opened.first, wordnet, settings)
        with self.progress(len(pairs), "pair", "choosing") as bar:
            reduced = selecting.reduce_pairs(
                opened.first,
                pairs,
                levels,
                settings.rule,
                threads=threads,
                device=_sorting_on(options["device"]),
                progress=bar.update,
            )
            with atomic_write(out, "wb") as file:
                held = shards.write_part(file, opened.first, meta, shard, reduced, levels)
        below = selecting.just_below(opened.first, meta)
        return SelectionResult(
            **vars(meta), shard=list(shard), out=str(out), held=held, just_below=below
        )

    def _choose(
        self,
        opened: "_Opened",
        pairs: Sequence[selecting.Pair],
        settings: selecting.Settings,
        meta: Meta,
        wordnet: WordNet | None,
        threads: int,
        *,
        out: Path,
        device: str,
        **_: Any,
    ) -> SelectionResult:
        """Writes the lists of these pairs of a pool."""
        refuse_input(out, [opened.first.folder / file for file in opened.first.sha256])
        levels = _levels(opened.first, wordnet, settings)
        with self.progress(len(pairs), "pair", "choosing") as bar:
            settings_of_run: dict[str, Any] = {"threads": threads, "device": _sorting_on(device)}
            if opened.count == 1:
                settings_of_run["progress"] = bar.update
                lists = selecting.select(
                    opened.first, pairs, levels, settings.rule, **settings_of_run
                )
            else:
                settings_of_run["progress"] = lambda done: bar.update(done / opened.count)
                lists = shards.select(
                    opened.all(meta), pairs, levels, settings.rule, **settings_of_run
                )
            written = selecting.write_selection(out, meta, lists)
        if opened.count == 1:
            opened.just_below = selecting.just_below(opened.first, meta)
        return self._result(written, out, opened.just_below)

    def _result(self, written: Meta, out: Path, just_below: int) -> SelectionResult:
        """What was written; warns where it has no image to ask about."""
        result = SelectionResult(**vars(written), out=str(out), just_below=just_below)
        if isinstance(result.counts, dict) and result.counts.get("selected") == 0:
            self.warn(
                "no image is chosen: on none do two classifiers differ with confidences of at"
                f" least {result.min_confidence}; mad select --min-confidence lowers that"
            )
        return result

    def merge(self, parts: list[Path], out: Path, **options: Any) -> SelectionResult:
        refuse_input(out, parts)
        return self._join([shards.Part(path) for path in parts], out)

    def _join_tasks(self, engine: Work, tasks: Sequence[Task], out: Path) -> SelectionResult:
        """Makes the parts of a pool as tasks, and of them the selection."""
        made = engine.results(tasks, "choosing")
        return self._join(
            [shards.Part(Path(each.key), part) for each, part in zip(tasks, made, strict=True)], out
        )

    def _join(self, opened: Sequence[shards.Part], out: Path) -> SelectionResult:
        meta, rule, levels = shards.join_parts(
            opened, _wordnet(opened[0].meta.distance or "weighted")
        )
        with self.progress(len(selecting.pairs_in(meta)), "pair", "joining") as bar:
            lists = shards.merged(opened, meta, rule, levels, bar.update)
            written = selecting.write_selection(out, meta, lists)
        return self._result(written, out, sum(part.just_below() for part in opened))

    def add(
        self,
        predictions: Path | None,
        pool: Source | None,
        into: Path,
        classifier: str,
        threads: int,
        on: Engine | None,
        work: str | None,
        **options: Any,
    ) -> SelectionResult:
        refuse_input(options["out"], [into])
        before = read_ranked(into)
        if classifier in before.classifiers:
            raise BadInput(
                f"{classifier!r} is in the competition already",
                file=into,
                cure="give a classifier that is not",
            )
        settings = _joining_settings(before.meta, _given(options), into)
        wordnet = _wordnet(settings.distance)
        order = before.meta.classifier_order or "given"
        names = before.meta.in_order([*before.classifiers, classifier])
        opened = _Opened(predictions, pool, names, wordnet, threads)
        _refuse_another_pool(before.meta, opened, into)
        with in_tasks(self, on, work) as engine:
            if engine is not None:
                device = _sorting_on(options["device"])
                tasks = pool_tasks.tasks_of(
                    *(opened.source, pool is not None, names, settings, order, classifier),
                    device=device,
                )
                return self._join_tasks(engine, tasks, options["out"])
        meta = selecting.meta_of(opened.first, settings, names, order, wordnet)
        meta.added = classifier
        pairs = selecting.pairs_in(meta)
        return self._choose(opened, pairs, settings, meta, wordnet, threads, **options)

    def rank(
        self,
        selection: list[Path],
        answers: Path,
        accuracy: Path | None,
        **options: Any,
    ) -> Ranking:
        chosen = read_ranked(*selection)
        questions = read_answers(answers)
        accuracies = read_accuracy(accuracy, chosen.classifiers) if accuracy else None
        try:
            return rank(
                chosen.images,
                questions,
                chosen.classifiers,
                chosen.meta.top_k,
                accuracy=accuracies,
                **{key: options[key] for key in ("smoothing", "bootstrap", "seed", "ablation")},
            )
        except (MissingAnswers, RankingError) as error:
            raise BadInput(str(error), answers, None, error.cure) from error


class _Opened:
    """A predictions folder or a stretch of it, or the shards of a pool.jsonl or one of them.

    first: that folder, stretch or shard, or the first of the shards. count: how many there are.
    source: the folder, or pool.jsonl. just_below: of the shards that all() gave so far.
    """

    just_below = 0

    def __init__(
        self,
        predictions: Path | None,
        pool: Source | None,
        names: Sequence[str] | None,
        wordnet: WordNet | None,
        threads: int,
        shard: tuple[int, int] | None = None,
    ) -> None:
        self._rest: Iterator[Pool] = iter(())
        self.count = 1
        if predictions is not None:
            self.source: Source = predictions
            self.first = read_pool(predictions, names, wordnet, shard or (1, 1), threads)
            return
        assert pool is not None
        self.source = pool
        # Held: what it fetched from a bucket goes with it.
        self._sharded = sharded = pool_at(pool)
        number = len(sharded.shards)
        if shard and shard[1] != number:
            raise UsageError(f"{pool} has {count_of(number, 'shard')}: give --shard I/{number}")
        if shard:
            self.first = sharded.open(shard[0], names, wordnet, threads)
            return
        self.count = number
        self._rest = sharded.open_all(names, wordnet, threads)
        self.first = next(self._rest)

    def all(self, meta: Meta) -> Iterator[Pool]:
        for pool in chain([self.first], self._rest):
            self.just_below += selecting.just_below(pool, meta)
            yield pool


def _add_pool(parser: CommandParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--predictions",
        type=Path,
        metavar="DIR",
        help="classes.txt, images.txt and two arrays for each classifier",
    )
    source.add_argument(
        "--pool",
        type=source_of,
        metavar="pool.jsonl",
        help="such folders, as mad pool wrote them; s3://…/pool.jsonl: from a bucket",
    )
    parser.add_argument(
        "--distance",
        type=_distance,
        metavar=f"{'|'.join(DISTANCES)}|FILE.csv",
        help="(weighted); zero-one takes any class names; a file: child,parent rows of a tree, or "
        "a square matrix",
    )
    parser.add_argument(
        "--threads",
        type=whole(1),
        default=processors.count(),
        help=f"{THREADS}; a task of --on takes one",
    )
    add_device(parser)


def _add_rule(parser: CommandParser) -> None:
    """The rule of a selection; what `add` joins has it in its meta line."""
    parser.add_argument("--top-k", type=int, help=f"images a pair ({DEFAULTS['top_k']})")
    parser.add_argument("--min-confidence", type=float, help="of both classifiers (0.8)")
    parser.add_argument("--max-per-label", type=int, help="images with one label (3)")
    parser.add_argument("--reserve", type=int, help="further images a pair (30)")
    parser.add_argument(
        "--unique-pairs",
        action="store_true",
        default=None,
        help="no two images of a pair with the same two labels",
    )


def _levels(pool: Pool, wordnet: WordNet | None, settings: selecting.Settings) -> Levels:
    return settings.levels(pool.classes, wordnet, pool.path_in_messages(CLASSES))


def _wordnet(distance: str) -> WordNet | None:
    """WordNet, where the distance is one of its own."""
    return load() if distance in OF_WORDNET else None


def _distance(text: str) -> str:
    if text not in DISTANCES and not text.lower().endswith(".csv"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(DISTANCES)} and no .csv file"
        )
    return text


def _given(options: Mapping[str, Any]) -> dict[str, object]:
    return {key: options[key] for key in DEFAULTS if options.get(key) is not None}


def _settings(values: Mapping[str, Any]) -> selecting.Settings:
    try:
        return _with_file(selecting.settings_of(values))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _with_file(settings: selecting.Settings) -> selecting.Settings:
    """The settings with the file that their distance names, where it is a file."""
    if settings.distance in DISTANCES:
        return settings
    path = Path(settings.distance)
    return replace(settings, distance=path.name, distances=read_distances(path))


def _joining_settings(meta: Meta, chosen: dict[str, object], into: Path) -> selecting.Settings:
    values = _given(vars(meta)) | chosen
    if missing := [key for key in DEFAULTS if key not in values]:
        raise BadInput(
            f"the meta line lacks settings of the selection ({', '.join(missing)})",
            file=into,
            line=1,
            cure="write them there, or select again",
        )
    if values["distance"] not in DISTANCES and "distance" not in chosen:
        raise BadInput(
            f"the distance is {values['distance']!r}", into, 1, "give that file by --distance"
        )
    try:
        settings = _with_file(selecting.settings_of(values))
    except (TypeError, ValueError) as error:
        raise BadInput(str(error), into, 1, "mend it") from error
    if settings.distances and settings.distances.sha256 != meta.distance_sha256:
        raise BadInput(
            f"is not the file that {into} was made with", settings.distances.path, None, BRING_BACK
        )
    return settings


def _refuse_another_pool(meta: Meta, opened: _Opened, into: Path) -> None:
    """The union ranks as a full run would only if the pool and the predictions are the same."""
    pool = opened.first
    now, ends = pool.sha256, meta.stretches
    # The files of a pool in shards are others than those of one folder, however that is cut.
    if ends is not None and pool.sizes:
        if not _is_cut(ends, pool.total):
            raise BadInput(
                f"the meta line's stretches do not end with the {pool.total} images of the pool",
                file=into,
                line=1,
                cure="bring the pool back, or select again",
            )
        now = sha256_in_stretches(pool, ends)
    for name, digest in meta.inputs.items() if isinstance(meta.inputs, dict) else ():
        if now.get(name) == digest:
            continue
        if pool.sizes:
            file, fault = pool.folder / name, f"is not the file that {into} was made from"
        else:
            file, fault = (
                opened.source,
                f"has another {name} in its shards than {into} was made from",
            )
        raise BadInput(fault, file=file, cure=BRING_BACK)


def _is_cut(ends: object, images: int) -> TypeGuard[list[int]]:
    """Whether these are the ends of stretches of so many images."""
    if not isinstance(ends, list) or not all(isinstance(end, int) for end in ends):
        return False
    return [0, *ends] == sorted([0, *ends]) and ends[-1:] == [images]


def _sorting_on(device: str) -> str | None:
    """A torch device to sort on, or None for the compiled table on the CPU."""
    return None if device == devices.CPU else device


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names) or not all(names) or len(names) < 2:
        raise argparse.ArgumentTypeError(f"{text!r}: give two or more different names, A,B,…")
    return names


def show_selection(result: SelectionResult) -> str:
    counts = result.counts if isinstance(result.counts, dict) else {}
    rows: list[tuple[str, object]] = [("written", result.out), *counts.items()]
    if result.just_below:
        step = f"confidences one float16 step or less below {result.min_confidence}"
        rows.append((step, result.just_below))
    if result.held is not None:
        rows.append(("images held for merge", result.held))
    return table(rows)
