"""A folder of score maps, `<id>.npy` each; a stopped run can be resumed. No Django.

`settings.json` beside them says how they were made; `score wsol` ignores it.
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
USE_ANOTHER_OUT = "give another --out"


@dataclass
class Folder:
    """Score maps in progress. done: the ids whose maps are complete."""

    path: Path
    done: set[str] = field(default_factory=set)

    def write(self, name: str, scores: NDArray[np.float32]) -> None:
        """Write the map (h, w) of an id. If the process is killed meanwhile, there is none."""
        path = self.path / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            np.save(file, scores, allow_pickle=False)
        self.done.add(name)


@contextlib.contextmanager
def opened(path: Path, settings: Mapping[str, object], names: Sequence[str]) -> Iterator[Folder]:
    """Yield the folder for the maps of these ids, created if missing.

    settings: everything that the maps depend on, as JSON. Raises BadInput: it was started with
    other settings; it has maps of unknown ids, which `score wsol` would refuse; another run holds
    it.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not (path / SETTINGS).exists() and any(path.rglob("*.npy")):
        raise BadInput("has score maps made with other settings", file=path, cure=USE_ANOTHER_OUT)
    with open(path / SETTINGS, "a+b") as file:
        resuming.lock(file, path)
        there = {map_path.relative_to(path).as_posix() for map_path in path.rglob("*.npy")}
        _check_settings(file, path, json.loads(json.dumps(settings)), bool(there))
        extra = there - {f"{name}.npy" for name in names}
        if extra:
            raise BadInput(
                "belongs to no id of image_ids.txt", file=path / min(extra), cure=USE_ANOTHER_OUT
            )
        _remove_halves(path)
        whole = (name for name in names if f"{name}.npy" in there)
        yield Folder(path, {name for name in whole if _is_whole(path / f"{name}.npy")})


def _check_settings(file: IO[bytes], path: Path, settings: dict[str, object], begun: bool) -> None:
    """Compare the stored settings, or store them if there is no map yet."""
    file.seek(0)
    try:
        before = json.loads(file.read())
    except ValueError:
        before = None
    if begun:
        resuming.refuse_other(before, settings, path / SETTINGS, USE_ANOTHER_OUT)
    if before != settings:
        file.truncate(0)
        file.write(json.dumps(settings, ensure_ascii=False, indent=1).encode() + b"\n")
        file.flush()


def _remove_halves(path: Path) -> None:
    """Remove incomplete files of a killed run."""
    for half in path.rglob(".*.npy.*.part"):
        half.unlink()


def _is_whole(path: Path) -> bool:
    """Return whether it is a complete map: numpy, 2-D, float32, as long as its header says."""
    try:
        scores = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY:
        return False
    return isinstance(scores, np.ndarray) and scores.ndim == 2 and scores.dtype == np.float32
