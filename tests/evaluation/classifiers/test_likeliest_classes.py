"""Frames that stay on the device from their pyramid to the network's scores."""

import pytest
import torch
from PIL import Image

from benchmarks.bench_gpu import made
from evaluation.classifiers.classifying import read_frames
from evaluation.classifiers.likeliest_classes import batch_rows
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.preparing import FITS, FramePreparation
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES, frames
from tests.evaluation.metrics.torch_guard import Guard

BATCH = 4


@pytest.fixture(scope="module")
def network():
    return made.network()


def classifier(network, fit="squash", device="cpu") -> Classifier:
    return Classifier(
        name="strided",
        classes=tuple(f"n{number:08}" for number in range(1000)),
        preparation=FramePreparation((64, 64), fit, mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.2)),
        device=device,
        source={},
        network=network.to(device),
    )


def object_frames(content, device="cpu"):
    """The frames of an object by torch, as on a GPU."""
    image, sequence = made.part_object(3)
    made_frames = frames(image, sequence, content, (100, 80, 400, 300), device, compiled=False)
    return [(f"{content}/{number}", frame) for number, frame in enumerate(made_frames)]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.ci
def test_frames_on_a_device_are_named_as_their_png_files_are(tmp_path, network, fit):
    for number, content in enumerate(CONTENT_SCHEMES):
        held, files = object_frames(content), []
        for name, frame in held:
            files.append((name, tmp_path / f"{name.replace('/', '-')}.png"))
            Image.fromarray(frame.numpy()).save(files[-1][1])

        rows = list(batch_rows(held, classifier(network, fit), BATCH))

        assert rows == list(batch_rows(read_frames(files), classifier(network, fit), BATCH))
        assert len({row[3] for batch in rows for row in batch}) > len(held) // 2, number


def test_the_host_waits_for_a_batch_and_uploads_nothing_for_a_frame(network):
    strided, counted = classifier(network), []
    held = object_frames("low")
    list(batch_rows(held[:1], strided, BATCH))

    for count in (BATCH, 2 * BATCH):
        # A network's batch and its scores; tensors made without a device would be of meta.
        with Guard(exact=False) as guard, torch.device("meta"):
            list(batch_rows(held[:count], strided, BATCH))
        counted.append(guard)

    # To find a score that is no number; it then waits for the scores and classes themselves.
    assert [guard.waits.total() for guard in counted] == [1, 2]
    assert counted[1].launches.total() == 2 * counted[0].launches.total() <= 2 * 50
    assert not counted[1].launches["lift_fresh"]


@pytest.mark.gpu
@pytest.mark.parametrize("content", CONTENT_SCHEMES)
def test_a_gpu_is_as_sure_of_frames_as_the_cpu(network, content):
    [on_cpu], [there] = (
        list(batch_rows(object_frames(content, device), classifier(network, device=device), 100))
        for device in ("cpu", "cuda")
    )

    # Random weights leave classes nearly tied, so that rounding may exchange their names.
    for row, row_there in zip(on_cpu, there, strict=True):
        assert row[:2] == row_there[:2]
        assert [float(x) for x in row[3::2]] == pytest.approx(
            [float(x) for x in row_there[3::2]], abs=1e-5
        )
