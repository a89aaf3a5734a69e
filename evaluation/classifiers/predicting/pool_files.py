"""A pool of predictions in progress; a stopped run can be resumed. No Django.

Until the pool is complete everything is in `.predict` in its folder: files that only grow, and
predict.json with the settings and the length of each file after the last batch. What a killed run
wrote beyond that is cut off. Complete files are then moved into the folder, images.txt and
predict.json last.
"""

import contextlib
import csv
import io
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.classifiers import resuming
from labeling.files import BadInput, atomic_write

WORK = ".predict"
STATE, LOCK = "predict.json", "lock"
IMAGES, CLASSES, SKIPPED = "images.txt", "classes.txt", "skipped.csv"
LABELS, CONFIDENCES = ".labels.npy", ".confidences.npy"
USE_EMPTY_FOLDER = "give a new or an empty folder"
USE_RESTART = "begin again with --restart"
# Most work lost by a killed run; syncing to disk takes a while.
KEPT_SECONDS = 2.0
# Size of a one-dimensional array's header as numpy.save writes it, for any length.
HEADER_BYTES = 128


@dataclass(frozen=True)
class ClassifierPredictions:
    """A classifier's predictions for N images. labels: (N, K) indices in the list of classes, most
    likely first; confidences: (N, K) float32.
    """

    labels: NDArray[Any]
    confidences: NDArray[np.float32]


@dataclass
class PoolState:
    """The progress of a pool.

    start: offset of the next batch in the list; sizes: bytes of each file; at_once: images per call
    of each classifier, fewer than a batch if a GPU's memory ran out.
    """

    settings: dict[str, Any]
    start: int = 0
    images: int = 0
    skipped: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    whole: bool = False


@dataclass
class PoolInProgress:
    """A pool in progress. classes: wnids; top: classes per image in NAME.csv, None: no
    such file.
    """

    out: Path
    state: PoolState
    classes: Sequence[str]
    names: Sequence[str]
    top: int | None
    _files: dict[str, IO[bytes]] = field(default_factory=dict)
    _kept: float = field(default_factory=time.monotonic)

    @property
    def work(self) -> Path:
        return self.out / WORK

    @property
    def label_type(self) -> str:
        return "int16" if len(self.classes) <= 1 << 15 else "int32"

    def goals(self) -> list[str]:
        """Return the files of the pool in the order in which they appear."""
        endings = [LABELS, CONFIDENCES, *([".csv"] if self.top else [])]
        arrays = [f"{name}{ending}" for name in self.names for ending in endings]
        return [*arrays, SKIPPED, CLASSES, IMAGES, STATE]

    def add(
        self,
        images: Sequence[str],
        skipped: Sequence[tuple[str, str]],
        predictions: Mapping[str, ClassifierPredictions],
        start: int,
    ) -> None:
        """Add a batch: its images, what was skipped and why, and each classifier's predictions.

        start: offset of the next batch in the list.
        """
        self._append(IMAGES, "".join(f"{image}\n" for image in images).encode())
        self._append(SKIPPED, _csv(skipped))
        for name, predicted in predictions.items():
            self._append(name + LABELS, predicted.labels[:, 0].astype(self.label_type).tobytes())
            self._append(name + CONFIDENCES, predicted.confidences[:, 0].tobytes())
            if self.top:
                self._append(f"{name}.csv", _csv(self._ranked(images, predicted)))
        state = self.state
        state.start = start
        state.images += len(images)
        state.skipped += len(skipped)
        state.sizes = {name: file.tell() for name, file in self._files.items()}
        if time.monotonic() - self._kept >= KEPT_SECONDS:
            self.keep()

    def keep(self) -> None:
        """Flush the batches so far to disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        with atomic_write(self.work / STATE) as out:
            out.write(json.dumps(asdict(self.state), ensure_ascii=False) + "\n")
        self._kept = time.monotonic()

    def finish(self) -> None:
        """Move the complete pool into its folder. If killed meanwhile, the next run continues."""
        if not self.state.whole:
            with atomic_write(self.work / CLASSES) as out:
                out.writelines(f"{wnid}\n" for wnid in self.classes)
            for name in self.names:
                self._head(name + LABELS, self.label_type)
                self._head(name + CONFIDENCES, "float32")
            self.state.whole = True
            self.keep()
        for name in self.goals():
            if (self.work / name).exists():
                os.replace(self.work / name, self.out / name)

    def _append(self, name: str, content: bytes) -> None:
        self._files[name].write(content)

    def _ranked(
        self, images: Sequence[str], predicted: ClassifierPredictions
    ) -> Iterator[tuple[object, ...]]:
        for image, labels, confidences in zip(
            images, predicted.labels.tolist(), predicted.confidences.tolist(), strict=True
        ):
            ranked = zip(labels[: self.top], confidences[: self.top], strict=True)
            for rank, (label, confidence) in enumerate(ranked, 1):
                yield image, rank, self.classes[label], f"{confidence:.6g}"

    def _head(self, name: str, dtype: str) -> None:
        """Write the array's header before its values."""
        head = io.BytesIO()
        header = {"shape": (self.state.images,), "fortran_order": False}
        np.lib.format.write_array_header_1_0(
            head, header | {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype))}
        )
        assert len(head.getvalue()) == HEADER_BYTES
        self._files[name].flush()
        os.pwrite(self._files[name].fileno(), head.getvalue(), 0)

    def _begin(self) -> None:
        """Open the files, truncated to the lengths in the state."""
        heads = {SKIPPED: b"image,reason\n"} | {
            f"{name}.csv": b"image,rank,wnid,confidence\n" for name in self.names
        }
        for name in self.goals():
            path = self.work / name
            if name in (CLASSES, STATE):
                continue
            size = self.state.sizes.get(name, 0)
            if size and (not path.exists() or path.stat().st_size < size):
                raise BadInput(
                    "is shorter than when the run was stopped",
                    file=path,
                    cure=USE_RESTART,
                )
            file = self._files[name] = path.open("r+b" if size else "w+b")
            file.truncate(size)
            file.seek(size)
            if not size:
                file.write(heads.get(name, b"\0" * HEADER_BYTES * name.endswith(".npy")))

    def _close(self) -> None:
        for file in self._files.values():
            file.close()


