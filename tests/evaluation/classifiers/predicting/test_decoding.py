"""Batches cut at fixed places, decoded in this process or in others, are the same."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from evaluation.classifiers.predicting.decoding import Decoders, DecodingPlan, batches_of
from evaluation.classifiers.predicting.photographs import source_of, write_list
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput
from tests.evaluation.classifiers.predicting import pictures

CROPPED = (FramePreparation((8, 8), "crop"), FramePreparation((6, 10), "pad"))


@pytest.fixture
def plan(tmp_path):
    folder = pictures.folder(tmp_path / "images", 11)
    pictures.write(folder, {"0/000x.jpg": b"hello", "0/005.jpg": b"no image", ".x": b"hidden"})
    photographs = write_list(source_of(folder), tmp_path / "list")
    return DecodingPlan(source_of(folder), photographs.path, CROPPED, 4)


def prepared(plan, processes, start=0):
    with Decoders(plan, processes) as decoders:
        return [
            ([entry.name for entry in batch.images], [array.copy() for array in pixels], reasons)
            for batch, pixels, reasons in decoders.prepared(
                batches_of(plan.list_path, plan.size, start)
            )
        ]


def test_batches_have_one_size_and_what_is_refused_takes_no_place(plan):
    batches = list(batches_of(plan.list_path, 4))

    assert [len(batch.images) for batch in batches] == [4, 4, 4]
    assert [entry.name for batch in batches for entry in batch.refused] == [".x"]
    assert [batch.start for batch in batches[1:]] == [batch.end for batch in batches[:-1]]
    assert list(batches_of(plan.list_path, 4, batches[1].start)) == batches[1:]


@pytest.mark.parametrize("processes", [0, 1])
def test_batches_larger_than_the_memory_are_refused_before_any_is_made(plan, processes):
    with pytest.raises(BadInput, match=r"3 batches of 1000000000000 photographs .*--batch"):
        Decoders(replace(plan, size=10**12), processes)


def test_files_refused_at_the_end_come_too(tmp_path):
    folder = pictures.write(tmp_path / "images", {"a.jpg": b"x", "z/.hidden": b"x"})
    photographs = write_list(source_of(folder), tmp_path / "list")

    last = list(batches_of(photographs.path, 1))[-1]

    assert (last.images, [entry.name for entry in last.refused]) == ([], ["z/.hidden"])


def test_other_processes_prepare_what_this_one_prepares(plan):
    alone = prepared(plan, 0)
    together = prepared(plan, 2)

    assert len(alone) == 3
    for (names, pixels, reasons), (other_names, others, other_reasons) in zip(
        alone, together, strict=True
    ):
        assert (names, reasons) == (other_names, other_reasons)
        for mine, theirs in zip(pixels, others, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_what_cannot_be_read_is_black_and_says_why(plan):
    batches = prepared(plan, 0)

    names, pixels, reasons = batches[0]
    at = names.index("0/000x.jpg")
    assert list(reasons) == [at]
    assert [array.shape for array in pixels] == [(4, 3, 8, 8), (4, 3, 6, 10)]
    assert not pixels[0][at].any()
    assert all(pixels[0][image].any() for image in range(4) if image != at)


def test_places_after_the_last_photograph_are_black(plan):
    names, pixels, _ = prepared(plan, 0)[-1]

    assert len(names) == 4
    smaller = DecodingPlan(plan.source, plan.list_path, CROPPED, 5)
    names, pixels, _ = prepared(smaller, 2)[-1]
    assert len(names) == 2
    assert not pixels[0][2:].any()


def test_a_process_that_was_ended_is_told(plan):
    with Decoders(plan, 1) as decoders:
        process, _ = decoders._started[0]
        os.kill(process.pid, signal.SIGKILL)
        process.join()

        with pytest.raises(BadInput, match="a process that decodes photographs was ended"):
            list(decoders.prepared(batches_of(plan.list_path, plan.size)))


INTERRUPTED = """
import os, signal, sys, threading
from multiprocessing import forkserver
from pathlib import Path

from evaluation.classifiers.predicting.decoding import Decoders, DecodingPlan, batches_of
from evaluation.classifiers.predicting.photographs import source_of
from evaluation.classifiers.preparing import FramePreparation

def interrupt():
    while not (server := forkserver._forkserver._forkserver_pid):
        pass
    os.kill(server, signal.SIGINT)

threading.Thread(target=interrupt).start()
preparations = (FramePreparation((8, 8), "crop"),)
plan = DecodingPlan(source_of(Path(sys.argv[1])), Path(sys.argv[2]), preparations, 4)
with Decoders(plan, 1) as decoders:
    print(len(list(decoders.prepared(batches_of(plan.list_path, plan.size)))))
"""


def test_a_key_for_the_command_ends_no_process_that_still_loads(plan, tmp_path):
    # As the terminal sends Ctrl-C to all of them, here to the one that loads libraries.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "images", plan.list_path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
