"""Overlapping boxes: a close-up of each with the possible actions."""

from collections.abc import Sequence
from dataclasses import dataclass

from labeling.geometry.boxes import Box
from labeling.models import Campaign
from labeling.quality.box_overlaps import CLASSES, FINER, SAME, Finding
from labeling.reports.boxes_picture import BoxesPicture, BoxLayer

# Margin around the boxes, as a share of their longer side.
AROUND = 0.6
# (action, words, key) of each kind of finding; {first} and {second} are names of classes.
WORDS = {
    SAME: (
        ("merge", "Merge, weighted by accuracy", "m"),
        ("mean", "Merge, plain mean", "p"),
        ("first", "Remove the yellow one", "1"),
        ("second", "Remove the blue one", "2"),
        ("leave", "Two objects: keep both", "l"),
    ),
    CLASSES: (
        ("first", "The yellow box is not a {first}", "1"),
        ("second", "The blue box is not a {second}", "2"),
        ("leave", "Both are right: keep both", "l"),
    ),
    FINER: (
        ("take", "Use them for {first} and look for more", "t"),
        ("leave", "Leave it to annotators", "l"),
    ),
}
TITLES = {
    SAME: "Two boxes of {first}",
    CLASSES: "{first} and {second}",
    FINER: "{first} has no boxes yet, {second} has",
}


@dataclass(frozen=True)
class OverlapAction:
    value: str
    words: str
    key: str


@dataclass(frozen=True)
class OverlapRow:
    finding: Finding
    title: str
    picture: BoxesPicture
    actions: list[OverlapAction]


def rows(campaign: Campaign, findings: Sequence[Finding]) -> list[OverlapRow]:
    """Return a row for each finding. One query."""
    names = dict(campaign.topics.values_list("key", "name"))
    return [_row(finding, names) for finding in findings]


def _row(finding: Finding, names: dict[str, str]) -> OverlapRow:
    first, second = (names.get(topic, topic) for topic in finding.topics)
    titles = {"first": first, "second": second}
    if finding.kind == FINER:
        layers = [BoxLayer("second", finding.boxes, f"boxes of {second}")]
    else:
        words = ("yellow", "blue") if finding.kind == SAME else (first, second)
        layers = [
            BoxLayer("first", finding.boxes[:1], words[0]),
            BoxLayer("second", finding.boxes[1:], words[1]),
        ]
    title = TITLES[finding.kind].format(**titles)
    picture = BoxesPicture(
        finding.width, finding.height, layers, label=title, view=_surroundings(finding)
    )
    actions = [
        OverlapAction(value, words.format(**titles), key)
        for value, words, key in WORDS[finding.kind]
    ]
    return OverlapRow(finding, title, picture, actions)


def _surroundings(finding: Finding) -> Box:
    """Return the surroundings of the boxes."""
    x0, y0 = (min(box[side] for box in finding.boxes) for side in (0, 1))
    x1, y1 = (max(box[side] for box in finding.boxes) for side in (2, 3))
    room = AROUND * max(x1 - x0, y1 - y0)
    return (
        max(0.0, round(x0 - room, 1)),
        max(0.0, round(y0 - room, 1)),
        min(float(finding.width), round(x1 + room, 1)),
        min(float(finding.height), round(y1 + room, 1)),
    )
