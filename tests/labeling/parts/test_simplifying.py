"""Objects of others as the vocabulary has them: renamed, left and right dropped, pieces merged."""

from dataclasses import replace

import pytest

from labeling.errors import Refusal
from labeling.geometry import regions
from labeling.geometry.polygons import to_shapely
from labeling.parts import simplifying
from labeling.parts.model import REST_OBJECT, Merge, Part, PartedObject
from labeling.vocabulary import reading

COW = reading.shipped().category("cow")
PERSON = reading.shipped().category("person")


def box(x0: float, y0: float, x1: float, y1: float):
    return ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)


def cow(*parts: Part, **fields) -> PartedObject:
    return PartedObject("a.jpg", "cow", (0, 0, 300, 400), parts, **fields)


def simple(parted: PartedObject, category=COW, **more) -> simplifying.Simplified:
    return simplifying.simplified(parted, category, **more)


UPPER, LOWER = box(10, 100, 30, 150), box(12, 152, 28, 200)
LEGS = (Part("LFULEG", UPPER), Part("lflleg", LOWER), Part("rbuleg", box(100, 100, 120, 150)))


def test_a_category_and_its_parts_get_the_vocabularys_names():
    parted = simple(cow(Part("HEAD", box(0, 0, 9, 9)))).parted

    assert parted.category == COW.key
    assert parted.parts == (Part("head", box(0, 0, 9, 9), name="head"),)
    assert parted.parts[0].names == ("HEAD",)


def test_the_pieces_of_one_leg_become_one_contour_and_stay():
    (leg,) = simple(cow(*LEGS[:2])).parted.parts

    (merge,) = leg.merges
    assert len(leg.polygons) == 1
    assert (merge.pieces, merge.instance, merge.names) == (
        (UPPER, LOWER),
        "left front",
        ("LFULEG", "lflleg"),
    )
    assert merge.radius > 0
    assert not merge.apart
    shape = to_shapely(leg.polygons)
    assert shape.covers(to_shapely(UPPER))
    assert shape.covers(to_shapely(LOWER))
    assert shape.within(to_shapely(regions.union([UPPER, LOWER])).convex_hull)


def test_the_other_legs_stay_apart_from_it():
    (leg,) = simple(cow(*LEGS)).parted.parts

    assert [merge.instance for merge in leg.merges] == ["left front", "right back"]
    assert [merge.radius is None for merge in leg.merges] == [False, True]
    assert len(leg.polygons) == 2
    assert leg.radius == leg.merges[0].radius
    assert leg.pieces == tuple(part.polygons for part in LEGS)


def test_merging_again_from_the_raw_pieces_gives_the_same_bytes():
    (leg,) = simple(cow(*LEGS)).parted.parts

    shapes = [simplifying.merged(merge)[1] for merge in leg.merges]

    assert regions.union(shapes) == leg.polygons
    for merge, shape in zip(leg.merges, shapes, strict=True):
        chosen = replace(merge, chosen=merge.radius is not None)
        assert simplifying.merged(chosen)[1] == shape


def test_pieces_further_apart_than_the_cap_are_only_united():
    far = (Part("lfuleg", UPPER), Part("lflleg", box(10, 300, 30, 320)))

    near_enough = simple(cow(*far), cap=None)
    too_far = simple(cow(*far), cap=0.1)

    assert near_enough.apart() == []
    assert len(near_enough.parted.parts[0].polygons) == 1
    assert too_far.apart() == [("leg", "left front")]
    (leg,) = too_far.parted.parts
    assert leg.polygons == regions.union([part.polygons for part in far])
    assert leg.apart
    assert leg.merges[0].cap == 50.0


def test_how_many_were_merged_is_counted_by_instance():
    assert simple(cow(*LEGS, Part("rblleg", box(100, 152, 118, 200)))).merged == 2


def test_two_eyes_are_one_part_of_two_pieces_and_nothing_is_merged():
    (eye,) = simple(cow(Part("leye", box(0, 0, 4, 4)), Part("reye", box(8, 0, 12, 4)))).parted.parts

    assert (eye.key, len(eye.polygons), eye.merges) == ("eye", 2, ())
    assert eye.names == ("leye", "reye")


def test_numbered_names_are_instances_of_one_part():
    train = reading.shipped().category("train")
    parts = [Part(f"coach_{n}", box(n * 20, 0, n * 20 + 10, 9)) for n in (1, 2, 3)]

    (coach,) = simple(cow(*parts), train).parted.parts

    assert (coach.key, len(coach.polygons)) == ("coach", 3)


def test_a_name_again_is_one_more_where_the_vocabulary_has_several():
    windows = [Part("window", box(n * 20, 0, n * 20 + 10, 9)) for n in range(3)]

    (window,) = simple(cow(*windows), reading.shipped().category("bus")).parted.parts

    assert len(window.polygons) == 3
    assert window.merges == ()


def test_a_name_again_is_refused_where_the_vocabulary_has_one():
    heads = [Part("head", box(0, 0, 9, 9)), Part("Head", box(20, 0, 29, 9))]

    with pytest.raises(Refusal, match=r"The part 'head' occurs 2 times \(head, Head\)"):
        simple(cow(*heads))


def test_names_that_mean_nothing_are_told_and_the_rest_comes_in():
    result = simple(cow(Part("head", box(0, 0, 9, 9)), Part("udder", box(9, 9, 20, 20))))

    assert result.unknown == ("udder",)
    assert [part.key for part in result.parted.parts] == ["head"]


def test_what_is_made_is_neither_taken_nor_missed():
    result = simple(cow(Part(REST_OBJECT, box(0, 0, 9, 9), origin="made")))

    assert (result.parted.parts, result.unknown) == ((), ())


def test_parts_that_nobody_sees_keep_their_state():
    parts = simple(
        cow(Part("tail", state="not_visible"), Part("horn", state="occluded"))
    ).parted.parts

    assert [(part.key, part.state) for part in parts] == [
        ("tail", "not_visible"),
        ("horn", "occluded"),
    ]


def test_one_visible_horn_makes_the_part_drawn():
    parts = (Part("lhorn", state="occluded"), Part("rhorn", box(0, 0, 9, 9)))

    (horn,) = simple(cow(*parts)).parted.parts

    assert (horn.state, horn.polygons) == ("drawn", box(0, 0, 9, 9))


def test_what_a_file_says_of_its_own_merges_stays():
    merge = Merge((UPPER, LOWER), 7.5, None, False, "left front", ("a", "b"), False, True)
    leg = Part("leg", box(10, 100, 30, 200), radius=7.5, pieces=merge.pieces, merges=(merge,))

    assert simple(cow(leg)).parted.parts == (replace(leg, name="leg"),)


@pytest.mark.parametrize(("called", "name"), [("Cow", ""), ("n02403454", ""), ("cow-2", "cow-2")])
def test_the_categorys_word_is_no_objects_own_name(called, name):
    assert simple(cow(name=called)).parted.name == name


def test_holes_stay_where_the_vocabulary_says_so():
    ring = ((((0, 0), (60, 0), (60, 30), (0, 30)), ((20, 5), (20, 25), (40, 25), (40, 5))),)
    hair = replace(PERSON.part("hair"), merge={"whole": ("hair-a", "hair-b")})
    parts = (Part("hair-a", ring), Part("hair-b", box(0, 30, 60, 40)))
    holes = {}
    for kept in (True, False):
        category = replace(PERSON, parts=(replace(hair, holes=kept),))
        (part,) = simple(cow(*parts), category).parted.parts
        holes[kept] = len(part.polygons[0]) - 1

    assert holes == {True: 1, False: 0}
