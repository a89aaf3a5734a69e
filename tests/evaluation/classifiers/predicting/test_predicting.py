"""What networks say of photographs, batch by batch: the same wherever a run was stopped."""

import contextlib
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from evaluation import devices
from evaluation.classifiers import opening
from evaluation.classifiers.predicting import decoding, pool_files, predicting
from evaluation.classifiers.predicting.photographs import source_of, write_list
from evaluation.classifiers.predicting.pool_files import opened, working
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput
from tests.evaluation.classifiers.networks import CLASSES, Colours, Sure
from tests.evaluation.classifiers.predicting import pictures

COUNT, BATCH = 11, 4


class Company(nn.Module):
    """Logits that depend on everything in the batch, its empty places too; counts its batches."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[int] = []

    def forward(self, images):
        self.given.append(len(images))
        return images.mean((2, 3)) * 4 + images.sum() / 1e4


class Full(RuntimeError):
    """As torch names what it raises where a GPU has no memory left."""


Full.__name__ = "OutOfMemoryError"


def classifier(network, name="net", gives="logits", size=8):
    return opening.Classifier(
        name=name,
        classes=tuple(CLASSES),
        preparation=FramePreparation((size, size), "crop"),
        device="cpu",
        source={"model": name},
        network=network,
        gives=gives,
    )


@pytest.fixture(autouse=True)
def _keep_each_batch(monkeypatch):
    monkeypatch.setattr(pool_files, "KEPT_SECONDS", 0)


@pytest.fixture
def make(tmp_path):
    """Makes a pool of these classifiers, and its arrays and lists."""
    folder = pictures.folder(tmp_path / "images", COUNT)
    pictures.write(folder, {"0/003.jpg": b"broken", ".hidden": b""})

    def run(*classifiers, out="pool", batch=BATCH, top=None, tell=lambda _: None, source=folder):
        with working(tmp_path / out) as work:
            photographs = write_list(source_of(source), work / "list")
            preparations = tuple(dict.fromkeys(network.preparation for network in classifiers))
            plan = decoding.DecodingPlan(source_of(source), photographs.path, preparations, batch)
            settings = predicting.settings(photographs, classifiers, batch, top)
            names = [network.name for network in classifiers]
            with opened(tmp_path / out, settings, CLASSES, names, top) as pool:
                speed = predicting.predict(plan, classifiers, pool, tell=tell)
                pool.finish()
                return tmp_path / out, speed

    return run


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


def test_each_photograph_gets_the_class_of_its_colour(make):
    pool, speed = make(classifier(Colours()), classifier(Sure(), "sure", "probabilities", 6))

    images = (pool / "images.txt").read_text().split()
    numbers = [int(image[2:5]) for image in images]
    assert numbers == [number for number in range(COUNT) if number != 3]
    for name in ("net", "sure"):
        assert np.load(pool / f"{name}.labels.npy").tolist() == [n % 3 for n in numbers]
    assert speed.images == COUNT - 1
    assert speed.rate("net") > 0
    assert (pool / "skipped.csv").read_text().splitlines() == [
        "image,reason",
        ".hidden,It is a hidden file.",
        '0/003.jpg,"It is not a JPEG, PNG, WebP, GIF, BMP or TIFF image (judged by its '
        'content, not by its name)."',
    ]


def test_confidences_are_those_of_the_network_alone(make, tmp_path):
    network = Colours()
    single = classifier(network)

    pool, _ = make(single)

    source = source_of(tmp_path / "images")
    for at, image in enumerate((pool / "images.txt").read_text().split()):
        frame = single.prepare(torch.from_numpy(source.pixels(image)))
        with torch.no_grad():
            alone = network(frame[None]).softmax(1).max()
        assert np.load(pool / "net.confidences.npy")[at] == pytest.approx(float(alone), abs=1e-6)


@pytest.mark.parametrize("stop", range(1, 4))
def test_a_stopped_run_goes_on_with_the_next_batch_to_the_same_bytes(make, stop):
    whole, _ = make(classifier(Company()), out="whole", top=2)
    network = Company()

    def failing(images):
        if len(network.given) == stop:
            raise OSError(5, "Input/output error")
        return network(images)

    # The third batch is the last.
    with contextlib.suppress(OSError):
        make(classifier(failing), top=2)
    again = Company()
    pool, speed = make(classifier(again), top=2)

    assert len(again.given) == 3 - stop
    assert set(network.given + again.given) == {BATCH}
    assert content(pool) == content(whole)
    assert (speed.rate("net") is None) == (stop == 3)


def test_every_batch_has_the_same_size_even_the_last(make):
    network = Company()

    make(classifier(network), batch=7)

    assert network.given == [7, 7]


def test_equal_confidences_give_the_first_class_and_a_network_may_write_into_its_images(make):
    def equal(images):
        images.zero_()
        return images.mean((2, 3))

    pool, _ = make(classifier(equal, "equal"), classifier(Colours()), top=5)

    assert set(np.load(pool / "equal.labels.npy").tolist()) == {0}
    assert set(np.load(pool / "net.labels.npy").tolist()) == {0, 1, 2}
    rows = (pool / "equal.csv").read_text().splitlines()[1:4]
    assert rows == [f"0/000.jpg,{at + 1},{CLASSES[at]},0.333333" for at in range(3)]


def test_probabilities_a_little_beside_0_and_1_are_kept_within(make):
    pool, _ = make(
        classifier(lambda images: images.mean((2, 3)) * 0 + 1.0001, gives="probabilities")
    )

    assert set(np.load(pool / "net.confidences.npy").tolist()) == {1.0}


def test_a_network_that_gives_no_number_is_named_with_the_photograph(make, tmp_path):
    def broken(images):
        means = images.mean((2, 3))
        means[1:] = torch.nan
        return means

    with pytest.raises(BadInput, match=r"net gives no number for 0/001\.jpg"):
        make(classifier(broken))
    assert not (tmp_path / "pool").exists()


def short_of_memory(network, most):
    def run(images):
        if len(images) > most:
            raise Full("CUDA out of memory")
        return network(images)

    return run


def test_a_batch_too_large_for_the_memory_is_done_again_whole_in_halves(make):
    network, warnings = Company(), []
    pool, _ = make(classifier(short_of_memory(network, 2)), tell=warnings.append)

    assert set(network.given) == {2}
    assert warnings == ["the GPU ran out of memory; going on with 2 at once"]
    halves, _ = make(classifier(Company()), out="halves", batch=2)
    np.testing.assert_array_equal(
        np.load(pool / "net.labels.npy"), np.load(halves / "net.labels.npy")
    )


def test_a_run_stopped_after_memory_ran_out_goes_on_in_halves(make):
    def later(network, from_batch, stop):
        def run(images):
            done = sum(network.given) // BATCH
            if done >= from_batch and len(images) == BATCH:
                raise Full("CUDA out of memory")
            if done >= stop:
                raise OSError(5, "Input/output error")
            return network(images)

        return run

    whole, _ = make(classifier(later(Company(), 1, 9)), out="whole")
    with pytest.raises(OSError, match="Input"):
        make(classifier(later(Company(), 1, 2)))
    again = Company()
    pool, _ = make(classifier(again))

    assert set(again.given) == {2}
    assert content(pool) == content(whole)


def test_a_memory_that_holds_no_photograph_is_told(make):
    with pytest.raises(BadInput, match="memory does not hold one photograph"):
        make(classifier(short_of_memory(Company(), 0)))


@pytest.mark.gpu
def test_a_gpu_names_what_a_cpu_names(make):
    network = Colours()
    pool, _ = make(classifier(network))
    device = devices.check_device("cuda")
    on_gpu = classifier(Colours().to(device))
    gpu_pool, _ = make(dataclasses.replace(on_gpu, device=device), out="gpu")

    labels = [np.load(folder / "net.labels.npy") for folder in (pool, gpu_pool)]
    confidences = [np.load(folder / "net.confidences.npy") for folder in (pool, gpu_pool)]
    np.testing.assert_array_equal(*labels)
    np.testing.assert_allclose(*confidences, rtol=0, atol=1e-6)


def test_a_name_that_cannot_be_a_file_is_refused():
    for name in ["a/b", "a\\b", "A,B", ".hidden", "skipped", "n" * 201, "ä" * 101]:
        with pytest.raises(BadInput, match=r"files cannot be named after .*; give .* NAME=MODEL"):
            predicting.refuse_names([name])


def test_two_classifiers_of_one_name_are_refused():
    with pytest.raises(BadInput, match="two classifiers are called 'net'; give it another name"):
        predicting.refuse_names(["net", "other", "net"])
    predicting.refuse_names(["net", "Net", "resnet50.v1 (224)"])
