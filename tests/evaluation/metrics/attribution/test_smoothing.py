"""Score maps under a Gaussian, against plain sums and other libraries."""

import numpy as np
import pytest
import torch
from scipy import ndimage

from evaluation.metrics.attribution.smoothing import smoothed


def maps_of(height, width, count=2):
    return torch.rand((count, height, width), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize(("height", "width"), [(9, 9), (6, 12), (1, 5)])
def test_a_smoothed_place_is_a_weighted_sum_of_all(height, width):
    maps = maps_of(height, width)
    deviations = 60 * height / 224, 60 * width / 224

    result = smoothed(maps, 60)

    def weights(length, at, deviation):
        everywhere = np.arange(-500, 501)
        total = np.exp(-0.5 * (everywhere / deviation) ** 2).sum()
        return np.exp(-0.5 * ((np.arange(length) - at) / deviation) ** 2) / total

    for n, y, x in np.ndindex(*result.shape):
        rows, columns = weights(height, y, deviations[0]), weights(width, x, deviations[1])
        expected = rows @ maps[n].double().numpy() @ columns
        assert result[n, y, x].item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("width", [5, 40, 127])
def test_the_deviation_is_that_of_scipy_with_nothing_beyond_the_map(width):
    maps = maps_of(224, 224, 1)

    result = smoothed(maps, width)[0]

    expected = ndimage.gaussian_filter(
        maps[0].double().numpy(), width, mode="constant", radius=int(8 * width)
    )
    assert np.allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 31, 127])
def test_the_window_is_that_of_opencv(width):
    # https://docs.opencv.org: getGaussianKernel, where no deviation is given.
    deviation = 0.3 * ((width - 1) * 0.5 - 1) + 0.8
    kernel = np.exp(-((np.arange(width) - (width - 1) / 2) ** 2) / (2 * deviation**2))
    kernel /= kernel.sum()
    maps = maps_of(224, 224, 1)

    result = smoothed(maps, width, "window")[0]

    expected = maps[0].double().numpy()
    for axis in (0, 1):
        expected = ndimage.correlate1d(expected, kernel, axis, mode="constant")
    assert np.allclose(result, expected, rtol=1e-5)


def test_widths_are_for_224_pixels_and_scale_with_the_map():
    point = torch.zeros(1, 448, 448)
    point[0, 224, 224] = 1.0

    result = smoothed(point, 10)[0, 224]

    # A deviation of 20 pixels: e^−½ of the peak is 20 pixels away.
    assert result[244] / result[224] == pytest.approx(np.exp(-0.5), rel=1e-4)


def test_no_width_changes_nothing_and_another_reading_is_refused():
    maps = maps_of(4, 5)

    assert torch.equal(smoothed(maps, 0), maps)
    with pytest.raises(ValueError, match="expected one of"):
        smoothed(maps, 3, "box")
