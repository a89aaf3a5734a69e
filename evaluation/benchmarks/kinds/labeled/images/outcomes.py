"""Cases of the numbers of a result: which images contribute to a number, and how. Pure.

A kind of benchmark has numbers (NUMBERS), and a number has cases. A classifier's outcome of an
image is classified per class, so that a number and its value for one class can link to images.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode

from evaluation.scoring.image_lines import Outcome, OutcomesLine

# (class, case) of every class of the line.
Classify = Callable[[OutcomesLine, Outcome], Iterator[tuple[str, str]]]

KS = (1, 2, 5, 10, 20)
DELTAS = ("0.3", "0.5", "0.7")
# A false detection whose IoU with every object of its class is lower is on background.
NEAR_IOU = 0.1
# Cases by height above the right class, and by share of pixels.
HEIGHTS = ((1, 3), (4, 7), (8, None))
SHARES = (0.5, 0.8)


class Case(NamedTuple):
    """A case of a number. key: in addresses. words: on pages. tone: right, wrong, missed or plain.
    within: the case that contains this one.
    """

    key: str
    words: str
    tone: str
    within: str = ""


class Number(NamedTuple):
    """A number of a result. cases: those whose keys `classify` can yield."""

    key: str
    words: str
    cases: tuple[Case, ...]
    classify: Classify


@dataclass(frozen=True)
class ImageQuery:
    """The images of a classifier's number, case and class ("" for any)."""

    classifier: str
    number: str
    case: str = ""
    name: str = ""

    def query(self, **changes: str) -> str:
        """Return the query for an address, without empty values."""
        parameters = {
            "classifier": self.classifier,
            "number": self.number,
            "case": self.case,
            "class": self.name,
        } | changes
        return urlencode({key: value for key, value in parameters.items() if value})


RIGHT, WRONG = Case("right", "right", "right"), Case("wrong", "wrong", "wrong")


def _flag(*path: str) -> Classify:
    """Return a function that yields (class, right or wrong) by the value at `path`, if there is
    one.
    """

    def classify(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
        value: object = outcome
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            for name in line["classes"]:
                yield name, "right" if value else "wrong"

    return classify


def _hit(k: int) -> Classify:
    def classify(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
        rank = outcome.get("rank")
        for name in line["classes"]:
            yield name, "right" if rank is not None and rank <= k else "wrong"

    return classify


def _height(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
    height = outcome.get("height")
    if height is None:
        return
    below = [low for low, _ in HEIGHTS if height >= low]
    for name in line["classes"]:
        yield name, f"from-{below[-1]}" if below else "none"


def _place(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Split wrong localizations: the class is wrong, or the class is right and the box is wrong."""
    if outcome.get("right") is None:
        return
    for name in line["classes"]:
        if outcome["right"]:
            yield name, "right"
        else:
            yield name, "wrong"
            yield name, "place" if outcome.get("class_right") else "class"


def _detected(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
    for name, _, _, _, _, _, hit, iou in outcome.get("found") or ():
        if hit:
            yield name, "hit"
        else:
            yield name, "false"
            yield name, "near" if iou is not None and iou >= NEAR_IOU else "far"
    for name, *_ in outcome.get("missed") or ():
        yield name, "missed"


def _share(key: str) -> Classify:
    def classify(line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, str]]:
        if key in outcome:
            share = outcome.get(key)
            for name in line["classes"]:
                yield name, _step(share) if isinstance(share, (int, float)) else "none"

    return classify


def _step(share: float) -> str:
    return ("low", "middle", "high")[sum(share >= limit for limit in SHARES)]


def _height_words(low: int, high: int | None) -> str:
    return f"{low} to {high} above it" if high else f"{low} or more above it"


HEIGHT_CASES = (
    Case("none", "among the five", "right"),
    *(Case(f"from-{low}", _height_words(low, high), "wrong") for low, high in HEIGHTS),
)
PLACE_CASES = (
    RIGHT,
    WRONG,
    Case("place", "right class, wrong place", "wrong", "wrong"),
    Case("class", "wrong class", "wrong", "wrong"),
)
DETECTION_CASES = (
    Case("hit", "found", "right"),
    Case("missed", "missed", "missed"),
    Case("false", "false detections", "wrong"),
    Case("near", "false, misplaced or twice", "wrong", "false"),
    Case("far", "false, on something else", "wrong", "false"),
)
SHARE_CASES = (
    Case("low", "under 50 %", "wrong"),
    Case("middle", "50 to 80 %", "plain"),
    Case("high", "80 % or more", "right"),
    Case("none", "undefined", "plain"),
)
NUMBERS: dict[str, tuple[Number, ...]] = {
    "classification": (
        Number("top1_error", "top-1 error", (RIGHT, WRONG), _flag("top1")),
        Number("top5_error", "top-5 error", (RIGHT, WRONG), _flag("top5")),
        Number("hierarchical_error", "hierarchical error", HEIGHT_CASES, _height),
        *(Number(f"hit_at_{k}", f"hit@{k}", (RIGHT, WRONG), _hit(k)) for k in KS),
    ),
    "localization": (Number("error", "localization error", PLACE_CASES, _place),),
    "detection": (Number("ap", "average precision", DETECTION_CASES, _detected),),
    "wsol": (
        Number("max_box_acc", "MaxBoxAcc", (RIGHT, WRONG), _flag("max_box_acc", "right")),
        *(
            Number(delta, f"MaxBoxAccV2, IoU {delta}", (RIGHT, WRONG), _flag(delta, "right"))
            for delta in DELTAS
        ),
        Number(
            "top1_localization",
            "top-1 localization",
            (RIGHT, WRONG),
            _flag("top1_localization", "right"),
        ),
        Number("px_acc", "pixel accuracy", SHARE_CASES, _share("px_acc")),
        Number("px_prec", "pixel precision", SHARE_CASES, _share("px_prec")),
        Number("px_rec", "pixel recall", SHARE_CASES, _share("px_rec")),
    ),
}


@cache
def bits_of(kind: str) -> dict[str, dict[str, int]]:
    """Return number → case → its bit, of 64."""
    bits = (1 << at for at in range(64))
    return {number.key: {case.key: next(bits) for case in number.cases} for number in NUMBERS[kind]}


def sorted_in(kind: str, line: OutcomesLine, outcome: Outcome) -> dict[str, int]:
    """Return by class the bits of all cases of this image's outcome.

    >>> line = {"classes": ["n02084071"]}
    >>> bits = bits_of("localization")["error"]
    >>> found = sorted_in("localization", line, {"right": False, "class_right": True})
    >>> found == {"n02084071": bits["wrong"] | bits["place"]}
    True
    """
    bits = bits_of(kind)
    bits_by_class: dict[str, int] = {}
    for number in NUMBERS[kind]:
        case_bits = bits[number.key]
        for name, case in number.classify(line, outcome):
            bits_by_class[name] = bits_by_class.get(name, 0) | case_bits[case]
    return bits_by_class
