"""`manage.py sequences`: the frames of a release's objects, revealed part by part, as PNG."""

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation import devices
from evaluation.engines.tasks import Task
from evaluation.management import part_frames
from evaluation.management.computing import (
    ShardOptions,
    TaskShare,
    TaskWork,
    device_of,
    in_tasks,
    needed,
)
from evaluation.management.part_frames import FixationOptions, ShownFrames
from evaluation.readers.sequences import write_sequences
from evaluation.sequences import release_tasks
from evaluation.sequences.objects import LeftOutObjects
from evaluation.sequences.release_tasks import png
from labeling.disk_full import NO_SPACE
from labeling.files import BadInput, atomic_write
from labeling.formats.sidecar import file_path
from labeling.management.contract import ContractCommand, Result, UsageError, refusals
from labeling.management.options import option
from labeling.plurals import count_of

if TYPE_CHECKING:
    from torch import Tensor

THREADS = 2
# Most frames that wait to be written; few, since they may be large.
WAITING = 6


@dataclass(kw_only=True)
class SequenceOptions(FixationOptions, ShardOptions):
    out: Path | None = option("sequences.jsonl, and frames", metavar="DIR")
    lines_only: bool = option("write sequences.jsonl alone; render no frames")


class Command(ContractCommand):
    help = "Frames that reveal the objects of a frozen release part by part."

    def action(self, options: SequenceOptions) -> Result | TaskShare:
        device = device_of(options.device, options.on)
        with in_tasks(self, options, options.shard) as engine:
            if engine is not None and options.lines_only:
                raise UsageError("--lines-only renders nothing: leave out --on, --work and --shard")
            revealed = part_frames.revealed_by(options)
            if not options.lines_only:
                revealed.photographs()
            if engine is not None and engine.shard:
                stretches = engine.mine(_stretches(revealed))
                return engine.share(_tasks(stretches, revealed, options, device), "frames")
            return self._written(revealed, needed(options.out), engine, options, device)

    def _written(
        self,
        revealed: ShownFrames,
        out: Path,
        engine: TaskWork | None,
        options: SequenceOptions,
        device: str,
    ) -> Result:
        lines_only = options.lines_only
        left_out = LeftOutObjects()
        result, missing = _counted(revealed, out, left_out)
        _claim(out, revealed.text)
        if lines_only:
            written = 0
        elif engine is not None:
            written = _write_by_tasks(revealed, out, engine, options, device)
        else:
            written = self._write_frames(revealed, out, missing, device)
        write_sequences(out / "sequences.jsonl", revealed.lines())
        if left_out.count:
            self.warn(f"objects without a drawn part, left out: {left_out.count}")
        further = {
            "written": written,
            "left_out": left_out.count,
            "left_out_first": left_out.first,
            "out": os.fspath(out),
        }
        return devices.with_device(result | further, devices.CPU if lines_only else device)

    def _write_frames(self, revealed: ShownFrames, out: Path, missing: int, device: str) -> int:
        """Write the missing frames; return how many."""
        _remove_halves(out)
        writer = Writer(out)
        frames = revealed.frames(lambda name: not frame_path(out, name).exists(), device=device)
        try:
            with refusals(), self.progress(missing, "frame", "frames") as bar:
                for name, frame in frames:
                    writer.put(name, frame)
                    bar.update()
                writer.finish()
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise BadInput(
                f"the disk is full; {count_of(writer.written, 'frame was', 'frames were')} written",
                file=out,
                cure="free some space and run the same again: it goes on from there",
            ) from None
        finally:
            frames.close()
            writer.close()
        return writer.written


def _counted(
    revealed: ShownFrames, out: Path, left_out: LeftOutObjects
) -> tuple[dict[str, int], int]:
    """Return the numbers of objects, sequences and frames, and of missing frames."""
    result, missing = dict.fromkeys(("objects", "sequences", "frames"), 0), 0
    for line in revealed.lines(left_out):
        ids = set(line.frames)
        result["sequences"] += 1
        result["frames"] += len(ids)
        missing += sum(not frame_path(out, name).exists() for name in ids)
    if not result["sequences"]:
        raise BadInput(
            "no object of the release has a drawn part",
            file=revealed.frozen.folder,
            cure="let people draw some and freeze the campaign again",
        )
    result["objects"] = result["sequences"] // (
        len(revealed.orders) * len(revealed.content_schemes)
    )
    return result, missing


class Writer:
    """Writes frames as PNG files atomically, a few at a time in its own threads."""

    def __init__(self, out: Path) -> None:
        self.out, self.written = out, 0
        self.pool = ThreadPoolExecutor(THREADS, "png")
        self.waiting: deque[Future[None]] = deque()

    def put(self, name: str, frame: "Tensor") -> None:
        """Queue a frame, waiting while many are queued. Raises the error of an earlier one."""
        self.waiting.append(
            self.pool.submit(write_png, frame_path(self.out, name), frame.cpu().numpy())
        )
        if len(self.waiting) > WAITING:
            self._take()

    def finish(self) -> None:
        while self.waiting:
            self._take()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    def _take(self) -> None:
        self.waiting.popleft().result()
        self.written += 1


def frame_path(out: Path, name: str) -> Path:
    """Return the path of the frame with this id."""
    return out / "frames" / f"{file_path(name)}.png"


def write_png(path: Path, frame: NDArray[np.uint8]) -> None:
    _write(path, png(frame))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        file.write(content)


def _remove_halves(out: Path) -> None:
    """Remove the unfinished files of a run that was killed."""
    for left in (out / "frames").rglob(".*.part"):
        left.unlink(missing_ok=True)


def _stretches(revealed: ShownFrames) -> list[release_tasks.FrameStretch]:
    return release_tasks.by_photographs(revealed.revealing().scenes())


def _tasks(
    stretches: Sequence[release_tasks.FrameStretch],
    revealed: ShownFrames,
    options: SequenceOptions,
    device: str,
) -> list[Task]:
    photographs = part_frames.folder_of_photographs(options)
    return release_tasks.tasks_of(
        stretches, revealed.revealing(), revealed.photographs(), photographs, device
    )


def _write_by_tasks(
    revealed: ShownFrames, out: Path, engine: TaskWork, options: SequenceOptions, device: str
) -> int:
    """Write the missing frames; return how many."""
    _remove_halves(out)
    written = 0
    stretches = [
        stretch
        for stretch in _stretches(revealed)
        if not all(frame_path(out, name).exists() for name in stretch.frames)
    ]
    made = engine.results(_tasks(stretches, revealed, options, device), "frames")
    for stretch, content in zip(stretches, made, strict=True):
        for name, file in release_tasks.unpack(content, stretch):
            path = frame_path(out, name)
            if not path.exists():
                _write(path, file)
                written += 1
    return written


def _claim(out: Path, text: str) -> None:
    """Write orders.json. Raises BadInput where the folder has frames of other orders."""
    path = out / "orders.json"
    if path.exists():
        if path.read_text(encoding="utf-8") != text:
            raise BadInput(
                "the folder has frames of another release, or shown in another way",
                file=path,
                cure="give an empty folder, or the same options as before",
            )
        return
    if (out / "frames").exists():
        raise BadInput(
            "the folder has frames but no orders.json", file=out, cure="give an empty folder"
        )
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text)
