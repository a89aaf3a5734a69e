"""The seven commands whose work can be cut into tasks, each on small input that makes several."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from evaluation.classifiers import frame_tasks
from evaluation.classifiers.predicting import stretch_tasks as predict_tasks
from evaluation.classifiers.scoremaps import stretch_tasks as map_tasks
from evaluation.scoring.wsol import stretch_tasks as wsol_tasks
from evaluation.selection import pool_tasks
from evaluation.sequences import release_tasks
from tests.evaluation.cds import scenes
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.predicting import pictures
from tests.evaluation.classifiers.scoremaps import detectors
from tests.evaluation.commands import files_in, run
from tests.evaluation.pool import make_pool
from tests.evaluation.wsol_folders import Folder

PHOTOGRAPHS = ("a/1.png", "b.png")


@dataclass(frozen=True)
class Command:
    """arguments: all but those that say where it runs and what it writes. writes: whether to --out.

    first_line: False where what it writes begins with a line that tells how it was made.
    """

    arguments: tuple[object, ...]
    writes: bool = True
    first_line: bool = True

    def result(self, out: Path, *more: object) -> object:
        """What the command writes, or prints where it writes nothing."""
        to = ("--out", out) if self.writes else ()
        status, printed, err = run(*map(str, (*self.arguments, *to, *more, "--json")))
        assert (status, err) == (0, ""), err
        if not self.writes:
            return json.loads(printed)
        if out.is_file():
            return out.read_bytes().split(b"\n", 0 if self.first_line else 1)[-1]
        return files_in(out)


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a few images."""
    monkeypatch.setattr(pool_tasks, "MAX_IMAGES", 250)
    monkeypatch.setattr(predict_tasks, "PHOTOGRAPHS", 5)
    monkeypatch.setattr(release_tasks, "MAX_TASK_FRAMES", 5)
    monkeypatch.setattr(frame_tasks, "FRAMES", 7)
    monkeypatch.setattr(map_tasks, "MAX_TASK_MAPS", 5)
    monkeypatch.setattr(wsol_tasks, "IMAGES", 2)


def select(folder: Path) -> Command:
    arguments = ("mad", "select", "--predictions", make_pool(folder / "pool"))
    return Command(arguments, first_line=False)


def add(folder: Path) -> Command:
    pool = ("--predictions", make_pool(folder / "pool"))
    before = Command(("mad", "select", *pool, "--classifiers", "alpha,beta"))
    before.result(folder / "before.jsonl")
    joins = ("--into", folder / "before.jsonl", "--classifier", "gamma")
    return Command(("mad", "add", *pool, *joins), first_line=False)


def predict(folder: Path) -> Command:
    pictures.folder(folder / "images", 8)
    return Command(("predict", folder / "images", *_network(folder), "--batch", 2, "--top", 2))


def sequences(folder: Path) -> Command:
    return Command(("sequences", *_release(folder)))


def classify(folder: Path) -> Command:
    return Command(("classify", *_release(folder), *_network(folder), "--batch", 3))


def scoremaps(folder: Path) -> Command:
    detectors.world(folder)
    inputs = {name: folder / name for name in ("metadata", "images")}
    model = "tests.evaluation.classifiers.scoremaps.detectors:Colours"
    return Command(
        (
            *("scoremaps", "--method", "cam", "--model", model, "--batch", 2, "--device", "cpu"),
            *(word for name, path in inputs.items() for word in (f"--{name}", path)),
            *("--classes", folder / "classes.txt"),
        )
    )


def wsol(folder: Path) -> Command:
    return Command(("score", "wsol", *Folder(folder).mask().named, "--curves"), writes=False)


COMMANDS: tuple[Callable[[Path], Command], ...] = (
    *(select, add, predict, sequences, classify, scoremaps, wsol),
)


def _network(folder: Path) -> tuple[object, ...]:
    networks.with_classes(folder)
    model = ("--model", folder / "colours.pt", "--classes", folder / "wnids.txt")
    return (*model, "--size", 8, "--device", "cpu")


def _release(folder: Path) -> tuple[object, ...]:
    drawn = {name: [scenes.cat(name), scenes.cow(name)] for name in PHOTOGRAPHS}
    scenes.release(folder / "release", drawn)
    scenes.Photographs(PHOTOGRAPHS).write(folder / "images")
    return (folder / "release", "--images", folder / "images", "--content-scheme", "low")
