"""`manage.py sequences`: the frames of a release's objects, revealed part by part, as PNG."""

import errno
import io
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from django.core.management.base import CommandParser
from numpy.typing import NDArray
from PIL import Image

from evaluation import devices
from evaluation.management import sequence_options
from evaluation.management.device_options import add_device
from evaluation.management.sequence_options import Shown
from evaluation.readers.sequences import write_sequences
from evaluation.sequences.objects import LeftOut
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write
from labeling.formats.sidecar import file_path
from labeling.management.contract import ContractCommand, Result, table
from labeling.plurals import count_of

if TYPE_CHECKING:
    from torch import Tensor

THREADS = 2
# Frames that wait to be written: a few, since they may be large.
WAITING = 6
# Up to a quarter larger than at the default of 6; blurred frames in a fifth of the time.
COMPRESSION = 1


class Command(ContractCommand):
    help = "Frames that reveal the objects of a frozen release part by part."

    def add_arguments(self, parser: CommandParser) -> None:
        sequence_options.add_arguments(parser)
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="sequences.jsonl, and frames"
        )
        parser.add_argument(
            "--lines-only", action="store_true", help="say which frames there are; render none"
        )
        add_device(parser)

    def action(self, **options: Any) -> Result:
        out: Path = options["out"]
        lines_only: bool = options["lines_only"]
        device = devices.checked(options["device"])
        asked = sequence_options.shown(options)
        if not lines_only:
            asked.photographs()
        left_out = LeftOut()
        result, missing = _counted(asked, out, left_out)
        _claim(out, asked.text)
        written = 0 if lines_only else self._write_frames(asked, out, missing, device)
        write_sequences(out / "sequences.jsonl", asked.lines())
        if left_out.count:
            self.warn(f"objects without a drawn part, left out: {left_out.count}")
        told = {
            "written": written,
            "left_out": left_out.count,
            "left_out_first": left_out.first,
            "out": os.fspath(out),
        }
        return devices.named(result | told, devices.CPU if lines_only else device)

    def show(self, result: Result) -> str:
        first = ", ".join(result["left_out_first"])
        more = ", …" if result["left_out"] > len(result["left_out_first"]) else ""
        names = f" ({first}{more})" if first else ""
        rows = {key: result[key] for key in ("objects", "sequences", "frames", "written")}
        return table([*rows.items(), ("left out", f"{result['left_out']}{names}")])

    def _write_frames(self, asked: Shown, out: Path, missing: int, device: str) -> int:
        """How many frames were written; those that are there stay."""
        for left in (out / "frames").rglob(".*.part"):
            # Of a run that was killed while it wrote.
            left.unlink(missing_ok=True)
        writer = Writer(out)
        frames = asked.frames(lambda name: not place(out, name).exists(), device=device)
        try:
            with self.progress(missing, "frame", "frames") as bar:
                for name, frame in frames:
                    writer.put(name, frame)
                    bar.update()
                writer.finish()
        except Refusal as refusal:
            raise BadInput(refusal.message) from None
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
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


def _counted(asked: Shown, out: Path, left_out: LeftOut) -> tuple[dict[str, int], int]:
    """How many objects, sequences and frames there are, and how many frames are not there yet."""
    result, missing = dict.fromkeys(("objects", "sequences", "frames"), 0), 0
    for line in asked.lines(left_out):
        ids = set(line.frames)
        result["sequences"] += 1
        result["frames"] += len(ids)
        missing += sum(not place(out, name).exists() for name in ids)
    if not result["sequences"]:
        raise BadInput(
            "no object of the release has a drawn part",
            file=asked.frozen.folder,
            cure="let people draw some and freeze the campaign again",
        )
    result["objects"] = result["sequences"] // (len(asked.orders) * len(asked.content_schemes))
    return result, missing


class Writer:
    """Frames into PNG files that appear whole, a few at a time in threads of its own."""

    def __init__(self, out: Path) -> None:
        self.out, self.written = out, 0
        self.pool = ThreadPoolExecutor(THREADS, "png")
        self.waiting: deque[Future[None]] = deque()

    def put(self, name: str, frame: "Tensor") -> None:
        """Waits while many frames wait; raises what went wrong with an earlier one."""
        self.waiting.append(self.pool.submit(write_png, place(self.out, name), frame.cpu().numpy()))
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


def place(out: Path, name: str) -> Path:
    """Where a frame's file is, by its id."""
    return out / "frames" / f"{file_path(name)}.png"


def write_png(path: Path, frame: NDArray[np.uint8]) -> None:
    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, "PNG", compress_level=COMPRESSION)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        file.write(stream.getbuffer())


def _claim(out: Path, text: str) -> None:
    """orders.json says what the folder is of; frames of other orders must not stay in it."""
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
            "there are frames here, and nothing says of what", file=out, cure="give an empty folder"
        )
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text)
