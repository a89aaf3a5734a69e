"""Batches of photographs, decoded and prepared by processes ahead of the network. No Django.

The processes read the list of photographs themselves and write pixels to shared memory. Pipes only
carry where a batch begins and which of its photographs cannot be read.
"""

import ctypes
import math
import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.classifiers.predicting.photographs import (
    PhotographEntry,
    PhotographSource,
    Unreadable,
)
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput

if TYPE_CHECKING:
    from torch import Tensor

# Batches in flight: one in the network, the others waiting or being prepared.
DEPTH = 3
# Starting processes takes as long as decoding about this many.
MIN_FOR_PROCESSES = 200
Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class PhotographBatch:
    """Consecutive lines of the list. images: readable ones; refused: the others.

    start, end: byte offsets of its lines in the list.
    """

    start: int
    end: int
    images: list[PhotographEntry]
    refused: list[PhotographEntry]


def batches_of(path: Path, size: int, start: int = 0) -> Generator[PhotographBatch]:
    """Yield batches of `size` photographs, from the offset of a batch."""
    with open(path, "rb") as file:
        file.seek(start)
        batch = PhotographBatch(start, start, [], [])
        for line in file:
            entry = PhotographEntry.of(line)
            (batch.images if entry.location else batch.refused).append(entry)
            batch = PhotographBatch(batch.start, batch.end + len(line), batch.images, batch.refused)
            if len(batch.images) == size:
                yield batch
                batch = PhotographBatch(batch.end, batch.end, [], [])
        if batch.end > batch.start:
            yield batch


@dataclass(frozen=True)
class DecodingPlan:
    """The settings that every decoding process needs. size: photographs per batch."""

    source: PhotographSource
    list_path: Path
    preparations: Sequence[FramePreparation]
    size: int

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [(self.size, 3, *preparation.size) for preparation in self.preparations]

    def views(self, memory: Any) -> list[list[Pixels]]:
        """Return an array (size, 3, height, width) for each of DEPTH batches and each
        preparation.
        """
        values = np.frombuffer(memory, np.float32)
        slots, at = [], 0
        for _ in range(DEPTH):
            slot = []
            for shape in self.shapes:
                count = math.prod(shape)
                slot.append(values[at : at + count].reshape(shape))
                at += count
            slots.append(slot)
        return slots

    def length(self) -> int:
        return DEPTH * sum(math.prod(shape) for shape in self.shapes)


class Decoders:
    """Processes that decode batches. processes: how many besides this one; 0: decode here."""

    def __init__(self, plan: DecodingPlan, processes: int) -> None:
        self.plan = plan
        self._started: list[tuple[Any, Connection]] = []
        _refuse_too_large(plan)
        if not processes:
            self._slots = plan.views(bytearray(4 * plan.length()))
            return
        # A fork of this process would share its threads and its GPU.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "torch"])
        # Ctrl-C is for the command, which ends the processes; a process that is still loading would
        # print a traceback. The resource tracker starts first, because its start unblocks the
        # signal.
        resource_tracker.ensure_running()
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        memory = context.RawArray(ctypes.c_float, plan.length())
        self._slots = plan.views(memory)
        for number in range(processes):
            ours, theirs = context.Pipe()
            arguments = (theirs, memory, plan, number, processes)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._started.append((process, ours))

    def __enter__(self) -> "Decoders":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.plan.source.close()
        for _, pipe in self._started:
            pipe.close()
        for process, _ in self._started:
            if kind is not None:
                process.terminate()
            process.join()

    def prepared(
        self, batches: Iterable[PhotographBatch]
    ) -> Iterator[tuple[PhotographBatch, list[Pixels], dict[int, str]]]:
        """Yield each batch with its pixels by preparation, and why some positions are empty
        (black).

        The pixels are valid until the next batch is requested.
        """
        numbered = enumerate(batches)
        waiting = deque(map(self._sent, islice(numbered, DEPTH - 1)))
        while True:
            waiting.extend(map(self._sent, islice(numbered, 1)))
            if not waiting:
                return
            number, batch = waiting.popleft()
            yield batch, self._slots[number % DEPTH], self._received(number, batch)

    def _sent(self, numbered: tuple[int, PhotographBatch]) -> tuple[int, PhotographBatch]:
        number, batch = numbered
        for _, pipe in self._started:
            with suppress(BrokenPipeError):
                pipe.send((number % DEPTH, batch.start, batch.end))
        return numbered

    def _received(self, number: int, batch: PhotographBatch) -> dict[int, str]:
        slot = self._slots[number % DEPTH]
        for pixels in slot:
            pixels[len(batch.images) :] = 0
        if not self._started:
            return _fill(self.plan, batch.images, slot)
        reasons: dict[int, str] = {}
        for _, pipe in self._started:
            try:
                reasons |= pipe.recv()
            except (EOFError, ConnectionResetError):
                raise BadInput(
                    "a process that decodes photographs was ended, as systems do where memory "
                    "runs out",
                    cure="give a smaller --batch, or fewer --processes; the same command goes on",
                ) from None
        return reasons


def _refuse_too_large(plan: DecodingPlan) -> None:
    """Raise BadInput for batches that do not fit into memory.

    Shared memory is a sparse file: a process that writes beyond the available space is killed.
    """
    needed, there = 4 * plan.length(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise BadInput(
            f"{DEPTH} batches of {plan.size} photographs have {needed / 2**30:.3g} GiB, and this "
            f"machine's memory {there / 2**30:.3g} GiB",
            cure="give a smaller --batch or --size",
        )


def _work(pipe: Connection, memory: Any, plan: DecodingPlan, number: int, processes: int) -> None:
    """Fill every processes-th position of each batch until the other end of the pipe closes."""
    import torch

    # Ctrl-C reaches every process; the one that started this says when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    slots = plan.views(memory)
    with open(plan.list_path, "rb") as list_file:
        while True:
            try:
                slot, start, end = pipe.recv()
            except (EOFError, OSError):
                return
            list_file.seek(start)
            entries = map(PhotographEntry.of, list_file.read(end - start).splitlines(keepends=True))
            images = [entry for entry in entries if entry.location]
            reasons = _fill(plan, images, slots[slot], range(number, len(images), processes))
            with suppress(BrokenPipeError):
                pipe.send(reasons)


def _fill(
    plan: DecodingPlan,
    images: Sequence[PhotographEntry],
    slot: Sequence[Pixels],
    places: Iterable[int] | None = None,
) -> dict[int, str]:
    """Write the pixels at these positions; black, with the reason, for unreadable ones."""
    import torch

    reasons = {}
    for index in range(len(images)) if places is None else places:
        try:
            frame: Tensor = torch.from_numpy(plan.source.pixels(images[index].location))
        except Unreadable as error:
            reasons[index] = str(error)
            for pixels in slot:
                pixels[index] = 0
            continue
        for pixels, preparation in zip(slot, plan.preparations, strict=True):
            pixels[index] = preparation(frame).numpy()
    return reasons
