"""Part orders of a release: where people look, at random, from files, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics.frames import part_order
from evaluation.readers.fixations import Gazes
from evaluation.sequences.part_orders import (
    as_text,
    numbers_of,
    orders_by_fixations,
    random_orders,
    read_orders,
)
from labeling.files import BadInput
from labeling.geometry.regions import mask_of
from tests.evaluation.cds import scenes
from tests.evaluation.cds.scenes import CAT, COW, HEIGHT, WIDTH

PARTS = scenes.VOCABULARY
WHOLE = (0, 0, WIDTH, HEIGHT)
OUTLINE = scenes.ellipse(40, 30, 30, 25)
# (row, column): on the head, on the leg and the torso, on nothing.
HEAD, LEG, NOTHING = (22, 25), (50, 38), (2, 80)


def gazes(*people, size=(HEIGHT, WIDTH)):
    return Gazes(tuple(np.array(person) for person in people), size)


@pytest.fixture
def frozen(tmp_path):
    parted_objects = {name: [scenes.cat(name)] for name in ("1.jpg", "2.png", "elsewhere.png")}
    parted_objects["1.jpg"].append(scenes.cat("1.jpg", "cat-2", outline=OUTLINE))
    return scenes.release(tmp_path / "release", parted_objects)


def test_orders_are_those_of_the_masks_of_each_object(frozen):
    looked = [gazes([NOTHING, HEAD, LEG]), gazes([HEAD, HEAD, LEG], [LEG])]

    ordered = orders_by_fixations(frozen, looked, {"1.jpg": 0, "2.png": 1}, drop_first=True)

    seen = []
    drawn = [part for part in scenes.cat("").parts if part.polygons]
    masks = {part.key: mask_of(part.polygons, WHOLE) for part in drawn}
    union, outline = np.logical_or.reduce(list(masks.values())), mask_of(OUTLINE, WHOLE)
    for number, mask in ((0, union), (0, outline), (1, union)):
        seen.append(part_order.SeenObject(masks, mask.sum(), looked[number].people))
    expected = part_order.orders_by_fixations(seen, PARTS[CAT], drop_first=True)
    for scheme in part_order.FIXATION_SCHEMES:
        assert ordered.orders[scheme] == {CAT: expected[scheme].parts}
        assert ordered.shares[scheme] == {CAT: expected[scheme].shares}
    assert ordered.settings == {
        "images": 2,
        "objects": {CAT: 3},
        "drop_first": True,
        "areas": {"outline": 1, "parts": 2},
    }


def test_a_category_without_fixations_is_named_or_ordered_at_random(tmp_path):
    frozen = scenes.release(
        tmp_path / "release", {"1.jpg": [scenes.cat("1.jpg")], "2.jpg": [scenes.cow("2.jpg")]}
    )
    looked = [gazes([HEAD]), gazes([NOTHING])]
    numbers = {"1.jpg": 0, "2.jpg": 1}

    with pytest.raises(BadInput, match=f"no fixation lies on a part of {COW}"):
        orders_by_fixations(frozen, looked, numbers)
    ordered = orders_by_fixations(frozen, looked, numbers, fallback="random", seed=5)

    assert ordered.orders["E_AS"][COW] == random_orders(PARTS, 5)["random"][COW]
    assert COW not in ordered.shares["E_AS"]
    assert ordered.settings["random_for_lack_of_fixations"] == [COW]
    assert ordered.orders["E_U"][CAT][0] == "head"


def test_fixations_for_another_size_are_refused(frozen):
    with pytest.raises(BadInput, match=r"1\.jpg has 90 × 64 pixels, image 3 of the .* 9 × 9"):
        orders_by_fixations(frozen, [None, None, gazes([HEAD], size=(9, 9))], {"1.jpg": 2})


def test_fixations_outside_the_image_are_refused_by_name(frozen):
    with pytest.raises(BadInput, match=r"cat-1 in 1\.jpg is at row 64"):
        orders_by_fixations(frozen, [gazes([(64, 0)], size=None)], {"1.jpg": 0})


def test_images_are_numbered_by_their_names_or_by_a_list(frozen, tmp_path):
    names_file = tmp_path / "images.txt"
    names_file.write_text("\nelsewhere.png\n1.jpg\n")

    assert numbers_of(frozen, 850) == {"1.jpg": 0, "2.png": 1}
    assert numbers_of(frozen, 1) == {"1.jpg": 0}
    assert numbers_of(frozen, 3, names_file) == {"elsewhere.png": 1, "1.jpg": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.jpg\nnone.png\n", "line 2: none.png is not in the release"),
        ("1.jpg\n\n1.jpg\n", "line 3: 1.jpg stands here twice"),
        ("\n\n\n1.jpg\n", "line 4: there are 3 images with fixations"),
        ("\n\n", "none of the release's images has fixations"),
    ],
)
def test_a_list_of_images_that_does_not_fit_is_refused(frozen, tmp_path, text, message):
    names_file = tmp_path / "images.txt"
    names_file.write_text(text)

    with pytest.raises(BadInput) as refused:
        numbers_of(frozen, 3, names_file)

    assert message in str(refused.value)


def test_a_list_of_images_that_is_no_text_is_refused_by_its_line(frozen, tmp_path):
    names_file = tmp_path / "images.txt"
    names_file.write_bytes(b"1.jpg\n\xff\n")

    with pytest.raises(BadInput, match="line 2: is not UTF-8"):
        numbers_of(frozen, 3, names_file)


def test_random_orders_follow_the_seed_alone():
    first = random_orders(PARTS, 1)

    assert first == random_orders({key: parts[::-1] for key, parts in PARTS.items()}, 1)
    assert {category: sorted(order) for category, order in first["random"].items()} == {
        category: sorted(parts) for category, parts in PARTS.items()
    }
    assert any(random_orders(PARTS, seed) != first for seed in range(2, 6))


def test_a_file_of_orders_comes_back(tmp_path):
    path = tmp_path / "orders.json"
    orders = {"mine": {CAT: ("tail", "leg", "torso", "head")}, "random": random_orders(PARTS, 1)}
    orders["random"] = orders["random"]["random"]

    path.write_text(as_text(PARTS, orders, {"mine": {}}, {"seed": 1}))

    assert read_orders(path, PARTS) == orders
    assert read_orders(path, {COW: PARTS[COW]}) == {
        "mine": {},
        "random": {COW: orders["random"][COW]},
    }


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["head", "torso", "leg"], "leaves parts out: tail"),
        (["head", "torso", "leg", "tail", "wing"], "does not have: wing"),
        (["head", "head", "torso", "leg", "tail"], "names head twice"),
        (["head", 3], "is not a list of parts"),
        ("head", "is not a list of parts"),
    ],
)
def test_an_order_that_does_not_fit_is_named_by_scheme_and_category(tmp_path, order, message):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps({"orders": {"mine": {CAT: order}}}))

    with pytest.raises(BadInput) as refused:
        read_orders(path, PARTS)

    assert f"the part scheme mine, category {CAT}: " in str(refused.value)
    assert message in str(refused.value)
    assert refused.value.file == str(path)


def test_another_form_of_orders_is_refused(tmp_path):
    for text in [
        "{",
        "[]",
        "{}",
        '{"orders": []}',
        '{"orders": {"a/b": {}}}',
        '{"orders": {"a": 3}}',
    ]:
        path = tmp_path / "orders.json"
        path.write_text(text)

        with pytest.raises(BadInput) as refused:
            read_orders(path, PARTS)

        assert refused.value.cure, text


def test_an_outline_of_no_pixel_counts_for_nothing(tmp_path):
    thin = replace(scenes.cat("1.jpg"), outline=scenes.ellipse(40, 30, 0.1, 0.1))
    frozen = scenes.release(tmp_path / "release", {"1.jpg": [thin, scenes.cat("1.jpg", "cat-2")]})

    ordered = orders_by_fixations(frozen, [gazes([HEAD])], {"1.jpg": 0})

    assert ordered.settings["objects"] == {CAT: 1}