@contextlib.contextmanager
def opened(
    out: Path,
    settings: Mapping[str, object],
    classes: Sequence[str],
    names: Sequence[str],
    top: int | None = None,
) -> Iterator[PoolInProgress]:
    """Yield the pool in `out`: that of an earlier run with these settings, else a new one.

    Call it within working(). settings: everything that the predictions depend on, as JSON. Raises
    BadInput: the earlier pool has other settings or is damaged.
    """
    new_settings = json.loads(json.dumps(settings))
    state, cure = _read(out / STATE), USE_EMPTY_FOLDER
    if state is None:
        state, cure = _read(out / WORK / STATE), "--restart to begin again"
    if state is not None:
        resuming.refuse_other(state.settings, new_settings, out, cure)
    pool = PoolInProgress(out, state or PoolState(new_settings), classes, names, top)
    state = pool.state
    if state.whole:
        yield pool
        return
    try:
        pool._begin()
        try:
            yield pool
        finally:
            # The files may have half a batch more, which the next run cuts off.
            if state.start and not state.whole:
                pool.keep()
    finally:
        pool._close()


@contextlib.contextmanager
def working(out: Path, restart: bool = False) -> Iterator[Path]:
    """Yield the folder in `out` where the pool is made, locked against other runs.

    restart: discard earlier work. The folder is removed once the pool is complete, or if no image
    was classified. Raises BadInput: `out` holds anything else; another run holds the lock.
    """
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, expected a folder", file=out, cure=USE_EMPTY_FOLDER)
    made, work = not out.exists(), out / WORK
    lock = _locked(work / LOCK, out)
    try:
        # A complete pool stays, and other files may be beside it.
        if not (out / STATE).exists():
            _refuse_others(out, work)
            if restart:
                _forget(out, work)
        yield work
    finally:
        if _may_go(out, work):
            shutil.rmtree(work, ignore_errors=True)
            if made:
                with contextlib.suppress(OSError):
                    out.rmdir()
        lock.close()


def _locked(path: Path, out: Path) -> IO[bytes]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
        try:
            resuming.lock(file, out)
            # Another run may have finished and removed the file before this one locked it.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _refuse_others(out: Path, work: Path) -> None:
    """Raise BadInput for files that neither belong to the work nor were moved by it."""
    moved = set()
    with contextlib.suppress(BadInput):
        state = _read(work / STATE)
        moved = {*state.sizes, CLASSES} if state and state.whole else set()
    others = sorted(path.name for path in out.iterdir() if path.name not in {WORK, *moved})
    if others:
        raise BadInput(f"has other files ({others[0]})", file=out, cure=USE_EMPTY_FOLDER)


def _may_go(out: Path, work: Path) -> bool:
    """Return whether the pool is complete, or no image has been classified yet."""
    try:
        state = _read(work / STATE)
    except BadInput:
        return False
    return state is None or not state.images


def _forget(out: Path, work: Path) -> None:
    for path in (*out.iterdir(), *work.iterdir()):
        if path.is_file() and path.name != LOCK:
            path.unlink()


def _read(path: Path) -> PoolState | None:
    try:
        return PoolState(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise BadInput(
            "is not a state of a run", file=path, cure=f"{USE_RESTART}, or {USE_EMPTY_FOLDER}"
        ) from None


def _csv(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
