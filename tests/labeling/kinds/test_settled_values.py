"""Settled values of boxes have other shapes than gold, and answers are compared with both."""

import pytest

from labeling.kinds import KINDS, policies
from tests.cases import for_each

DRAWING = {"box": [0, 0, 9, 9], "how": "drag", "points": [], "flags": []}
AWAY = DRAWING | {"box": [50, 50, 90, 90]}


@for_each(
    ("value", "settled", "fits"),
    [
        (DRAWING, DRAWING, True),
        (DRAWING, AWAY, False),
        (DRAWING, "none", False),
        ("none", DRAWING, False),
        ("none", "none", True),
        ("good", {"box": [0, 0, 9, 9], "flags": []}, True),
        ({"box": [0, 0, 9, 9], "flags": []}, "good", True),
        ("loose", {"reason": "loose", "sides": ["left"]}, True),
        ("good", "loose", False),
        ({"missing": [[1, 1]]}, {"missing": [[3, 3]]}, True),
        ("complete", {"missing": [[3, 3]]}, False),
    ],
)
def test_an_answer_of_boxes_is_compared_with_what_settled(value, settled, fits):
    assert KINDS["boxes"].fits(value, settled, policies.DEFAULTS) is fits


def test_a_settled_drawing_is_refused_as_gold():
    with pytest.raises(ValueError, match="boxes and small"):
        KINDS["boxes"].is_right(DRAWING, DRAWING, policies.DEFAULTS)
