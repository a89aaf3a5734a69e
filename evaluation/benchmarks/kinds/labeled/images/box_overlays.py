"""Boxes to draw on a photograph and verdicts to list below it, true and predicted. Pure.

Boxes are x0, y0, x1, y1 in pixels of the image. A shape's tone is truth, right, wrong or missed;
each has its own stroke and mark, so that colour is not needed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evaluation.benchmarks.kinds.labeled.images import outcomes
from evaluation.scoring.image_lines import Outcome, OutcomesLine

Namer = Callable[[str], str]
MARKS = {"truth": "", "right": "✓ ", "wrong": "✗ ", "missed": "missed: "}
# Most boxes on a card: a hundred boxes would hide the photograph.
MAX_PER_CARD = 12
# Height of letters, as a share of the photograph's longer side.
CARD_LETTERS, PAGE_LETTERS = 0.05, 0.028


@dataclass(frozen=True)
class BoxShape:
    """A box to draw. label: text at its left; text_y: the baseline of the text."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    label: str
    text_y: float


@dataclass(frozen=True)
class PredictionVerdict:
    """One prediction of a classifier, or a miss. value: its confidence, IoU or share as text."""

    tone: str
    name: str
    value: str = ""


def shapes(
    kind: str, line: OutcomesLine, outcome: Outcome, number: str, name: Namer, letters: float
) -> list[BoxShape]:
    """Return the boxes of an outcome, true ones first. letters: height of a label in pixels."""
    drawn = {"localization": _located, "detection": _detected, "wsol": _mapped}.get(kind)
    if drawn is None:
        return []
    return [
        _shape(box, tone, f"{MARKS[tone]}{label}".strip(), letters)
        for box, tone, label in drawn(line, outcome, number, name)
        if box is not None
    ]


Drawn = Iterator[tuple[Sequence[float] | None, str, str]]


def _shape(box: Sequence[float], tone: str, label: str, letters: float) -> BoxShape:
    x0, y0, x1, y1 = (round(float(value), 2) for value in box[:4])
    above = y0 - 0.3 * letters if y0 > 1.3 * letters else y0 + 1.1 * letters
    # Label true boxes at the lower edge and predicted boxes at the upper edge: they may be close.
    is_true = tone in ("truth", "missed")
    text = max(y0 + letters, y1 - 0.4 * letters) if is_true else above
    width, height = (round(max(0.0, end - start), 2) for start, end in ((x0, x1), (y0, y1)))
    return BoxShape(x0, y0, width, height, tone, label, round(text, 1))


def _true_boxes(line: OutcomesLine, name: Namer) -> Drawn:
    for box in line["truth"]:
        yield box, "truth", name(box[4]) if len(box) > 4 else name(line["classes"][0])


def _located(line: OutcomesLine, outcome: Outcome, number: str, name: Namer) -> Drawn:
    yield from _true_boxes(line, name)
    boxes = outcome.get("boxes") or []
    right = right_box(line, outcome)
    for at, (label, box) in enumerate(zip(outcome.get("labels") or [], boxes, strict=False)):
        yield box, "right" if at == right else "wrong", name(label or "")


def right_box(line: OutcomesLine, outcome: Outcome) -> int | None:
    """Return which of the five boxes made the outcome right: the one with the highest IoU among
    those of the right class.
    """
    if not outcome.get("right"):
        return None
    placed = [
        (max((iou(box, true) for true in line["truth"] if true[4] == label), default=0.0), -at)
        for at, (label, box) in enumerate(zip(outcome["labels"], outcome["boxes"], strict=False))
        if box is not None and label in line["classes"]
    ]
    return -max(placed)[1] if placed else None


