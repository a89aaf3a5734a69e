"""`manage.py mad`: choose the images of a MAD competition, and rank from people's answers."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from evaluation import devices
from evaluation.engines.tasks import Task
from evaluation.management.computing import (
    CpuOptions,
    EngineOptions,
    Shard,
    TaskWork,
    in_tasks,
    needed,
    on_device,
    shard_of,
)
from evaluation.metrics.mad.ranking import (
    SMOOTHINGS,
    MissingAnswers,
    RankingError,
    Smoothing,
    rank,
)
from evaluation.metrics.mad.results import Ranking
from evaluation.metrics.mad.selection import Levels
from evaluation.metrics.wordnet.distances import DISTANCES, WORDNET_DISTANCES
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import sharded_pools
from evaluation.readers.answers import read_accuracy, read_answers
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.pools import CLASSES, PredictionPool, read_pool, sha256_in_stretches
from evaluation.readers.selections import Meta, read_ranked
from evaluation.selection import pool_tasks, selecting, shards
from evaluation.selection.distance_files import read_distances
from evaluation.selection.selecting import DEFAULTS, SETTINGS
from evaluation.selection.stored_pools import Source, pool_at, source_of
from labeling import processors
from labeling.bounded_numbers import whole
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import argument, option
from labeling.management.printing import show, table
from labeling.plurals import count_of

RESTORE_FILE = "restore that file, or select again"


@dataclass(kw_only=True)
class SelectionResult(Meta):
    """The meta line of the file written to `out`.

    shard: (I, N). held: images of its pairs. just_below: confidences below the threshold by at most
    one step of float16.
    """

    shard: list[int] | None = None
    out: str
    held: int | None = None
    just_below: int | None = None


def _distance(text: str) -> str:
    if text not in DISTANCES and not text.lower().endswith(".csv"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(DISTANCES)} and no .csv file"
        )
    return text


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names) or not all(names) or len(names) < 2:
        raise argparse.ArgumentTypeError(f"{text!r}: give two or more different names, A,B,…")
    return names


def _words(setting: str) -> str:
    return f"{SETTINGS[setting]} ({DEFAULTS[setting]})"


@dataclass(kw_only=True)
class PoolOptions(EngineOptions):
    """The options of select and add.

    A setting that is None takes the value of DEFAULTS (select) or of the selection (add).
    """

    predictions: Path | None = option(
        "classes.txt, images.txt and two arrays for each classifier", metavar="DIR"
    )
    pool: Source | None = option(
        "such folders, as mad pool wrote them; s3://…/pool.jsonl: from a bucket",
        type=source_of,
        metavar="pool.jsonl",
    )
    distance: str | None = option(
        "(weighted); zero-one takes any class names; a file: child,parent rows of a tree, or a "
        "square matrix",
        type=_distance,
        metavar=f"{'|'.join(DISTANCES)}|FILE.csv",
    )

    def settings(self) -> dict[str, object]:
        """Return the settings that options set; those that are None are left out."""
        values = {key: getattr(self, key, None) for key in DEFAULTS}
        return {key: value for key, value in values.items() if value is not None}

    def source(self) -> Source:
        """Return the folder or pool.jsonl. Raises UsageError unless there is exactly one."""
        if (self.predictions is None) == (self.pool is None):
            raise UsageError("give --predictions DIR or --pool pool.jsonl, one of them")
        source = self.pool or self.predictions
        assert source is not None
        return source


@dataclass(kw_only=True)
class SelectOptions(PoolOptions):
    top_k: int | None = option(_words("top_k"))
    min_confidence: float | None = option(_words("min_confidence"))
    max_per_label: int | None = option(_words("max_per_label"))
    reserve: int | None = option(_words("reserve"))
    unique_pairs: bool | None = option(SETTINGS["unique_pairs"], None)
    classifiers: list[str] | None = option(
        "A,B,…; default: all, sorted", type=_names, action="store"
    )
    shard: Shard | None = option(
        "write part I of N (from 1); with --work: make the tasks j with j mod N = I",
        type=shard_of,
        metavar="I/N",
    )
    out: Path | None = option("selection.jsonl; of a part, part.npz")


@dataclass(kw_only=True)
class CutOptions:
    folder: Path = argument("a predictions folder", metavar="DIR")
    shards: int = option("folders; 1: DIR itself", type=whole(1), metavar="N")
    out: Path = option("pool.jsonl; the folders go into pool.shards")


@dataclass(kw_only=True)
class MergePartsOptions(CpuOptions):
    parts: list[Path] = argument("as mad select --shard wrote them", nargs="+", metavar="PART")
    out: Path = option("selection.jsonl")


@dataclass(kw_only=True)
class AddOptions(PoolOptions):
    into: Path = option("the selection it joins")
    classifier: str = option("the one that joins", metavar="NEW")
    out: Path = option("the images of its pairs")


@dataclass(kw_only=True)
class RankOptions(CpuOptions):
    selection: list[Path] = option(
        "as mad select, merge and add wrote them", nargs="+", action="extend"
    )
    answers: Path = option("answers.jsonl of a release")
    smoothing: Smoothing = option(
        "of accuracies: (correct + 1) / (images + 2), or none (laplace)",
        "laplace",
        choices=SMOOTHINGS,
    )
    bootstrap: int = option(
        "for the intervals of ranks (2000); 0: none", 2000, type=whole(), metavar="ROUNDS"
    )
    seed: int = option("of the bootstrap (0)", 0, type=whole())
    accuracy: Path | None = option("a classifier,accuracy file")
    ablation: bool = option("ranks for every k below")


def _show_ranking(result: Ranking) -> str:
    """Return the classifiers by rank, then the other facts."""
    order = result.sure_order()
    rows = [
        (
            f"{result.ranks[i]:g}",
            result.classifiers[i],
            (result.images or [])[i],
            f"{result.scores[i]:.4f}",
            f"{first} – {last}",
            f"{result.hodge.ranks[i]:g}",
        )
        for i, (first, last) in zip(result.by_rank(), order.places, strict=True)
    ]
    places = f"places at {100 * order.level:g} %"
    head = ["rank", "classifier", "images", "score", places, "Hodge rank"]
    facts = {"cyclicity": result.hodge.cyclicity, "cases": result.cases}
    for name in ("smoothing", "spearman", "kendall", "bootstrap", "ablation"):
        facts[name] = getattr(result, name)
    text = [table(rows, head), order.words, *result.counted_images()]
    known = {name: value for name, value in facts.items() if value is not None}
    return "\n\n".join(filter(None, [*text, show(known)]))


class Command(ContractCommand):
    help = "A MAD competition: choose images on which classifiers differ most, then rank."

    @verb("choose images")
    @on_device
    def select(self, options: SelectOptions) -> SelectionResult:
        settings = _settings({**DEFAULTS, **options.settings()})
        shard, out, source = options.shard, options.out, options.source()
        if shard and options.on and not options.work:
            raise UsageError("--shard I/N of tasks needs --work, where the other shares are kept")
        if shard and not options.work and not shard[0]:
            raise UsageError(f"--shard 0/{shard[1]}: parts count from 1 to {shard[1]}")
        if not (shard and options.work):
            needed(out)
        if out is not None:
            refuse_input(out, [source, *Path(source).glob("*")])
        wordnet = _wordnet(settings.distance)
        order = "given" if options.classifiers else "sorted"
        with in_tasks(self, options, shard if options.work else None) as engine:
            if engine is not None:
                tasks = pool_tasks.tasks_of(
                    source,
                    options.pool is not None,
                    options.classifiers,
                    settings,
                    order,
                    device=_sorting_on(options.device),
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
        opened = _Opened(options, options.classifiers, wordnet, shard)
        names = list(opened.first.predictions)
        meta = selecting.meta_of(opened.first, settings, names, order, wordnet)
        pairs = selecting.pairs_of(names)
        if not shard:
            return self._choose(opened, pairs, settings, meta, wordnet, out, options)
        levels = _levels(opened.first, wordnet, settings)
        with self.progress(len(pairs), "pair", "choosing") as bar:
            reduced = selecting.reduce_pairs(
                opened.first,
                pairs,
                levels,
                settings.rule,
                threads=processors.count(),
                device=_sorting_on(options.device),
                progress=bar.update,
            )
            with atomic_write(out, "wb") as file:
                held = shards.write_part(file, opened.first, meta, shard, reduced, levels)
        below = selecting.just_below(opened.first, meta)
        return SelectionResult(
            **vars(meta), shard=list(shard), out=str(out), held=held, just_below=below
        )

    @verb("cut a pool into shards")
    def pool(self, options: CutOptions) -> dict[str, object]:
        """Write pool.jsonl and the folders that its lines name."""
        written = sharded_pools.write_sharded(
            options.folder, options.shards, options.out, processors.count()
        )
        images = sum(shard.images for shard in written)
        return {"out": str(options.out), "shards": len(written), "images": images}

    @verb("join parts")
    @on_device
    def merge(self, options: MergePartsOptions) -> SelectionResult:
        refuse_input(options.out, options.parts)
        return self._join([shards.PoolPart(path) for path in options.parts], options.out)

    @verb("add a classifier")
    @on_device
    def add(self, options: AddOptions) -> SelectionResult:
        source, into, classifier = options.source(), options.into, options.classifier
        refuse_input(options.out, [into])
        before = read_ranked(into)
        if classifier in before.classifiers:
            raise BadInput(
                f"{classifier!r} is in the competition already",
                file=into,
                cure="give a classifier that is not",
            )
        settings = _joining_settings(before.meta, options.settings(), into)
        wordnet = _wordnet(settings.distance)
        order = before.meta.classifier_order or "given"
        names = before.meta.in_order([*before.classifiers, classifier])
        opened = _Opened(options, names, wordnet)
        _refuse_another_pool(before.meta, opened, into)
        with in_tasks(self, options) as engine:
            if engine is not None:
                tasks = pool_tasks.tasks_of(
                    source,
                    options.pool is not None,
                    names,
                    settings,
                    order,
                    classifier,
                    device=_sorting_on(options.device),
                )
                return self._join_tasks(engine, tasks, options.out)
        meta = selecting.meta_of(opened.first, settings, names, order, wordnet)
        meta.added = classifier
        pairs = selecting.pairs_in(meta)
        return self._choose(opened, pairs, settings, meta, wordnet, options.out, options)

    @verb("rank from answers", show=_show_ranking)
    @on_device
    def rank(self, options: RankOptions) -> Ranking:
        chosen = read_ranked(*options.selection)
        questions = read_answers(options.answers)
        path = options.accuracy
        accuracy = read_accuracy(path, chosen.classifiers) if path else None
        try:
            return rank(
                chosen.images,
                questions,
                chosen.classifiers,
                chosen.meta.top_k,
                accuracy=accuracy,
                smoothing=options.smoothing,
                bootstrap=options.bootstrap,
                seed=options.seed,
                ablation=options.ablation,
            )
        except (MissingAnswers, RankingError) as error:
            raise BadInput(str(error), options.answers, None, error.cure) from error

    def _choose(
        self,
        opened: "_Opened",
        pairs: Sequence[selecting.Pair],
        settings: selecting.SelectionSettings,
        meta: Meta,
        wordnet: WordNet | None,
        out: Path,
        options: PoolOptions,
    ) -> SelectionResult:
        """Write the lists of these pairs of a pool."""
        refuse_input(out, [opened.first.folder / file for file in opened.first.sha256])
        levels = _levels(opened.first, wordnet, settings)
        with self.progress(len(pairs), "pair", "choosing") as bar:
            settings_of_run: dict[str, Any] = {
                "threads": processors.count(),
                "device": _sorting_on(options.device),
            }
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
        """Return the result; warn where no image is chosen."""
        result = SelectionResult(**vars(written), out=str(out), just_below=just_below)
        if isinstance(result.counts, dict) and result.counts.get("selected") == 0:
            self.warn(
                "no image is chosen: on none do two classifiers differ with confidences of at"
                f" least {result.min_confidence}; mad select --min-confidence lowers that"
            )
        return result

    def _join_tasks(self, engine: TaskWork, tasks: Sequence[Task], out: Path) -> SelectionResult:
        """Make the parts of a pool as tasks, and join them into the selection."""
        made = engine.results(tasks, "choosing")
        return self._join(
            [shards.PoolPart(Path(each.key), part) for each, part in zip(tasks, made, strict=True)],
            out,
        )

    def _join(self, opened: Sequence[shards.PoolPart], out: Path) -> SelectionResult:
        meta, rule, levels = shards.join_parts(
            opened, _wordnet(opened[0].meta.distance or "weighted")
        )
        with self.progress(len(selecting.pairs_in(meta)), "pair", "joining") as bar:
            lists = shards.merged(opened, meta, rule, levels, bar.update)
            written = selecting.write_selection(out, meta, lists)
        return self._result(written, out, sum(part.just_below() for part in opened))


class _Opened:
    """The images to select from: a folder of predictions or a stretch of it, or shards of a pool.

    first: the folder or stretch, or the first shard. count: number of shards. source: the folder,
    or pool.jsonl. just_below: total over the shards that all() has yielded.
    """

    just_below = 0

    def __init__(
        self,
        options: PoolOptions,
        names: Sequence[str] | None,
        wordnet: WordNet | None,
        shard: Shard | None = None,
    ) -> None:
        predictions, pool, threads = options.predictions, options.pool, processors.count()
        self._rest: Iterator[PredictionPool] = iter(())
        self.count = 1
        if predictions is not None:
            self.source: Source = predictions
            self.first = read_pool(predictions, names, wordnet, shard or (1, 1), threads)
            return
        assert pool is not None
        self.source = pool
        # Keep a reference: files fetched from a bucket are removed with the object.
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

    def all(self, meta: Meta) -> Iterator[PredictionPool]:
        for pool in chain([self.first], self._rest):
            self.just_below += selecting.just_below(pool, meta)
            yield pool


def _levels(
    pool: PredictionPool, wordnet: WordNet | None, settings: selecting.SelectionSettings
) -> Levels:
    return settings.levels(pool.classes, wordnet, pool.path_in_messages(CLASSES))


def _wordnet(distance: str) -> WordNet | None:
    """Return WordNet where the distance needs it."""
    return load_wordnet() if distance in WORDNET_DISTANCES else None


def _settings(values: Mapping[str, Any]) -> selecting.SelectionSettings:
    try:
        return _with_file(selecting.settings_of(values))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _with_file(settings: selecting.SelectionSettings) -> selecting.SelectionSettings:
    """Return the settings with the distances of their file, where the distance names a file."""
    if settings.distance in DISTANCES:
        return settings
    path = Path(settings.distance)
    return replace(settings, distance=path.name, distances=read_distances(path))


def _joining_settings(
    meta: Meta, chosen: dict[str, object], into: Path
) -> selecting.SelectionSettings:
    values = {
        key: value for key, value in vars(meta).items() if key in DEFAULTS and value is not None
    }
    values |= chosen
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
        raise BadInput(str(error), into, 1, "correct it") from error
    if settings.distances and settings.distances.sha256 != meta.distance_sha256:
        raise BadInput(
            f"is not the file that {into} was made with",
            settings.distances.path,
            None,
            RESTORE_FILE,
        )
    return settings


def _refuse_another_pool(meta: Meta, opened: _Opened, into: Path) -> None:
    """Raise BadInput unless the selection was made from this pool.

    Old and new lines together must rank like one run over all classifiers.
    """
    pool = opened.first
    now, ends = pool.sha256, meta.stretches
    # Only a folder can be hashed in stretches; a sharded pool has other files.
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
        raise BadInput(fault, file=file, cure=RESTORE_FILE)


def _is_cut(ends: object, images: int) -> TypeGuard[list[int]]:
    """Return whether these are the ends of stretches of this many images."""
    if not isinstance(ends, list) or not all(isinstance(end, int) for end in ends):
        return False
    return [0, *ends] == sorted([0, *ends]) and ends[-1:] == [images]


def _sorting_on(device: str) -> str | None:
    """Return the torch device to sort on, or None for the compiled table on the CPU."""
    return None if device == devices.CPU else device
