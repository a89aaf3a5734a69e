"""The outcome of each image, as every `score` verb yields it and images.jsonl stores it. Pure.

Plain JSON dicts, because they are read by the thousand.
"""

from typing import Any, TypedDict


class PlacedBox(TypedDict):
    """The box of a score map at a threshold; None if the map has none there."""

    iou: float
    box: list[float] | None
    right: bool


Outcome = TypedDict(
    "Outcome",
    {
        # classification: the first five classes, None where a rank is absent; the rank of the right
        # class, from 1; the hierarchical cost.
        "labels": list[str | None],
        "top1": bool,
        "top5": bool,
        "height": float | None,
        "rank": int | None,
        # localization: labels with their boxes, the best IoU with a box of the right class.
        "boxes": list[list[float]],
        "iou": float,
        "class_right": bool,
        "right": bool,
        # detection: rows of wnid, confidence, x0, y0, x1, y1, whether it is a hit, IoU; rows of
        # wnid, x0, y0, x1, y1.
        "found": list[list[Any]],
        "missed": list[list[Any]],
        # wsol: by accuracy of the result.
        "max_box_acc": PlacedBox,
        "0.3": PlacedBox,
        "0.5": PlacedBox,
        "0.7": PlacedBox,
        "top1_localization": PlacedBox,
        "px_acc": float | None,
        "px_prec": float | None,
        "px_rec": float | None,
    },
    total=False,
)


class ImageOutcome(TypedDict):
    """truth: boxes x0, y0, x1, y1 in pixels of the image and, except for wsol, their class.
    outcome: None if the submission does not cover the image.
    """

    image: str
    classes: list[str]
    truth: list[list[Any]]
    outcome: Outcome | None


class OutcomesLine(TypedDict):
    """The outcomes of every classifier by name, as in images.jsonl."""

    image: str
    classes: list[str]
    truth: list[list[Any]]
    outcomes: dict[str, Outcome | None]