def _detected(line: OutcomesLine, outcome: Outcome, number: str, name: Namer) -> Drawn:
    missed = [[*box[1:5], box[0]] for box in outcome.get("missed") or ()]
    for box in line["truth"]:
        if list(box) not in missed:
            yield box, "truth", name(box[4])
    for box in missed:
        yield box, "missed", name(box[4])
    for label, confidence, *box, hit, _ in outcome.get("found") or ():
        yield box, "right" if hit else "wrong", f"{name(label)} {share(confidence)}"


def _mapped(line: OutcomesLine, outcome: Outcome, number: str, name: Namer) -> Drawn:
    yield from _true_boxes(line, name)
    result = outcome.get(number)
    if isinstance(result, dict):
        yield result["box"], "right" if result["right"] else "wrong", f"IoU {share(result['iou'])}"


def share(value: float | None) -> str:
    """Return the number with two decimals; a dash for None.

    >>> share(0.8142), share(None)
    ('0.81', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the IoU of two boxes with exclusive ends, for drawing. Scores have their own
    conventions.

    >>> iou((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = wide * high
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    union = sum(areas) - both
    return both / union if union > 0 else 0.0


def verdicts(
    kind: str, line: OutcomesLine, outcome: Outcome, number: str, name: Namer
) -> list[PredictionVerdict]:
    """Return the classifier's predictions in order, each right or wrong."""
    made = {"detection": _found_verdicts, "wsol": _map_verdicts}.get(kind, _label_verdicts)
    return list(made(line, outcome, number, name))


def _label_verdicts(
    line: OutcomesLine, outcome: Outcome, number: str, name: Namer
) -> Iterator[PredictionVerdict]:
    for label in outcome.get("labels") or ():
        if label is None:
            yield PredictionVerdict("plain", "no class at this rank")
        else:
            yield PredictionVerdict("right" if label in line["classes"] else "wrong", name(label))
    if "iou" in outcome:
        yield PredictionVerdict("plain", "IoU with the right class", share(outcome["iou"]))
    if outcome.get("height"):
        yield PredictionVerdict("plain", "height above the right class", f"{outcome['height']:g}")


def _found_verdicts(
    line: OutcomesLine, outcome: Outcome, number: str, name: Namer
) -> Iterator[PredictionVerdict]:
    for label, confidence, _, _, _, _, hit, overlap in outcome.get("found") or ():
        iou_text = f", IoU {share(overlap)}" if overlap else ""
        yield PredictionVerdict(
            "right" if hit else "wrong", name(label), f"{share(confidence)}{iou_text}"
        )
    for label, *_ in outcome.get("missed") or ():
        yield PredictionVerdict("missed", name(label), "missed")


def _map_verdicts(
    line: OutcomesLine, outcome: Outcome, number: str, name: Namer
) -> Iterator[PredictionVerdict]:
    for measure in outcomes.NUMBERS["wsol"]:
        value: object = outcome.get(measure.key)
        if isinstance(value, dict):
            tone = "right" if value["right"] else "wrong"
            yield PredictionVerdict(tone, measure.words, f"IoU {share(value['iou'])}")
        elif measure.key in outcome:
            known = value if isinstance(value, float) else None
            yield PredictionVerdict("plain", measure.words, share(known))


def only(line: OutcomesLine, outcome: Outcome, label: str) -> tuple[OutcomesLine, Outcome]:
    """Return a detection restricted to one class; other outcomes unchanged."""
    if "found" not in outcome:
        return line, outcome
    only_line, only_outcome = line.copy(), outcome.copy()
    only_line["truth"] = [box for box in line["truth"] if box[4] == label]
    only_outcome["found"] = [row for row in outcome["found"] if row[0] == label]
    only_outcome["missed"] = [row for row in outcome.get("missed") or () if row[0] == label]
    return only_line, only_outcome


def shortened(outcome: Outcome) -> Outcome:
    """Return a detection restricted to as many of the most confident boxes as a card shows."""
    if "found" not in outcome:
        return outcome
    card_outcome = outcome.copy()
    card_outcome["found"] = outcome["found"][:MAX_PER_CARD]
    return card_outcome
