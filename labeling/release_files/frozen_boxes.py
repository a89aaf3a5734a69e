"""Boxes in a release: a line for each box, and the coverage of each class of an image. Pure.

Unasked pairs are unknown; unfinished ones are partial if they have boxes, else unknown. A class is
absent from an image only if somebody said so, or if the campaign's initial labels decide every
class.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, NotRequired, TypedDict

from labeling.boxes.chain import ABSENT, FLAGS
from labeling.estimators.intervals import Z95
from labeling.release_files.groups import Groups

BOXES_FILE, COVERAGE_FILE = "boxes.jsonl", "coverage.jsonl"
# Sample size assumed for the default deviation of a person whose skill was not learned.
MIN_SIDES = 2
DIGITS = 6


class BoxLine(TypedDict):
    """A line of boxes.jsonl.

    box: x0, y0, x1, y1 in upright pixels. came: drawn, clicked or proposed. drawings: number of
    people who drew it. iou_error: expected 1 − IoU with the true box; None for a proposal.
    """

    image: str
    wnid: str
    box: list[float]
    group: bool
    truncated: bool
    occluded: bool
    difficult: bool
    came: str
    drawings: int
    iou_error: float | None


class CoverageLine(TypedDict):
    """A line of coverage.jsonl. state: complete, absent, partial or unknown."""

    image: str
    wnid: str
    state: str


class BoxStatedError(TypedDict):
    """The mean iou_error of a class in release.json.

    interval: 95 %, of the true mean error of these boxes. boxes: their number. proposed: further
    boxes whose error is unknown.
    """

    iou_error: float | None
    interval: NotRequired[list[float]]
    boxes: int
    proposed: int


class Drawer(NamedTuple):
    """The drawing skill of a person.

    sigma: deviation of a side as a share of the longer side. sides: the sample size.
    """

    sigma: float
    sides: int


def merged_coverage(
    images: Iterable[str], *sources: Iterable[CoverageLine]
) -> Iterator[CoverageLine]:
    """Yield the lines of these images, each pair once, from the first source that has it.

    images and sources ascend by image, sources by class too.
    """
    keyed = [
        ((line["image"], line["wnid"], number, line) for line in source)
        for number, source in enumerate(sources)
    ]
    names = iter(images)
    name = next(names, None)
    last = None
    for image, wnid, _, line in heapq.merge(*keyed, key=itemgetter(0, 1, 2)):
        while name is not None and name < image:
            name = next(names, None)
        if name == image and last != (image, wnid):
            last = image, wnid
            yield line


class LabelOfBoxes(TypedDict):
    """The label of a class of an image. flags: of each box."""

    image: str
    wnid: str
    state: str
    boxes: list[list[float]]
    flags: list[list[str]]


def labels(
    images: Iterable[str],
    coverage: Iterable[CoverageLine],
    boxes: Iterable[BoxLine],
    unlisted: Sequence[str] = (),
) -> Iterator[LabelOfBoxes]:
    """Yield every known class of every image, by image and class.

    unlisted: classes that are absent from images whose coverage does not name them.
    """
    states_by_image = Groups(coverage)
    drawn = Groups(boxes)
    for image in images:
        states = {line["wnid"]: line["state"] for line in states_by_image.of(image)}
        lines_by_class: dict[str, list[BoxLine]] = defaultdict(list)
        for line in drawn.of(image):
            lines_by_class[line["wnid"]].append(line)
        for wnid in sorted({*states, *lines_by_class, *unlisted}):
            rows = lines_by_class[wnid]
            yield {
                "image": image,
                "wnid": wnid,
                "state": states.get(wnid, ABSENT),
                "boxes": [row["box"] for row in rows],
                "flags": [[flag for flag in FLAGS if row[flag]] for row in rows],  # type: ignore[literal-required]
            }


class ErrorTally:
    """The stated errors of boxes, summed by class; can be kept as JSON and joined."""

    def __init__(self) -> None:
        self.boxes: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0])
        # By class and drawer (id, sides), the sum of their boxes' errors.
        self.drawers: dict[tuple[str, int, int], float] = defaultdict(float)

    def add(self, line: BoxLine, deviation: float, drawers: Mapping[int, int]) -> None:
        """Add a box.

        deviation: expected deviation of its error. drawers: by id, the number of sides that each
        one's skill was learned from.
        """
        row = self.boxes[line["wnid"]]
        error = line["iou_error"]
        if error is None:
            row[3] += 1
            return
        row[0] += 1
        row[1] += error
        row[2] += deviation**2
        for person, sides in drawers.items():
            self.drawers[line["wnid"], person, sides] += error / len(drawers)

    def to_json(self) -> list:
        drawers = [[*key, total] for key, total in sorted(self.drawers.items())]
        return [dict(sorted(self.boxes.items())), drawers]

    def join(self, counted: Sequence) -> None:
        boxes, drawers = counted
        for wnid, row in boxes.items():
            self.boxes[wnid] = [a + b for a, b in zip(self.boxes[wnid], row, strict=True)]
        for wnid, person, sides, total in drawers:
            self.drawers[wnid, person, sides] += total

    def content(self) -> dict[str, BoxStatedError]:
        errors: dict[str, BoxStatedError] = {}
        for wnid, (count, total, square, proposed) in sorted(self.boxes.items()):
            row: BoxStatedError = {
                "iou_error": None,
                "boxes": int(count),
                "proposed": int(proposed),
            }
            if count:
                mean = total / count
                # The relative standard error of a deviation learned from n sides is 1 / √(2n).
                unsure = math.fsum(
                    deviation**2 / (2 * max(sides, MIN_SIDES))
                    for (key, _, sides), deviation in self.drawers.items()
                    if key == wnid
                )
                half = Z95 * math.sqrt(square + unsure) / count
                row["iou_error"] = round(mean, DIGITS)
                row["interval"] = [
                    round(max(0.0, mean - half), DIGITS),
                    round(min(1.0, mean + half), DIGITS),
                ]
            errors[wnid] = row
        return errors
