"""Part sequences: worked on paper, at the edges, and what is refused."""

import numpy as np
import pytest

from evaluation.metrics.frames.sequences import REST, PartsError, checked_order, sequence


def mask(*rows: str):
    return np.array([[letter == "x" for letter in row] for row in rows])


HEAD = mask("xx..", "....")
BODY = mask(".xx.", ".x..")


def test_parts_come_along_the_order_and_the_rest_gives_the_whole_crop_in_one_frame():
    frames = sequence(["body", "head"], {"head": HEAD, "body": BODY})

    assert frames.names == ("body", "head", REST)
    np.testing.assert_array_equal(frames.revealed(0), BODY)
    np.testing.assert_array_equal(frames.revealed(1), HEAD | BODY)
    assert frames.revealed(2).all()


def test_an_overlap_belongs_to_the_part_that_comes_first():
    first = sequence(["head", "body"], {"head": HEAD, "body": BODY})
    second = sequence(["body", "head"], {"head": HEAD, "body": BODY})

    assert first.steps[0, 1] == second.steps[0, 1] == 0
    assert first.added.tolist() == [2, 2, 4]
    assert second.added.tolist() == [3, 1, 4]


def test_a_missing_part_repeats_the_frame_before():
    frames = sequence(["head", "tail", "body"], {"head": HEAD, "body": BODY})

    assert len(frames) == 4
    assert frames.added.tolist() == [2, 0, 2, 4]
    np.testing.assert_array_equal(frames.revealed(1), frames.revealed(0))
    assert frames.present == ("head", "body")


def test_a_missing_part_that_comes_first_shows_no_part():
    frames = sequence(["tail", "head"], {"head": HEAD})

    assert not frames.revealed(0).any()
    np.testing.assert_array_equal(frames.revealed(1), HEAD)


def test_the_empty_frame_comes_first_where_it_is_wanted():
    plain = sequence(["head", "body"], {"head": HEAD, "body": BODY})
    frames = sequence(["head", "body"], {"head": HEAD, "body": BODY}, include_empty=True)

    assert frames.names == ("", "head", "body", REST)
    assert not frames.revealed(0).any()
    for frame in range(3):
        np.testing.assert_array_equal(frames.revealed(frame + 1), plain.revealed(frame))


def test_a_part_hidden_by_earlier_ones_is_present_and_adds_nothing():
    frames = sequence(["body", "spot"], {"body": BODY, "spot": mask("..x.", "....")})

    assert frames.added.tolist() == [3, 0, 5]
    assert frames.present == ("body", "spot")


def test_parts_that_cover_the_crop_leave_a_rest_that_repeats():
    whole = np.ones((2, 4))

    frames = sequence(["body"], {"body": whole})

    assert frames.added.tolist() == [8, 0]
    assert frames.revealed(1).all()


def test_the_rest_stands_last_wherever_the_order_names_it():
    order = ["unlabeled-rest-object", "head", "unlabeled-rest-background", "body"]
    masks = {"head": HEAD, "body": BODY, "unlabeled-rest-background": ~(HEAD | BODY)}

    assert sequence(order, masks).names == ("head", "body", REST)


def test_masks_stay_as_they_are():
    head, body = HEAD.astype(np.uint8), BODY.astype(np.uint8)

    sequence(["head", "body"], {"head": head, "body": body})

    np.testing.assert_array_equal(body, BODY)


@pytest.mark.parametrize(
    ("order", "masks", "message"),
    [
        (["head", "head"], {"head": HEAD}, "names head twice; name each part once"),
        (["head"], {"head": HEAD, "fin": BODY}, "parts that the part order lacks: fin"),
        (["head"], {}, "no part with a pixel; leave it out"),
        (["head"], {"head": np.zeros((2, 4))}, "no part with a pixel"),
        (["head", "body"], {"head": HEAD, "body": BODY.T}, r"head has \(2, 4\), body has \(4, 2\)"),
        (["head"], {"head": np.ones(4)}, r"head has \(4,\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_cure(order, masks, message):
    with pytest.raises(PartsError, match=message):
        sequence(order, masks)


def test_an_order_is_held_to_the_parts_of_the_category():
    assert checked_order(["b", REST, "a"], ["a", "b"]) == ["b", "a"]
    with pytest.raises(PartsError, match=r"does not have: wing; the category has a, b"):
        checked_order(["a", "wing", "b"], ["a", "b"])
    with pytest.raises(PartsError, match="leaves parts out: b"):
        checked_order(["a"], ["a", "b"])
