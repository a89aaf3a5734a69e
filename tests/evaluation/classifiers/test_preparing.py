"""How frames become what a network takes."""

import numpy as np
import pytest
import torch
from PIL import Image

from evaluation.classifiers.preparing import FramePreparation

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def noise(height, width):
    """Not so bright or dark that Pillow would clip between its two directions."""
    return torch.from_numpy(
        np.random.default_rng(0).integers(80, 176, (height, width, 3), dtype=np.uint8)
    )


@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
@pytest.mark.parametrize("shape", [(120, 77), (9, 14)])
def test_the_whole_frame_is_resized_as_pillow_does_it(method, shape):
    frame = noise(*shape)

    prepared = FramePreparation(size=(32, 40), interpolation=method)(frame)

    resample = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    pillow = np.asarray(Image.fromarray(frame.numpy()).resize((40, 32), resample[method]))
    assert prepared.shape == (3, 32, 40)
    # Pillow rounds after each direction.
    assert (prepared * 255 - torch.from_numpy(pillow.copy()).permute(2, 0, 1)).abs().max() < 1.6


def test_an_edge_does_not_overshoot():
    frame = torch.zeros((10, 10, 3), dtype=torch.uint8)
    frame[:, 5:] = 255

    prepared = FramePreparation(size=(17, 17), interpolation="bicubic")(frame)

    assert (prepared.min(), prepared.max()) == (0, 1)


def test_a_frame_of_the_right_size_keeps_its_pixels():
    frame = noise(8, 8)

    assert torch.equal(FramePreparation(size=(8, 8))(frame), frame.permute(2, 0, 1) / 255)


@pytest.mark.parametrize("fit", ["squash", "crop", "pad"])
def test_colours_are_made_less_the_mean_by_the_deviation(fit):
    frame = torch.full((10, 10, 3), 51, dtype=torch.uint8)
    preparation = FramePreparation(size=(4, 4), fit=fit, mean=IMAGENET_MEAN, std=IMAGENET_STD)

    prepared = preparation(frame)

    expected = [(0.2 - mean) / std for mean, std in zip(IMAGENET_MEAN, IMAGENET_STD, strict=True)]
    for channel, value in enumerate(expected):
        assert prepared[channel].flatten().tolist() == pytest.approx([value] * 16, abs=1e-6)


def marked(height=40, width=80):
    """Grey, with a white column at each end."""
    frame = torch.full((height, width, 3), 128, dtype=torch.uint8)
    frame[:, :8] = frame[:, -8:] = 255
    return frame


@pytest.mark.parametrize(("fit", "seen"), [("squash", True), ("pad", True), ("crop", False)])
def test_only_crop_loses_what_is_at_the_ends(fit, seen):
    prepared = FramePreparation(size=(20, 20), fit=fit)(marked())

    assert bool((prepared > 0.9).any()) is seen


def test_pad_keeps_proportions_and_fills_with_what_becomes_nothing():
    prepared = FramePreparation(size=(20, 20), fit="pad", mean=(0.5, 0.5, 0.5))(marked())

    assert torch.equal(prepared[:, :5], torch.zeros(3, 5, 20))
    assert torch.equal(prepared[:, 15:], torch.zeros(3, 5, 20))
    assert (prepared[:, 5:15, 0] == 0.5).all()


def test_crop_scales_the_shorter_side_and_takes_the_middle():
    frame = noise(50, 80)

    prepared = FramePreparation(size=(20, 20), fit="crop", crop_share=0.5)(frame)

    whole = FramePreparation(size=(40, 64))(frame)
    assert torch.equal(prepared, whole[:, 10:30, 22:42])


def test_a_sliver_is_squashed_cropped_and_padded_too():
    for fit in ("squash", "crop", "pad"):
        prepared = FramePreparation(size=(8, 8), fit=fit)(noise(1, 300))
        assert prepared.shape == (3, 8, 8)
        assert prepared.isfinite().all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": (0, 4)},
        {"fit": "stretch"},
        {"std": (1.0, 0.0, 1.0)},
        {"mean": (float("nan"), 0, 0)},
        {"interpolation": "nearest"},
        {"crop_share": 1.5},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(ValueError, match="cannot be meant"):
        FramePreparation(**wrong)


def test_results_name_what_was_done():
    settings = FramePreparation(size=(4, 6), fit="crop", crop_share=0.875).as_dict()

    assert settings == {
        "size": [4, 6],
        "fit": "crop",
        "mean": [0.0, 0.0, 0.0],
        "std": [1.0, 1.0, 1.0],
        "interpolation": "bilinear",
        "crop_share": 0.875,
        "antialias": True,
    }
    assert "crop_share" not in FramePreparation().as_dict()
