"""Assignment of images to parts: quotas of classes, groups, and splits that are extended."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.splits.assigning import LabeledImage, assign
from evaluation.splits.rules import parse


def images_of(*classes: str, first: int = 0) -> list[LabeledImage]:
    """Images with one class each."""
    return [LabeledImage(f"{n:04}.jpg", frozenset((c,))) for n, c in enumerate(classes, first)]


def counts_of(images, split):
    """(part, class) → number of images."""
    return Counter(
        (split.part_of[image.name], name)
        for image in images
        if image.name in split.part_of
        for name in image.classes
    )


CLASSES = st.lists(st.sampled_from("aaaabbcd"), min_size=1, max_size=60)
SHARES = st.sampled_from(["33/67", "10/90", "50/50", "80/10/10", "1/2"])


@given(CLASSES, SHARES, st.integers(0, 3))
def test_each_part_has_its_share_of_each_class_rounded_up_or_down(classes, text, seed):
    images, rule = images_of(*classes), parse(text)

    split = assign(images, rule, seed)

    counts, totals, whole = counts_of(images, split), Counter(classes), sum(rule.numbers)
    assert len(split.part_of) == len(images)
    for part, share in enumerate(rule.numbers):
        for name, total in totals.items():
            exact = share * total / whole
            assert math.floor(exact) <= counts[part, name] <= math.ceil(exact)


def test_rare_classes_do_not_all_go_to_the_larger_part():
    images = images_of(*(f"class {n}" for n in range(300)))

    split = assign(images, parse("33/67"), 0)

    assert Counter(split.part_of.values()) == {0: 99, 1: 201}


def test_images_without_a_class_are_split_too():
    split = assign([LabeledImage(f"{n}.jpg") for n in range(9)], parse("33/67"), 0)

    assert Counter(split.part_of.values()) == {0: 3, 1: 6}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 8)), min_size=1, max_size=40))
def test_images_with_a_tie_in_common_go_to_one_part(rows):
    images = [
        LabeledImage(f"{n:03}.jpg", frozenset((name,)), (f"source {source}", f"near {source // 3}"))
        for n, (name, source) in enumerate(rows)
    ]

    split = assign(images, parse("50/50"), 0)

    parts = {(image.ties[1], split.part_of[image.name]) for image in images}
    assert len(parts) == len({tie for tie, _ in parts})
    sizes = Counter(image.ties[1] for image in images)
    assert split.together == sum(size > 1 for size in sizes.values())


@given(CLASSES, CLASSES, st.sampled_from(["33/67", "class:50/50", "per-class:2", "wsol:1,2"]))
def test_extending_a_split_moves_no_image(before, after, text):
    rule, images = parse(text), images_of(*before)
    earlier = assign(images, rule, 7)
    more = images + images_of(*after, first=100)

    split = assign(more, rule, 7, earlier)

    assert split.part_of.items() >= earlier.part_of.items()
    assert split.class_parts.items() >= earlier.class_parts.items()
    assert len(split.part_of) == len(more)


def test_an_extended_split_keeps_its_shares_over_all_images():
    images = images_of(*"ab" * 50)
    earlier = assign(images, parse("20/80"), 0)
    more = images + images_of(*"abb" * 50, first=500)

    split = assign(more, parse("20/80"), 0, earlier)

    counts = counts_of(more, split)
    assert (counts[0, "a"], counts[0, "b"]) == (20, 30)


def test_a_new_image_joins_its_group_in_the_earlier_part():
    images = [LabeledImage(f"{n}.jpg", frozenset("a"), (f"near {n}",)) for n in range(6)]
    earlier = assign(images, parse("50/50"), 0)
    bridge = LabeledImage("new.jpg", frozenset("a"), tuple(f"near {n}" for n in range(6)))

    split = assign([*images, bridge], parse("50/50"), 0, earlier)

    assert split.part_of["new.jpg"] == earlier.part_of["0.jpg"]
    assert split.bridges == 1


@given(CLASSES, st.integers(1, 4))
def test_images_per_class_are_exact_where_there_are_enough(classes, number):
    images = images_of(*classes)

    counts = counts_of(images, assign(images, parse(f"per-class:{number}"), 0))

    for name, total in Counter(classes).items():
        assert counts[0, name] == min(number, total)


@given(CLASSES)
def test_wsol_fills_test_then_fullsup_and_leaves_the_rest(classes):
    images, rule = images_of(*classes), parse("wsol:2,3")

    counts = counts_of(images, assign(images, rule, 0))

    assert rule.names == ("train-fullsup", "test", "train-weaksup")
    for name, total in Counter(classes).items():
        assert counts[1, name] == min(3, total)
        assert counts[0, name] == min(2, max(0, total - 3))


def test_no_class_gets_more_images_than_asked_by_images_of_several_classes():
    images = [LabeledImage(f"{n}.jpg", frozenset("ab")) for n in range(9)] + images_of(*"aaabbb")

    counts = counts_of(images, assign(images, parse("per-class:3"), 0))

    assert (counts[0, "a"], counts[0, "b"]) == (3, 3)


def test_classes_are_split_and_images_of_both_sides_are_left_out():
    images = [*images_of(*("abcdefghij" * 3)), LabeledImage("both.jpg", frozenset("abcdefghij"))]

    split = assign(images, parse("class:80/20"), 0)

    assert Counter(split.class_parts.values()) == {0: 8, 1: 2}
    assert split.left_out == ["both.jpg"]
    assert all(split.part_of[i.name] == split.class_parts[min(i.classes)] for i in images[:-1])


def test_the_seed_decides():
    images, rule = images_of(*"ab" * 30), parse("50/50")

    first, again, second = (assign(images, rule, seed).part_of for seed in (0, 0, 1))

    assert first == again
    assert first != second


@pytest.mark.parametrize(
    "text", ["", "33", "0/100", "a/b", "class:5", "per-class:0", "per-class:1/2", "wsol:1", "x:1/2"]
)
def test_a_text_that_is_no_rule_is_refused(text):
    with pytest.raises(ValueError, match="give 33/67"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [("33/67", ("a",)), ("33/67", ("a", "a")), ("33/67", ("a", "../b")), ("wsol:1,2", ("a", "b"))],
)
def test_names_that_do_not_fit_are_refused(text, names):
    with pytest.raises(ValueError, match=r"names|part"):
        parse(text, names)
