"""Objects of images with their given parts: put, read back, put again."""

from dataclasses import replace

import pytest
from django.utils import timezone

from labeling.datasets import objects
from labeling.errors import Refusal
from labeling.models import GivenLabel, Item
from labeling.parts.model import Merge, Part, PartedObject
from tests import factories
from tests.cases import for_each

CAT, DOG = "n02121620", "n02084071"
WORDS = {CAT: "cat", DOG: "dog"}


def square(x: float, y: float, side: float = 4.0):
    return ((((x, y), (x + side, y), (x + side, y + side), (x, y + side)),),)


LEG = Merge(
    pieces=(square(10, 20), square(10, 25)), radius=3.5, cap=20.0, instance="left", names=("ul",)
)
HEAD = Part("head", square(10, 10), names=("head",))
PARTS = (
    HEAD,
    Part("tail", state="not_visible"),
    Part("leg", square(10, 20, 9), merges=(LEG,), radius=3.5, pieces=LEG.pieces),
)
TABBY = PartedObject("0.png", CAT, (8, 8, 40, 40), PARTS, outline=square(8, 8, 32))


@pytest.fixture
def pond(dataset):
    for number in range(3):
        factories.make_image(dataset, f"{number}.png", number)
    return dataset


def put(dataset, *parted, **more):
    return objects.put(dataset, parted, "zoo", words=WORDS, **more)


def the(dataset, **fields) -> PartedObject:
    return objects.describe(objects.in_dataset(dataset).filter(**fields))[
        objects.in_dataset(dataset).get(**fields).pk
    ]


def rows():
    items = Item.objects.order_by("pk").values_list("pk", "region", "name")
    labels = GivenLabel.objects.order_by("pk")
    return list(items), list(labels.values("pk", "key", "value", "geometry", "created_at"))


def test_an_object_comes_back_as_it_was_put(pond):
    assert put(pond, TABBY) == {"objects": 1, "parts": 3, "new": 1, "changed": 5}

    parted = the(pond)
    assert parted == replace(TABBY, name="cat-1", source="zoo", crop=(5, 5, 43, 43))
    assert parted.parts[2].merges == (LEG,)
    assert parted.parts[0].names == ("head",)
    assert parted.size == (64, 48)


def test_an_object_is_derived_from_its_whole_image(pond):
    put(pond, TABBY)

    item = objects.in_dataset(pond).get()
    assert item.derived_from == Item.objects.get(image=item.image, region__isnull=True)
    assert objects.category_of(item) == CAT
    assert objects.category_of(item.derived_from) == ""


def test_putting_twice_changes_nothing(pond):
    put(pond, TABBY, replace(TABBY, category=DOG))
    before = rows()

    again = put(pond, TABBY, replace(TABBY, category=DOG))

    assert again == {"objects": 2, "parts": 6, "new": 0, "changed": 0}
    assert rows() == before


def test_objects_without_a_name_are_numbered_by_image_and_category(pond):
    put(pond, TABBY, replace(TABBY, box=(0, 0, 9, 9)), replace(TABBY, category=DOG))
    put(pond, replace(TABBY, image="1.png"), replace(TABBY, box=(1, 1, 9, 9)))

    rows = objects.in_dataset(pond).values_list("image__name", "name")
    assert sorted(rows) == [
        ("0.png", "cat-1"),
        ("0.png", "cat-2"),
        ("0.png", "cat-3"),
        ("0.png", "dog-1"),
        ("1.png", "cat-1"),
    ]


def test_what_a_source_said_before_is_replaced(pond):
    put(pond, replace(TABBY, name="tom"))

    put(pond, replace(TABBY, name="tom", box=(8, 8, 30, 30), outline=None, parts=(HEAD,)))

    parted = the(pond)
    assert parted.box == (8, 8, 30, 30)
    assert parted.outline is None
    assert [part.key for part in parted.parts] == ["head"]


def test_of_two_sources_the_latest_stands(pond):
    put(pond, replace(TABBY, name="tom"))
    later = Part("head", square(11, 11))

    objects.put(pond, [replace(TABBY, name="tom", parts=(later,), outline=None)], "farm")

    parts = {part.key: part for part in the(pond).parts}
    assert parts["head"].polygons == later.polygons
    assert set(parts) == {"head", "tail", "leg"}


