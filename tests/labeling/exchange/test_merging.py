"""Another radius for a merge: seen first, kept, taken back; the raw pieces always stay."""

import math
from dataclasses import replace

import pytest

from labeling.datasets import objects
from labeling.errors import NotAllowed, NotYours, Refusal
from labeling.exchange import merging
from labeling.geometry import regions
from labeling.models import GivenLabel
from labeling.parts import simplifying
from labeling.parts.model import Part
from tests.cases import for_each
from tests.labeling import part_files as files
from tests.labeling.part_files import brought, cow, sent

LEFT = "left front"


@pytest.fixture
def meadow(alice, run_jobs):
    dataset = files.meadow(alice)
    brought(dataset, run_jobs, sent(cow()))
    return dataset


@pytest.fixture
def item(meadow):
    return objects.in_dataset(meadow).get()


def leg(item):
    item = type(item).objects.get(pk=item.pk)
    return next(part for part in objects.describe([item])[item.pk].parts if part.key == "leg")


def test_what_is_shown_has_its_areas_between_union_and_hull(item):
    preview = merging.preview(leg(item).merges[0])

    assert preview.union_area == 10 * 20 + 8 * 17
    assert preview.union_area < preview.area <= preview.hull_area
    assert preview.polygons == leg(item).polygons
    assert preview.merge.radius == preview.joins_at
    assert regions.area(preview.hull) == preview.hull_area or len(preview.hull[0][0]) > 4


def test_a_chosen_radius_is_kept_with_the_raw_pieces(item, alice):
    before = leg(item)

    part, merge = merging.choose(item, "leg", LEFT, 50.0, alice)

    kept = leg(item)
    assert kept == replace(part, name="")
    assert (merge.radius, merge.chosen, merge.pieces) == (50.0, True, before.merges[0].pieces)
    assert regions.area(kept.polygons) > regions.area(before.polygons)
    assert simplifying.merged(kept.merges[0])[1] == kept.polygons


def test_back_to_the_automatic_radius_gives_the_very_same_label(item, alice):
    before = GivenLabel.objects.get(key="leg").geometry
    merging.choose(item, "leg", LEFT, 50.0, alice)

    merging.choose(item, "leg", LEFT, None, alice)

    assert GivenLabel.objects.get(key="leg").geometry == before


def test_the_same_radius_again_gives_the_same_bytes(item, alice):
    merging.choose(item, "leg", LEFT, 7.25, alice)
    first = GivenLabel.objects.get(key="leg").geometry

    merging.choose(item, "leg", LEFT, 7.25, alice)

    assert GivenLabel.objects.get(key="leg").geometry == first


def test_the_package_is_a_second_opinion_that_is_kept_and_taken_back(item, alice):
    before = GivenLabel.objects.get(key="leg").geometry
    ours, _ = merging.choose(item, "leg", LEFT, 50.0, alice)

    part, merge = merging.choose(item, "leg", LEFT, 50.0, alice, "alphashape")

    assert (merge.method, merge.radius, merge.chosen) == ("alphashape", 50.0, True)
    assert leg(item).merges[0] == merge
    assert simplifying.merged(merge)[1] == leg(item).polygons == part.polygons
    assert regions.iou(part.polygons, ours.polygons) > 0.99
    merging.choose(item, "leg", LEFT, None, alice)
    assert GivenLabel.objects.get(key="leg").geometry == before


@for_each(
    ("radius", "method", "message"),
    [(50.0, "hull", "use radius or alphashape"), (None, "alphashape", "needs a radius")],
)
def test_a_method_that_means_nothing_is_refused(item, alice, radius, method, message):
    before = GivenLabel.objects.get(key="leg").geometry

    with pytest.raises(Refusal, match=message):
        merging.choose(item, "leg", LEFT, radius, alice, method)

    assert GivenLabel.objects.get(key="leg").geometry == before


def test_too_small_a_radius_leaves_the_pieces_apart_and_says_so(item, alice):
    part, merge = merging.choose(item, "leg", LEFT, 0.8, alice)

    assert merge.apart
    assert len(part.polygons) == 2


def test_one_leg_changes_and_the_other_stays(alice, run_jobs):
    dataset = files.meadow(alice)
    second_leg = [
        Part(part.key.replace("lf", "rf"), regions.moved(part.polygons, 20, 0))
        for part in cow().parts[1:]
    ]
    both = (*cow().parts, *second_leg)
    brought(dataset, run_jobs, sent(cow(parts=both)))
    item = objects.in_dataset(dataset).get()
    before = leg(item)

    part, _ = merging.choose(item, "leg", "right front", 0.8, alice)

    assert [merge.chosen for merge in part.merges] == [False, True]
    assert part.merges[0] == before.merges[0]
    assert before.polygons[0] in part.polygons
    assert len(part.polygons) == 3


def test_a_second_import_leaves_the_chosen_radius(meadow, item, alice, run_jobs):
    merging.choose(item, "leg", LEFT, 50.0, alice)
    kept = GivenLabel.objects.get(key="leg").geometry

    brought(meadow, run_jobs, sent(cow()))

    assert GivenLabel.objects.get(key="leg").geometry == kept


@for_each("radius", [0, -3, 0.5, 1e9, math.nan, math.inf])
def test_a_radius_that_means_nothing_is_refused_and_nothing_changed(item, alice, radius):
    before = GivenLabel.objects.get(key="leg").geometry

    with pytest.raises(Refusal, match=r"The radius is .*; give 0.71 to 1,000,000 pixels"):
        merging.choose(item, "leg", LEFT, radius, alice)

    assert GivenLabel.objects.get(key="leg").geometry == before


@for_each(("key", "instance"), [("leg", "right"), ("head", ""), ("wing", "")])
def test_a_merge_that_is_not_there_is_not_found(item, alice, key, instance):
    with pytest.raises(NotYours):
        merging.choose(item, key, instance, 5.0, alice)


def test_only_the_owner_chooses(item, bob):
    with pytest.raises(NotAllowed):
        merging.choose(item, "leg", LEFT, 5.0, bob)
