"""`manage.py classify`: classify every frame of part sequences."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation import devices
from evaluation.classifiers import classifying, frame_tasks, opening, preparing
from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.task_networks import Networks
from evaluation.engines.tasks import Task, split
from evaluation.management import part_frames
from evaluation.management.commands.sequences import frame_path
from evaluation.management.computing import TaskShare, TaskWork, in_tasks, needed
from evaluation.management.networks import MODEL, NetworkOptions
from evaluation.management.part_frames import FrameOptions
from evaluation.readers.sequences import SequenceLine, object_of, plain_id, read_sequences
from evaluation.sequences import release_tasks
from labeling.bounded_numbers import whole
from labeling.files import BadInput, file_sha256
from labeling.json_text import canonical_sha256
from labeling.management.contract import ContractCommand, UsageError, refusals
from labeling.management.options import argument, option
from labeling.management.release_options import RELEASE_HELP

Frames = Generator[tuple[str, Any]]
# Options that choose the frames of a release; they do not apply to frames in a folder.
RELEASE_OPTIONS = (
    "number",
    "images",
    "part_schemes",
    "content_schemes",
    "orders",
    "seed",
    "include_empty",
    "sequences",
)


@dataclass(kw_only=True)
class ClassifyOptions(FrameOptions, NetworkOptions):
    release: str | None = argument(  # type: ignore[assignment]
        RELEASE_HELP, None, metavar="CAMPAIGN|RELEASE"
    )
    sequences: Path | None = option(
        "of a benchmark, on a release that has these frames; else all frames", metavar="FILE"
    )
    frames: Path | None = option("that sequences wrote, for a release", metavar="DIR")
    model: list[str] | None = option(f"may be given several times: {MODEL}", metavar="[NAME=]SPEC")
    name: str = option("of the one classifier in the predictions", "")
    out: Path | None = option("what it says of each frame", metavar="predictions.csv")
    batch: int = option(f"frames at once ({classifying.BATCH})", classifying.BATCH, type=whole(1))
    restart: bool = option("forget what a stopped run has done")
    fit: str | None = option(
        "squash: the whole frame, stretched (default); pad: the whole frame, its proportions kept; "
        "crop: the middle",
        choices=preparing.FITS,
    )


class Command(ContractCommand):
    help = "A classifier's names for the frames of part sequences; goes on where it was stopped."

    def action(self, options: ClassifyOptions) -> dict[str, object] | TaskShare:
        models = options.listed_models(options.model)
        if options.name and len(models) > 1:
            raise UsageError("--name goes with one --model; give the others as NAME=SPEC")
        with in_tasks(self, options, options.shard) as engine:
            if engine is None or not engine.shard:
                return self._made(needed(options.out), models, engine, options)
            source, classifiers = _source(options), _load(models, options)
            tasks = [
                task
                for model, classifier in zip(models, classifiers, strict=True)
                for task in source.tasks(
                    engine, options.networks([model], [classifier]), options.batch
                )
            ]
            return engine.share(tasks, "classify")

    def _made(
        self,
        out: Path,
        models: list[ListedModel],
        engine: TaskWork | None,
        options: ClassifyOptions,
    ) -> dict[str, object]:
        source, classifiers = _source(options), _load(models, options)
        alone = [
            {
                "model": dict(classifier.source),
                "name": classifier.name,
                "classes": canonical_sha256(classifier.classes),
                "preparation": classifier.preparation.as_dict(),
            }
            for classifier in classifiers
        ]
        # Keep the settings format of one model from before several were possible.
        of_models = alone[0] if len(alone) == 1 else {"models": alone}
        results: dict[str, dict[str, object]] = {}
        with classifying.opened(out, source.settings | of_models, options.restart) as work:
            for model, network in zip(models, classifiers, strict=True):
                resumed = len(work.done_by.get(network.name, ()))
                if engine is None:
                    classified = self._classify(source, network, work, options.batch)
                else:
                    classified = _by_tasks(source, model, network, work, engine, options)
                results[network.name] = {
                    "classified": classified,
                    "resumed": resumed,
                    "classes": len(network.classes),
                    "model": dict(network.source),
                    "preparation": network.preparation.as_dict(),
                    "device": network.device,
                }
            total = work.finish(max(len(classifier.classes) for classifier in classifiers))
        frames, goal = {"frames": total // len(classifiers)}, {"out": os.fspath(out)}
        if len(results) == 1:
            [(name, single)] = results.items()
            return devices.with_device({"classifier": name} | frames | single | goal)
        device = classifiers[0].device
        return devices.with_device({**frames, "classifiers": results, "device": device, **goal})

    def _classify(
        self,
        source: "FrameSource",
        classifier: opening.Classifier,
        work: classifying.PredictionsWork,
        batch: int,
    ) -> int:
        """Classify the missing frames; return how many."""
        done = work.done_by.get(classifier.name, set())
        count = sum(len(set(line.frames)) for line in source.lines())
        frames = source.frames(lambda name: name not in done, classifier.device)
        with (
            refusals(),
            closing(frames),
            self.progress(count, "frame", classifier.name) as bar,
        ):
            bar.update(len(done))
            return classifying.classify(frames, classifier, work, batch, bar.update)


@dataclass(frozen=True)
class FrameSource:
    """Where frames come from. settings: identify them, so that a stopped run can be recognized.

    frames: yields the wanted frames on a device. tasks: this process's tasks, by batch size.
    """

    settings: dict[str, object]
    lines: Callable[[], Iterable[SequenceLine]]
    frames: Callable[[Callable[[str], bool], str], Frames]
    tasks: Callable[[TaskWork, Networks, int], list[Task]]


def _source(options: ClassifyOptions) -> FrameSource:
    folder = options.frames
    return _of_folder(folder, options) if folder else _of_release(options)


def _load(models: list[ListedModel], options: ClassifyOptions) -> list[opening.Classifier]:
    classifiers = [
        options.opened(model, options.classes_of(model), options.name) for model in models
    ]
    names = [classifier.name for classifier in classifiers]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"two classifiers are called {twice[0]!r}", cure="give one as NAME=SPEC")
    return classifiers


def _by_tasks(
    source: FrameSource,
    model: ListedModel,
    classifier: opening.Classifier,
    work: classifying.PredictionsWork,
    engine: TaskWork,
    options: ClassifyOptions,
) -> int:
    """Classify the missing frames; return how many."""
    networks = options.networks([model], [classifier])
    done, before = work.done_by.get(classifier.name, set()), work.added
    tasks = source.tasks(engine, networks, options.batch)
    for content in engine.results(tasks, classifier.name):
        for rows in frame_tasks.rows_in(content):
            if lacking := [row for row in rows if row[0] not in done]:
                work.add(lacking)
    return work.added - before


def _of_release(options: ClassifyOptions) -> FrameSource:
    if options.release is None:
        raise UsageError("give a campaign or a release, or --frames DIR")
    revealed = part_frames.revealed_by(options)
    revealed.photographs()
    settings = {
        "release": revealed.frozen.meta["sha256"],
        "part orders": canonical_sha256(revealed.orders),
        "content schemes": list(revealed.content_schemes),
        "include empty": revealed.include_empty,
    }

    def tasks(engine: TaskWork, networks: Networks, batch: int) -> list[Task]:
        photographs = part_frames.folder_of_photographs(options)
        revealing = revealed.revealing()
        stretches = release_tasks.by_frames(revealing.scenes(), frame_tasks.frames_in(batch))
        return frame_tasks.of_release(
            engine.mine(stretches), revealing, revealed.photographs(), photographs, networks, batch
        )

    if options.sequences:
        return _of_sequences(options.sequences, revealed, settings)
    return FrameSource(
        settings,
        revealed.lines,
        lambda is_missing, device: revealed.frames(is_missing, device=device),
        tasks,
    )


def _of_sequences(
    path: Path, revealed: part_frames.ShownFrames, settings: dict[str, object]
) -> FrameSource:
    """Return the frames of these sequences that the release has, by the ids in the file."""
    lines = read_sequences(path)
    objects = {object_of(line) for line in lines}
    ids = {plain_id(frame): frame for line in lines for frame in line.frames}

    def frames(is_missing: Callable[[str], bool], device: str) -> Frames:
        made = revealed.frames(
            lambda name: name in ids and is_missing(ids[name]), objects=objects, device=device
        )
        for name, frame in made:
            yield ids[name], frame

    def tasks(_engine: TaskWork, _networks: Networks, _batch: int) -> list[Task]:
        raise UsageError("--sequences does not go with --on, --work or --shard")

    source = settings | {"sequences": file_sha256(path)}
    return FrameSource(source, lambda: lines, frames, tasks)


def _of_folder(folder: Path, options: ClassifyOptions) -> FrameSource:
    excess = [name for name in ("release", *RELEASE_OPTIONS) if getattr(options, name)]
    if excess:
        flag = f"--{excess[0].replace('_', '-').replace('schemes', 'scheme')}"
        source = "a release" if excess[0] == "release" else flag
        raise UsageError(f"{source} does not go with --frames, which states what is shown")
    path = folder / "sequences.jsonl"
    lines = read_sequences(path)

    def files() -> Iterator[tuple[str, Path]]:
        for line in lines:
            yield from ((name, frame_path(folder, name)) for name in dict.fromkeys(line.frames))

    def frames(is_missing: Callable[[str], bool], _device: str) -> Frames:
        yield from classifying.read_frames(file for file in files() if is_missing(file[0]))

    def tasks(engine: TaskWork, networks: Networks, batch: int) -> list[Task]:
        stretches = split(list(files()), frame_tasks.frames_in(batch))
        return frame_tasks.of_files(engine.mine(stretches), networks, batch)

    return FrameSource({"frames": file_sha256(path)}, lambda: lines, frames, tasks)
