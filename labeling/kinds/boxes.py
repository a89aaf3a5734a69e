"""Boxes: three steps, repeated until each instance of a class has a box.

A question is one step of a pair of image and class; boxes/chain.py chooses the next. Its `content`
is what it shows: {"boxes": accepted ones, "box": the one to check, "came", "flags", "rejected": the
last attempt with its reason, "at": a point in an instance}, without keys that do not apply.
Answers by step; boxes are [x0, y0, x1, y1] in upright pixels, to tenths:

    draw    {"box": […], "how": "drag" or "clicks", "points": four of them, "flags": […]} or "none"
    check   "good", a reason, {"reason", "sides": […]}, or {"box", "flags"}: a corrected proposal
    cover   "complete", or {"missing": [[x, y], …]}: a point in each instance without a box
    review  {"boxes": [{"box", "flags"}, …], "state": "complete", "absent", "partial" or "look"}
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labeling.boxes import chain
from labeling.boxes.chain import (
    ABSENT,
    CHECK,
    CLICKED,
    COMPLETE,
    COVER,
    DRAW,
    DRAWN,
    FLAGS,
    LOOK,
    PARTIAL,
    PROPOSED,
    REVIEW,
)
from labeling.boxes.cleaning import (
    as_box,
    clean_box,
    clean_extremes,
    clean_flags,
    clean_point,
    holds,
    is_same,
    refusal,
)
from labeling.boxes.consensus import SAME_IOU, same_object
from labeling.boxes.rules import GOOD, BoxRules
from labeling.boxes.shaking import SIDES
from labeling.errors import Refusal
from labeling.geometry.boxes import Box, iou
from labeling.kinds.base import BOXES, CHAINS, Answer, DrawingContext, Kind
from labeling.kinds.policies import RULES_OF
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import Verdict, choice_rows
from labeling.sentences import gettext
from labeling.sentences import gettext_noop as _

NONE = "none"
DRAG, CLICKS = METHODS = ("drag", "clicks")
# The `came` of a box, by how it was drawn.
ORIGIN_OF_METHOD = {DRAG: DRAWN, CLICKS: CLICKED}
# (reason why a box is not good, words, key), in the order of the page.
REASONS = (
    ("loose", _("Too loose"), "1"),
    ("cropping", _("Cuts off a part"), "2"),
    ("shifted", _("Shifted"), "3"),
    ("part", _("Only a part of it"), "4"),
    ("several", _("Around several"), "5"),
    ("wrong", _("Around something else"), "6"),
    ("duplicate", _("Already has a box"), "7"),
)
REASON_WORDS = tuple(word for word, _, _ in REASONS)
# Reasons that may name the wrong sides.
SIDED = ("loose", "cropping", "shifted")
# Gold of a check step is GOOD or BAD, without a reason.
BAD = "bad"
# A corrected proposal must keep at least this IoU with it; a worse proposal is redrawn.
MENDED_IOU = 0.5
MAX_POINTS, MAX_BOXES = 100, 1_000


@dataclass(frozen=True)
class KnownDrawing:
    """Gold of a draw step: boxes of the objects without one, and whether each is small.

    No boxes: nothing is left to draw.
    """

    boxes: tuple[Box, ...]
    small: tuple[bool, ...]

    @classmethod
    def from_json(cls, gold: Any) -> "KnownDrawing":
        if gold == NONE:
            return cls((), ())
        if not isinstance(gold, dict) or set(gold) != {"boxes", "small"}:
            raise ValueError(f"gold of a drawing is {NONE!r} or boxes and small, not {gold!r}")
        return cls(tuple(map(as_box, gold["boxes"])), tuple(gold["small"]))


@dataclass(frozen=True)
class KnownMissing:
    """Gold of a cover step: boxes of the objects without one; () if all have one."""

    boxes: tuple[Box, ...]

    @classmethod
    def from_json(cls, gold: Any) -> "KnownMissing":
        if gold == COMPLETE:
            return cls(())
        if not isinstance(gold, dict) or set(gold) != {"missing"}:
            raise ValueError(f"gold of a cover step is {COMPLETE!r} or missing, not {gold!r}")
        return cls(tuple(map(as_box, gold["missing"])))


class Step(Kind):
    """One step of a pair; its name is in `step`. Votes count by tally_name."""

    name = "boxes"
    asks = CHAINS
    release = BOXES
    has_geometry = True
    methods = ("majority",)
    longest_work_ms = 10 * 60 * 1000
    step: str
    # (tally_name of an answer, text for people, key to press).
    options: tuple[tuple[str, str, str], ...]

    def choices(self, settings: Mapping[str, Any]) -> list[dict[str, str]]:
        return choice_rows(self.options)

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(word for word, _, _ in self.options)

    @abstractmethod
    def seats(self, policy: WholePolicy) -> int:
        """Return the number of seats of a new question of this step."""

    def fits(self, value: Any, settled: Any, policy: WholePolicy) -> bool:
        return self.agrees(value, settled)

    @abstractmethod
    def answer(self, value: Any) -> chain.Answer:
        """Convert a settled value into an event of the chain."""


class DrawStep(Step):
    step = DRAW
    title = _("Draw a box around one")
    options = (("box", _("Box"), ""), (NONE, _("Nothing is left to draw"), "n"))

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        """Return the validated answer.

        Raises Refusal for a box that lies outside the image, is empty or inverted, or repeats
        another.
        """
        assert context is not None
        if value == NONE:
            return NONE
        if not isinstance(value, dict) or not {"box"} <= set(value) <= {
            "box",
            "how",
            "points",
            "flags",
        }:
            raise refusal('A drawing is {"box", "how", "points", "flags"}, or "none".')
        how = value.get("how", DRAG)
        if how not in METHODS:
            raise refusal(f"how is {str(how)[:60]!r}; give one of: {', '.join(METHODS)}.")
        box = clean_box(value["box"], context.width, context.height)
        cleaned: dict[str, object] = {"box": list(box), "how": how}
        if how == CLICKS:
            cleaned["points"] = clean_extremes(
                value.get("points"), box, context.width, context.height
            )
        elif value.get("points") is not None:
            raise refusal("Only a box from clicks has points. Remove them.")
        cleaned["flags"] = clean_flags(value.get("flags", []))
        if any(is_same(box, drawn_box) for drawn_box in context.content.get("boxes", ())):
            raise refusal(
                gettext(
                    "This instance has a box already. Draw a box around another instance, or "
                    "choose that nothing is left to draw."
                )
            )
        return cleaned

    def tally_name(self, value: Any) -> str:
        return "box" if isinstance(value, dict) else str(value)

    def seats(self, policy: WholePolicy) -> int:
        return policy["draws"]

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        """Return the mean box of the largest group that drew the same object, once enough people
        drew.

        If groups are equal, the first counts. "none" if more than half drew nothing.
        """
        if len(values) < policy["draws"]:
            return Verdict("open", more=policy["draws"] - len(values))
        drawn = [value for value in values if value != NONE]
        if 2 * len(drawn) < len(values):
            return Verdict("settled", NONE)
        groups = same_object([as_box(value["box"]) for value in drawn])
        chosen = [drawn[index] for index in max(groups, key=len)]
        first = chosen[0]
        if len(chosen) == 1:
            return Verdict("settled", first)
        sides = zip(*(value["box"] for value in chosen), strict=True)
        merged = {
            "box": [round(math.fsum(side) / len(chosen), 1) for side in sides],
            "how": first["how"],
            "flags": _majority_words(value["flags"] for value in chosen),
        }
        return Verdict("settled", merged)

    def answer(self, value: Any) -> chain.DrawnBox:
        if value == NONE:
            return chain.DrawnBox(None)
        return chain.DrawnBox(
            as_box(value["box"]), ORIGIN_OF_METHOD[value["how"]], tuple(value["flags"])
        )

    def agrees(self, value: Any, reference: Any) -> bool:
        """Return whether both drew the same object, or both nothing."""
        if value == NONE or reference == NONE:
            return bool(value == reference)
        return iou(as_box(value["box"]), as_box(reference["box"])) >= SAME_IOU

    def grade(self, value: Any, gold: Any) -> float:
        """Return the best IoU with an object without a box; if none is left, 1 for drawing nothing.

        gold: "none", or {"boxes": […], "small": whether each is}.
        """
        known = KnownDrawing.from_json(gold)
        if not known.boxes or value == NONE:
            return float(gold == value)
        return max(iou(as_box(value["box"]), box) for box in known.boxes)

    def is_right(self, value: Any, gold: Any, policy: WholePolicy) -> bool:
        """Return whether the best IoU reaches the policy's threshold.

        The threshold is lower for small objects, by the usual disagreement between people.
        """
        known = KnownDrawing.from_json(gold)
        if not known.boxes or value == NONE:
            return bool(gold == value)
        return any(
            iou(as_box(value["box"]), box)
            >= policy["gold_iou_small" if small else "gold_iou"] - 1e-9
            for box, small in zip(known.boxes, known.small, strict=True)
        )


class CheckStep(Step):
    step = CHECK
    title = _("Is this box good?")
    options = ((GOOD, _("Good"), "g"), *REASONS)

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        assert context is not None
        if isinstance(value, str):
            value = {GOOD: {}} if value == GOOD else {"reason": value}
        if not isinstance(value, dict):
            raise refusal(f"A check is {GOOD}, or one of: {', '.join(REASON_WORDS)}.")
        if "reason" in value:
            return _clean_reason(value)
        return _clean_mended(value, context)

    def tally_name(self, value: Any) -> str:
        if not isinstance(value, dict):
            return str(value)
        return str(value.get("reason", GOOD))

    def seats(self, policy: WholePolicy) -> int:
        return policy["checks"]

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        """Return the result that enough checks agree on.

        For good, the mean of all corrections; else the most frequent reason, with the sides that at
        least half of those who gave it name.
        """
        words = [self.tally_name(value) for value in values]
        rules = BoxRules.of(policy)
        word_settled = rules.verdict(words)
        if word_settled is None:
            return Verdict("open", more=rules.missing_checks(words))
        winning_values = [
            value for value, word in zip(values, words, strict=True) if word == word_settled
        ]
        agreed = sum((word == GOOD) == (word_settled == GOOD) for word in words) / len(words)
        if word_settled != GOOD:
            sides = _majority_words(
                value["sides"] if isinstance(value, dict) else () for value in winning_values
            )
            stated: object = {"reason": word_settled, "sides": sides} if sides else word_settled
            return Verdict("settled", stated, agreed)
        mended = [value for value in winning_values if isinstance(value, dict)]
        return Verdict("settled", _mean_correction(mended, len(winning_values)), agreed)

    def answer(self, value: Any) -> chain.CheckedBox:
        if not isinstance(value, dict):
            return chain.CheckedBox(value)
        if "reason" in value:
            return chain.CheckedBox(value["reason"], tuple(value["sides"]))
        return chain.CheckedBox(GOOD, box=as_box(value["box"]), flags=tuple(value["flags"]))

    def grade(self, value: Any, gold: Any) -> float:
        """Return 1 if a good box was accepted or a bad one rejected. gold: "good" or "bad"."""
        return float((self.tally_name(value) == GOOD) == (gold == GOOD))


class CoverStep(Step):
    step = COVER
    title = _("Does every one have a box?")
    options = (
        (COMPLETE, _("Every one has a box"), "y"),
        ("missing", _("Something is missing"), ""),
    )

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        assert context is not None
        if value == COMPLETE:
            return COMPLETE
        points = value.get("missing") if isinstance(value, dict) and len(value) == 1 else None
        if not isinstance(points, list) or not 1 <= len(points) <= MAX_POINTS:
            raise refusal(
                f'Answer "{COMPLETE}", or give 1 to {MAX_POINTS} points, one on each missing '
                "instance."
            )
        return {
            "missing": [list(clean_point(point, context.width, context.height)) for point in points]
        }

    def tally_name(self, value: Any) -> str:
        return "missing" if isinstance(value, dict) else str(value)

    def seats(self, policy: WholePolicy) -> int:
        return 1

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        return Verdict("settled", values[0]) if values else Verdict("open", more=1)

    def answer(self, value: Any) -> chain.CoverResult:
        if value == COMPLETE:
            return chain.CoverResult()
        return chain.CoverResult(tuple((x, y) for x, y in value["missing"]))

    def grade(self, value: Any, gold: Any) -> float:
        """Return the share of objects without a box that were pointed at.

        1 if none is missing and none was pointed at. gold: "complete", or {"missing": boxes of the
        objects}.
        """
        known = KnownMissing.from_json(gold)
        if not known.boxes or value == COMPLETE:
            return float(gold == value)
        points = value["missing"]
        hit = [any(holds(box, point) for point in points) for box in known.boxes]
        return sum(hit) / len(hit)


class ReviewStep(Step):
    """A reviewer's decision on a pair: after too many attempts, or on overlapping boxes."""

    step = REVIEW
    title = _("Draw every box")
    options = (
        (COMPLETE, _("Every one has a box"), ""),
        (ABSENT, _("There is none"), ""),
        (PARTIAL, _("There are more that I do not draw"), ""),
        (LOOK, _("Accept these; let people look for more"), ""),
    )

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        assert context is not None
        if not isinstance(value, dict) or set(value) != {"boxes", "state"}:
            raise refusal('A review is {"boxes", "state"}.')
        states = [word for word, _, _ in self.options]
        if value["state"] not in states:
            raise refusal(f"state is {str(value['state'])[:60]!r}; give one of: {states}.")
        rows = value["boxes"]
        if not isinstance(rows, list) or len(rows) > MAX_BOXES:
            raise refusal(f"boxes are a list of at most {MAX_BOXES:,}.")
        if bool(rows) == (value["state"] == ABSENT):
            raise refusal(
                "A review with the state absent has no boxes; any other has at least one."
            )
        return {"boxes": [_clean_row(row, context) for row in rows], "state": value["state"]}

    def tally_name(self, value: Any) -> str:
        return str(value["state"] if isinstance(value, dict) else value)

    def seats(self, policy: WholePolicy) -> int:
        return 0

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        return Verdict("review")

    def answer(self, value: Any) -> chain.ReviewedPair:
        boxes = tuple(
            chain.AcceptedBox(as_box(row["box"]), row["came"], tuple(row["flags"]))
            for row in value["boxes"]
        )
        return chain.ReviewedPair(boxes, value["state"])


