"""`merge MASK.png …`, to the letter of the contract, and without a database."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import shapely
from PIL import Image

from labeling.geometry import alpha_shapes, mask_png
from labeling.geometry.polygons import to_shapely
from labeling.geometry.regions import mask_of
from tests.cases import for_each


@pytest.fixture
def run(shell):
    return partial(shell, "merge")


@pytest.fixture
def refusal(shell):
    return partial(shell.refusal, "merge")


def rectangle(x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    mask = np.zeros((30, 40), np.uint8)
    mask[y0:y1, x0:x1] = 1
    return mask


@pytest.fixture
def leg(tmp_path):
    """Files of an upper and a lower leg, two rows apart."""
    paths = [tmp_path / "upper.png", tmp_path / "lower.png"]
    for path, mask in zip(paths, (rectangle(5, 2, 12, 12), rectangle(7, 14, 13, 28)), strict=True):
        Image.fromarray(mask).save(path)
    return paths


def test_two_masks_become_one_contour(run, leg, tmp_path):
    out = tmp_path / "leg.png"

    status, out_text, warned = run(*leg, "--out", out, "--json")

    assert (status, warned) == (0, "")
    result = json.loads(out_text)
    masks = [mask_png.read(path) for path in leg]
    merged = alpha_shapes.merge(masks)
    polygon = shapely.geometry.shape(result["polygon"])
    assert result["polygon"]["type"] == "Polygon"
    assert polygon.is_valid
    assert shapely.MultiPolygon([polygon]).equals(to_shapely(merged.polygons))
    ring = result["polygon"]["coordinates"][0]
    assert ring[0] == ring[-1]
    assert all(isinstance(number, int) for point in ring for number in point)
    assert {key: value for key, value in result.items() if key != "polygon"} == {
        "method": "radius",
        "radius": merged.radius,
        "joins_at": merged.radius,
        "area": merged.area,
        "union_area": 70 + 84,
        "hull_area": merged.hull_area,
        "components": 1,
    }
    raster = mask_png.read(out)
    assert (raster == mask_of(merged.polygons, (0, 0, 40, 30))).all()
    assert raster.sum() == result["area"]


def test_a_radius_too_small_leaves_several_polygons_and_says_so(run, leg):
    status, out_text, warned = run(*leg, "--radius", 1, "--json")

    result = json.loads(out_text)
    assert status == 0
    assert "not joined" in warned
    assert (result["radius"], result["components"]) == (1, 2)
    assert result["joins_at"] > 1
    assert result["polygon"]["type"] == "MultiPolygon"
    assert result["area"] == result["union_area"]


def test_the_radius_of_a_run_gives_the_same_again(run, leg):
    first = run(*leg, "--json")

    assert run(*leg, "--radius", json.loads(first[1])["radius"], "--json") == first


def test_the_package_draws_at_one_by_our_radius_unless_alpha_is_given(run, leg, tmp_path):
    out = tmp_path / "leg.png"
    ours = json.loads(run(*leg, "--json")[1])

    status, out_text, warned = run(*leg, "--method", "alphashape", "--out", out, "--json")

    result = json.loads(out_text)
    assert (status, warned) == (0, "")
    assert (result["method"], result["alpha"]) == ("alphashape", 1 / ours["radius"])
    assert {key for key in result if key not in ours} == {"alpha"}
    # No triangle hangs by a corner, and there are no holes: the two agree.
    same = ("radius", "joins_at", "area", "union_area", "hull_area", "components", "polygon")
    assert {key: result[key] for key in same} == {key: ours[key] for key in same}
    assert mask_png.read(out).sum() == result["area"]
    explicit = run(*leg, "--method", "alphashape", "--alpha", result["alpha"], "--json")
    assert json.loads(explicit[1]) == result
    by_radius = run(*leg, "--method", "alphashape", "--radius", result["radius"], "--json")
    assert json.loads(by_radius[1]) == result


def test_a_small_alpha_is_the_hull_and_a_large_one_leaves_the_pieces_apart(run, leg):
    hull = json.loads(run(*leg, "--method", "alphashape", "--alpha", 1e-6, "--json")[1])
    status, out_text, warned = run(*leg, "--method", "alphashape", "--alpha", 5, "--json")

    apart = json.loads(out_text)
    assert (hull["radius"], hull["area"]) == (1e6, hull["hull_area"])
    assert (status, apart["alpha"], apart["radius"], apart["components"]) == (0, 5, 0.2, 2)
    assert apart["area"] == apart["union_area"]
    assert "not joined" in warned


@for_each(
    ("options", "message"),
    [
        (("--alpha", 1), "requires --method alphashape"),
        (("--alpha", 1, "--radius", 1, "--method", "alphashape"), "not both"),
        (("--alpha=-1", "--method", "alphashape"), "above 0"),
        (("--method", "hull"), "invalid choice"),
    ],
)
def test_an_alpha_that_means_nothing_is_wrong_usage(run, leg, options, message):
    status, printed, warned = run(*leg, *options)

    assert (status, printed) == (2, "")
    assert message in warned


def test_pieces_that_are_too_ragged_for_the_package_are_refused(refusal, leg, monkeypatch):
    monkeypatch.setattr(alpha_shapes, "MAX_PACKAGE_CORNERS", 20)

    assert "Use the method radius" in refusal(*leg, "--method", "alphashape")["error"]


def test_holes_are_kept(run, tmp_path):
    path = tmp_path / "wheel.png"
    Image.fromarray(rectangle(5, 5, 25, 25) - rectangle(10, 10, 20, 20)).save(path)

    kept = json.loads(run(path, "--json")[1])

    assert len(kept["polygon"]["coordinates"]) == 2
    assert kept["union_area"] == 300


def test_without_json_a_table_is_printed(run, leg):
    status, out_text, warned = run(*leg)

    assert (status, warned) == (0, "")
    assert ["union", "area", "154"] in [line.split() for line in out_text.splitlines()]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (Image.new("L", (40, 30)).save, "empty"),
        (Image.new("L", (41, 30), 255).save, "is 41 × 30 pixels, "),
        (Path.touch, "is not a PNG"),
        (lambda path: None, "no such file"),
    ],
)
def test_what_is_no_mask_of_the_others_size_is_named(refusal, leg, tmp_path, write, message):
    path = tmp_path / "other.png"
    write(path)

    error = refusal(leg[0], path)

    assert (error["file"], message in error["error"]) == (str(path), True)


def test_masks_with_too_long_a_border_are_refused(refusal, leg, monkeypatch):
    monkeypatch.setattr(alpha_shapes, "MAX_CORNERS", 20)

    assert "can be merged" in refusal(*leg)["error"]


def test_the_limit_of_the_site_holds(refusal, leg, settings):
    settings.ASSAY_MAX_IMAGE_PIXELS = 100

    assert "more than 100 pixels" in refusal(*leg)["error"]


@for_each("radius", ["0", "-1", "nan", "inf", "wide"])
def test_a_radius_that_is_none_is_wrong_usage(run, leg, radius):
    status, out_text, warned = run(*leg, f"--radius={radius}")

    assert (status, out_text) == (2, "")
    assert "above 0" in warned


def test_no_mask_is_wrong_usage(run):
    assert run("--json")[0] == 2


def test_an_output_that_cannot_be_written_is_named_and_nothing_is_left(refusal, leg, tmp_path):
    error = refusal(*leg, "--out", tmp_path / "no" / "leg.png")

    assert error["file"] == str(tmp_path / "no" / "leg.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lower.png", "upper.png"]


def test_the_radius_printed_is_exact(run, tmp_path):
    path = tmp_path / "two.png"
    Image.fromarray(rectangle(0, 0, 1, 1) + rectangle(4, 0, 5, 1)).save(path)

    assert json.loads(run(path, "--json")[1])["radius"] == math.sqrt(10) / 2