def test_a_radius_that_a_person_chose_stays_while_its_pieces_do(pond):
    put(pond, TABBY)
    label = GivenLabel.objects.get(key="leg")
    label.geometry["merges"][0] |= {"radius": 9.0, "chosen": True}
    label.geometry["polygons"] = [[[[0, 0], [50, 0], [50, 40]]]]
    label.save()

    assert put(pond, TABBY)["changed"] == 0
    assert GivenLabel.objects.get(key="leg").geometry["merges"][0]["radius"] == 9.0

    merge = Merge((square(10, 20), square(10, 26)), 3.5, instance="left")
    assert put(pond, replace(TABBY, parts=(HEAD, replace(PARTS[2], merges=(merge,)))))["changed"]
    assert GivenLabel.objects.get(key="leg").geometry["merges"][0]["radius"] == 3.5


@for_each(
    ("fault", "words"),
    [
        ({"image": "9.png"}, "line 3: 9.png: The image is not in pond. Add the image"),
        ({"size": (48, 64)}, "It is drawn on 48 x 64 pixels, but the image has 64 x 48"),
        ({"box": (0, 0, 66, 9)}, "The box 0,0,66,9 is not inside the image of 64 x 48"),
        ({"box": (9, 0, 9, 9)}, "The box 9,0,9,9 is not inside the image"),
        ({"box": (float("nan"), 0, 9, 9)}, "The box nan,0,9,9 is not inside the image"),
        ({"name": "n" * 81}, "has 81 characters"),
        ({"category": ""}, "'' cannot be the key"),
        ({"parts": (Part("object"),)}, "'object' cannot be the key"),
        ({"parts": (HEAD, HEAD)}, "The part 'head' occurs twice"),
        (
            {"parts": (Part("head", square(61, 10)),)},
            "The head extends beyond the image of 64 x 48",
        ),
        ({"outline": square(-1, 0)}, "The outline extends beyond the image"),
        ({"name": "tom", "category": DOG}, "'tom' already exists with the category cat, not dog"),
        ({"name": "tim"}, "Two objects of the image are named 'tim'. Rename or remove one"),
        ({"box": (1, 1, 5, 5)}, "two objects of this category with the same box"),
    ],
)
def test_a_fault_refuses_all_and_says_where(pond, fault, words):
    put(pond, replace(TABBY, name="tom"))
    good = replace(TABBY, name="tim")
    unnamed = replace(TABBY, box=(1, 1, 5, 5))
    before = rows()

    with pytest.raises(Refusal, match=words):
        put(pond, good, unnamed, replace(TABBY, entry="line 3", **fault))

    assert rows() == before


def test_where_faults_are_told_the_other_objects_are_put(pond):
    faults = []
    bad = replace(TABBY, image="9.png")

    result = put(pond, bad, TABBY, on_fault=lambda parted, why: faults.append((parted, str(why))))

    assert result["objects"] == 1
    assert faults == [(bad, "The image is not in pond. Add the image first, or remove "
                          "the object.")]  # fmt: skip


def test_queries_grow_neither_with_objects_nor_with_parts(pond, django_assert_max_num_queries):
    many = [replace(TABBY, box=(0, 0, n, n)) for n in range(5, 45)]
    with django_assert_max_num_queries(10):
        put(pond, *many)
    with django_assert_max_num_queries(3):
        assert len(objects.describe(objects.in_dataset(pond))) == 40


def test_pieces_without_merges_are_kept_as_one_merge(pond):
    part = Part("leg", square(10, 20, 9), radius=2.0, pieces=LEG.pieces)

    put(pond, replace(TABBY, parts=(part,)))

    (merge,) = the(pond).parts[0].merges
    assert (merge.pieces, merge.radius, merge.chosen) == (LEG.pieces, 2.0, True)


def test_a_label_of_the_whole_image_is_no_objects_affair(pond):
    put(pond, TABBY)
    whole = Item.objects.get(image__name="0.png", region__isnull=True)
    GivenLabel.objects.create(item=whole, key=DOG, created_at=timezone.now())

    assert len(objects.describe(objects.in_dataset(pond))) == 1