STEPS: dict[str, Step] = {
    step.step: step for step in (DrawStep(), CheckStep(), CoverStep(), ReviewStep())
}


class Boxes(Kind):
    """The kind of box campaigns. An answer belongs to the step in `context`, else to the step it
    implies.
    """

    name = "boxes"
    picture = "kinds/boxes.svg"
    title = _("Bounding boxes")
    asks = CHAINS
    release = BOXES
    has_geometry = True
    steps = STEPS
    methods = Step.methods
    longest_work_ms = Step.longest_work_ms
    # The source release of the labels, written by box_campaigns.record_source_release.
    kept_settings = ("labels",)
    # seconds_per_answer: mean of each step's median, weighted by its frequency (simulate boxes).
    policy_defaults = {
        "votes": 1,
        "max_votes": 3,
        "page_size": 5,
        "seconds_per_answer": 4.7,
        # Lower than for other kinds: useless proposals cost time until calibration drops them.
        "calibrate_answers": 200,
        **{key: rule.default for key, rule in RULES_OF[CHAINS].items()},
    }

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Return {"complete", "labels"}. Raises Refusal.

        complete: the list names every class in an image, so that others are absent. labels: the
        release behind the list, or None.
        """
        self.refuse_unknown(set(settings) - set(self.kept_settings), ("complete",))
        complete = settings.get("complete", False)
        if not isinstance(complete, bool):
            raise Refusal(f"complete is {complete!r}; give true or false.", field="complete")
        return {"complete": complete, "labels": settings.get("labels")}

    def choices(self, settings: Mapping[str, Any]) -> list[dict[str, str]]:
        return [row for step in STEPS.values() for row in step.choices(settings)]

    def question(self, topic: str, settings: Mapping[str, Any]) -> str:
        return topic

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        assert context is not None
        return STEPS[context.step].clean(value, settings, context)

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(word for step in STEPS.values() for word in step.classes(settings))

    def tally_name(self, value: Any) -> str:
        return _step_of(value).tally_name(value)

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        return _step_of(values[0]).settle(values, policy)

    def agrees(self, value: Any, reference: Any) -> bool:
        return _step_of(value).agrees(value, reference)

    def grade(self, value: Any, gold: Any) -> float:
        return _step_of(value).grade(value, gold)

    def is_right(self, value: Any, gold: Any, policy: WholePolicy) -> bool:
        return _step_of(value).is_right(value, gold, policy)

    def fits(self, value: Any, settled: Any, policy: WholePolicy) -> bool:
        return _step_of(value).fits(value, settled, policy)


def _step_of(value: Any) -> Step:
    """Return the step of an answer, or of the known answer of gold."""
    if isinstance(value, dict):
        if "state" in value:
            return STEPS[REVIEW]
        if "missing" in value:
            return STEPS[COVER]
        if "reason" in value or ("box" in value and "how" not in value):
            return STEPS[CHECK]
        return STEPS[DRAW]
    return STEPS[COVER if value == COMPLETE else DRAW if value == NONE else CHECK]


def _clean_row(row: object, context: DrawingContext) -> dict[str, object]:
    if not isinstance(row, dict) or not {"box"} <= set(row) <= {"box", "flags", "came"}:
        raise refusal('A box of a review is {"box", "flags"}.')
    came = row.get("came", DRAWN)
    if came not in (DRAWN, CLICKED, PROPOSED):
        raise refusal(f"came is {str(came)[:60]!r}; give {DRAWN}, {CLICKED} or {PROPOSED}.")
    box = clean_box(row["box"], context.width, context.height)
    return {"box": list(box), "flags": clean_flags(row.get("flags", [])), "came": came}


def _clean_reason(value: Mapping[str, Any]) -> Answer:
    reason, sides = value["reason"], value.get("sides", [])
    if reason not in REASON_WORDS or set(value) - {"reason", "sides"}:
        raise refusal(f"A check is {GOOD}, or one of: {', '.join(REASON_WORDS)}.")
    if not isinstance(sides, list) or any(side not in SIDES for side in sides):
        raise refusal(f"sides are a list of: {', '.join(SIDES)}.")
    if sides and reason not in SIDED:
        raise refusal(f"Sides go with: {', '.join(SIDED)}.")
    known_sides = [side for side in SIDES if side in sides]
    return {"reason": reason, "sides": known_sides} if known_sides else str(reason)


def _clean_mended(value: Mapping[str, Any], context: DrawingContext) -> Answer:
    """Return GOOD, or the corrected box and flags of a proposal."""
    statement = value.get(GOOD, value)
    if not isinstance(statement, dict) or set(statement) - {"box", "flags"}:
        raise refusal(f'A check that mends a box is {{"box", "flags"}}, or just "{GOOD}".')
    checked_box = context.content["box"]
    box = clean_box(statement.get("box", checked_box), context.width, context.height)
    flags = clean_flags(statement.get("flags", []))
    if list(box) == list(checked_box) and not flags:
        return GOOD
    if context.content.get("came") != PROPOSED:
        raise refusal("Only a proposed box may be corrected. Name the fault instead.")
    if iou(box, as_box(checked_box)) < MENDED_IOU:
        raise refusal(
            "The corrected box differs too much from the proposed one. Name the fault instead."
        )
    return {"box": list(box), "flags": flags}


def _mean_correction(mended: Sequence[Mapping[str, Any]], checks: int) -> object:
    """Return the mean of the corrections; GOOD without any. flags: set by more than half of the
    checks.
    """
    if not mended:
        return GOOD
    sides = zip(*(value["box"] for value in mended), strict=True)
    counts = Counter(flag for value in mended for flag in value["flags"])
    return {
        "box": [round(math.fsum(side) / len(mended), 1) for side in sides],
        "flags": [flag for flag in FLAGS if 2 * counts[flag] > checks],
    }


def _majority_words(word_lists: Iterable[Sequence[str]]) -> list[str]:
    """Return the words in at least half of these lists, in their usual order."""
    lists = list(word_lists)
    counts = Counter(word for words in lists for word in set(words))
    return [word for word in (*FLAGS, *SIDES) if counts[word] and 2 * counts[word] >= len(lists)]
