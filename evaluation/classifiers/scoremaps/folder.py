"""A folder of score maps, `<id>.npy` each; a run that was stopped goes on. No Django.

`settings.json` beside them says how they were made; `score wsol` passes it over.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from evaluation.classifiers import resuming
from evaluation.readers.answers import NO_ARRAY
from labeling.files import BadInput, atomic_write

SETTINGS = "settings.json"
ANOTHER = "give another --out"


@dataclass
class Folder:
    """Score maps that are being made. done: the ids whose maps are there and whole."""

    path: Path
    done: set[str] = field(default_factory=set)

    def write(self, name: str, scores: NDArray[np.float32]) -> None:
        """Keep the map (h, w) of an id. Killed in the middle, there is none."""
        path = self.path / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            np.save(file, scores, allow_pickle=False)
        self.done.add(name)


@contextlib.contextmanager
def opened(path: Path, settings: Mapping[str, object], names: Sequence[str]) -> Iterator[Folder]:
    """The folder, made where it is not there, for the maps of these ids.

    settings: everything that the maps depend on, as JSON. Raises BadInput: it was begun with
    others; it has maps of no id, which `score wsol` would refuse; another run is at it.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not (path / SETTINGS).exists() and any(path.rglob("*.npy")):
        raise BadInput("has score maps that were made otherwise", file=path, cure=ANOTHER)
    with open(path / SETTINGS, "a+b") as file:
        resuming.lock(file, path)
        there = {map_path.relative_to(path).as_posix() for map_path in path.rglob("*.npy")}
        _check_settings(file, path, json.loads(json.dumps(settings)), bool(there))
        extra = there - {f"{name}.npy" for name in names}
        if extra:
            raise BadInput(
                "belongs to no id of image_ids.txt", file=path / min(extra), cure=ANOTHER
            )
        _remove_halves(path)
        whole = (name for name in names if f"{name}.npy" in there)
        yield Folder(path, {name for name in whole if _is_whole(path / f"{name}.npy")})


def _check_settings(file: IO[bytes], path: Path, settings: dict[str, object], begun: bool) -> None:
    """Compares with what is there, or writes them where no map was made yet."""
    file.seek(0)
    try:
        before = json.loads(file.read())
    except ValueError:
        before = None
    if begun:
        resuming.refuse_other(before, settings, path / SETTINGS, ANOTHER)
    if before != settings:
        file.truncate(0)
        file.write(json.dumps(settings, ensure_ascii=False, indent=1).encode() + b"\n")
        file.flush()


def _remove_halves(path: Path) -> None:
    """What a killed run had not finished to write."""
    for half in path.rglob(".*.npy.*.part"):
        half.unlink()


def _is_whole(path: Path) -> bool:
    """Whether it is a map: numpy's, 2-D, float32, and as long as its header says."""
    try:
        scores = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY:
        return False
    return isinstance(scores, np.ndarray) and scores.ndim == 2 and scores.dtype == np.float32
