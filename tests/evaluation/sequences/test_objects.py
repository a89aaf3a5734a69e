"""Objects of a release as sequences show them."""

import numpy as np
import pytest

from evaluation.sequences.objects import LeftOutObjects, drawn_objects, parts_of
from labeling.files import BadInput
from labeling.geometry.regions import mask_of
from labeling.parts.model import Part
from labeling.release_files import frozen as release_files
from tests.evaluation.cds import scenes
from tests.evaluation.cds.scenes import CAT, COW


def things_of(tmp_path, *parted_objects, vocabulary=scenes.VOCABULARY, left_out=None):
    frozen = scenes.release(tmp_path / "release", {"a.png": parted_objects}, vocabulary)
    return [
        drawn_object
        for _, image_objects in drawn_objects(frozen, left_out)
        for drawn_object in image_objects
    ]


def test_only_parts_that_are_drawn_are_shown(tmp_path):
    parts = (
        Part("head", scenes.ellipse(30, 30, 5, 5), origin="explicit"),
        Part("torso", scenes.ellipse(30, 30, 9, 9), origin="given"),
        Part("tail", state="occluded"),
        Part("leg", ()),
    )

    [drawn_object] = things_of(tmp_path, scenes.cat("a.png", parts=parts))

    assert list(drawn_object.parts) == ["head", "torso"]


def test_objects_without_parts_are_left_out_and_told(tmp_path):
    left_out = LeftOutObjects()
    parted_objects = [scenes.cow("a.png", f"cow-{n}", parts=()) for n in range(7)]

    drawn = things_of(tmp_path, *parted_objects, scenes.cat("a.png"), left_out=left_out)

    assert [drawn_object.thing.name for drawn_object in drawn] == ["cat-1"]
    assert left_out.count == 7
    assert left_out.first == [f"a.png/cow-{n}" for n in range(5)]


def test_the_tight_crop_is_for_intra_object_and_the_widened_one_for_the_others(tmp_path):
    [drawn_object, made] = things_of(
        tmp_path, scenes.cat("a.png", crop=(3.0, 2.0, 80.0, 60.0)), scenes.cat("a.png", "cat-2")
    )

    assert drawn_object.crop("intra-object") == made.crop("intra-object") == (15, 12, 64, 54)
    assert drawn_object.crop("low") == (3, 2, 80, 60)
    assert made.crop("higher") == (11, 8, 69, 58)


def test_masks_are_those_of_the_polygons_in_the_crop(tmp_path):
    [drawn_object] = things_of(tmp_path, scenes.cat("a.png"))
    head = scenes.cat("a.png").parts[0].polygons

    whole = drawn_object.whole_mask(head)
    assert np.array_equal(whole, mask_of(head, (0, 0, scenes.WIDTH, scenes.HEIGHT)))
    assert np.array_equal(drawn_object.masks((15, 12, 64, 54))["head"], whole[12:54, 15:64])


def test_a_part_that_the_category_lacks_is_named_with_its_object(tmp_path):
    odd = scenes.cow("a.png", parts=(Part("wing", scenes.ellipse(20, 20, 5, 5)),))

    with pytest.raises(BadInput, match=rf"cow-1 in a\.png has the part wing, .*{COW}.*\(head, ho"):
        things_of(tmp_path, odd)


def test_a_category_that_the_vocabulary_lacks_has_no_parts(tmp_path):
    with pytest.raises(BadInput, match="it has none"):
        things_of(tmp_path, scenes.cat("a.png"), vocabulary={CAT: (), COW: ("head",)})


def test_a_box_outside_the_image_is_named(tmp_path):
    [drawn_object] = things_of(tmp_path, scenes.cat("a.png", box=(200, 10, 220, 20)))

    with pytest.raises(BadInput, match=r"the box of cat-1 in a\.png lies outside"):
        drawn_object.crop("intra-object")


def test_a_release_of_another_kind_is_refused(tmp_path):
    frozen = scenes.release(tmp_path / "release", {})
    files = {"images.jsonl": frozen.meta["files"]["images.jsonl"]}

    with pytest.raises(BadInput, match="no objects with parts"):
        parts_of(release_files.Frozen(frozen.folder, frozen.meta | {"files": files}))
