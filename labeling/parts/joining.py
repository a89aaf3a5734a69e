"""Merging several people's parts of one object: a vote on the state, then on the pixels.

Pure. Answers are drawings of the kind parts (kinds/parts.py), without skips. A person who does not
mention a part leaves it as it was and has no vote on it. docs/explanation/part-campaigns.md.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple, NotRequired, TypedDict

from labeling.geometry import regions
from labeling.geometry.boxes import iou as box_iou
from labeling.geometry.polygons import PolygonLists, Polygons, as_json, from_json
from labeling.geometry.regions import PixelBox
from labeling.parts import pixel_votes
from labeling.parts.model import OUTLINE

DRAWN = "drawn"
TAKEN, MENDED = "taken", "mended"
# Lowest IoU of the boxes of two outlines of one network that count as one proposal.
ONE_PROPOSAL = 0.8
# Figures are rounded to these digits: the last ones differ between machines.
DIGITS = 4


class ProposalUse(TypedDict):
    """How a drawing used the model's proposal. how: TAKEN or MENDED. iou: of drawing and proposal.
    edits: manual steps afterwards, as the page reports. box: of the proposal, in whole pixels.
    model: the network's SHA-256.
    """

    proposal: str
    how: str
    iou: float
    edits: int
    box: list[int]
    model: str


class PartAnswer(TypedDict):
    """A part in an answer. came: set if the model helped."""

    state: str
    polygons: NotRequired[PolygonLists]
    came: NotRequired[ProposalUse]


class PartAgreement(TypedDict):
    """Agreement on a part.

    voters: people who mention the part. iou: mean over the pairs, 1 for the same state, 0 for
    different states. least: the lowest of them. boundary_f: mean over pairs of drawings. None
    without pairs. Two drawings of one proposal are not a pair. assisted: how many drew with the
    model, if any did.
    """

    voters: int
    iou: float | None
    boundary_f: float | None
    least: float | None
    assisted: NotRequired[int]


class DrawnParts(TypedDict):
    """A drawing. agreement: by part, for a merged answer."""

    parts: dict[str, PartAnswer]
    outline: PolygonLists | None
    half: bool | None
    agreement: NotRequired[dict[str, PartAgreement]]


# The network and its proposal's box; () for manual drawings.
Source = tuple[str, PixelBox] | tuple[()]


class PartLabel(NamedTuple):
    """A person's label of a part. polygons: empty unless it is drawn."""

    state: str
    polygons: Polygons = ()
    source: Source = ()


def labels_in(value: Mapping[str, Any]) -> dict[str, PartLabel]:
    """Return the label of each part in an answer, with the object's outline as "object".

    >>> labels_in({"parts": {"tail": {"state": "occluded"}}, "outline": None})
    {'tail': PartLabel(state='occluded', polygons=(), source=())}
    """
    labels = {
        key: PartLabel(
            part["state"], from_json(part.get("polygons", ())), _source(part.get("came"))
        )
        for key, part in value.get("parts", {}).items()
    }
    if value.get("outline"):
        labels[OUTLINE] = PartLabel(DRAWN, from_json(value["outline"]))
    return labels


def _source(came: ProposalUse | None) -> Source:
    if came is None:
        return ()
    x0, y0, x1, y1 = came["box"]
    return came["model"], (x0, y0, x1, y1)


def is_assisted(value: Mapping[str, Any]) -> bool:
    """Return whether any part of a single or merged answer was drawn with the model."""
    helped = ("came" in part for part in value.get("parts", {}).values())
    return any(helped) or any("assisted" in part for part in value.get("agreement", {}).values())


def is_same_proposal(a: Source, b: Source) -> bool:
    """Return whether two drawings are based on one proposal: same network, nearly the same box.

    Two people who click a few pixels apart get outlines with the same errors.
    """
    if not a or not b:
        return False
    return a[0] == b[0] and box_iou(a[1], b[1]) >= ONE_PROPOSAL


def shares(sources: Sequence[Source]) -> list[Fraction]:
    """Return the voting weight of each drawing; drawings of one proposal share one vote.

    >>> shares([(), ("m", (0, 0, 9, 9)), ("m", (0, 0, 9, 9))])
    [Fraction(1, 1), Fraction(1, 2), Fraction(1, 2)]
    """
    group = list(range(len(sources)))
    for a, b in combinations(range(len(sources)), 2):
        if is_same_proposal(sources[a], sources[b]) and group[a] != group[b]:
            old, new = group[b], group[a]
            group = [new if each == old else each for each in group]
    return [Fraction(1, group.count(each)) for each in group]


def _content(label: PartLabel) -> PartAnswer:
    if label.state != DRAWN:
        return {"state": label.state}
    return {"state": DRAWN, "polygons": as_json(label.polygons)}


def joined(values: Sequence[DrawnParts], weights: Sequence[float]) -> DrawnParts:
    """Return the merged answer of these people, with their agreement by part.

    weights: above 0, one each. A part is included if at least half of the weight mentions it. Its
    state is the one with most weight; if that is "drawn", those who drew it vote on the pixels. The
    order of people does not matter; a single answer is returned unchanged.
    """
    if len(values) == 1:
        return {**values[0]}
    people = [labels_in(value) for value in values]
    exact_weights = [Fraction(str(round(weight, 6))) for weight in weights]
    keys = sorted({key for labels in people for key in labels})
    parts: dict[str, PartLabel] = {}
    for key in keys:
        proposal_shares = shares([labels[key].source if key in labels else () for labels in people])
        vote_weights = [
            weight * share for weight, share in zip(exact_weights, proposal_shares, strict=True)
        ]
        voters = [
            (labels[key], weight)
            for labels, weight in zip(people, vote_weights, strict=True)
            if key in labels
        ]
        if 2 * sum(weight for _, weight in voters) >= sum(vote_weights):
            parts[key] = _voted(voters)
    return {
        "parts": {key: _content(parts[key]) for key in keys if key in parts and key != OUTLINE},
        "outline": as_json(parts[OUTLINE].polygons) if OUTLINE in parts else None,
        "half": True if any(value.get("half") for value in values) else None,
        "agreement": {
            key: agreement([labels[key] for labels in people if key in labels]) for key in keys
        },
    }


def _voted(voters: Sequence[tuple[PartLabel, Fraction]]) -> PartLabel:
    totals: dict[str, Fraction] = {}
    for label, weight in voters:
        totals[label.state] = totals.get(label.state, Fraction(0)) + weight
    # A tie goes to the drawing, so that no drawing is lost before a reviewer looks.
    state = min(totals, key=lambda word: (-totals[word], word != DRAWN, word))
    if state != DRAWN:
        return PartLabel(state)
    drawn = sorted(
        ((label.polygons, weight) for label, weight in voters if label.state == DRAWN),
        key=lambda pair: (-pair[1], pair[0]),
    )
    region = pixel_votes.region_vote(
        [polygons for polygons, _ in drawn], [float(weight) for _, weight in drawn]
    )
    # No pixel has a majority: use the drawing with the highest weight, for a reviewer to see.
    return PartLabel(DRAWN, region or drawn[0][0])


def agreement(labels: Sequence[PartLabel]) -> PartAgreement:
    """Return how far people agree on one part."""
    # Sort: the last digit of a mean must not depend on the order of votes.
    labels = sorted(labels)
    drawn = [label for label in labels if label.state == DRAWN]
    assisted = sum(bool(label.source) for label in drawn)
    figures_of_pairs = pixel_votes.agreement([label.polygons for label in drawn])
    pairs = [
        figures
        for figures, (a, b) in zip(figures_of_pairs, combinations(drawn, 2), strict=True)
        if not is_same_proposal(a.source, b.source)
    ]
    boundaries = [boundary for _, boundary in pairs]
    ious = [iou for iou, _ in pairs] + [
        float(a.state == b.state)
        for a, b in combinations(labels, 2)
        if not a.state == b.state == DRAWN
    ]
    compared: PartAgreement = {
        "voters": len(labels),
        "iou": _mean(ious),
        "boundary_f": _mean(boundaries),
        "least": round(min(ious), DIGITS) if ious else None,
    }
    return {**compared, "assisted": assisted} if assisted else compared


def _mean(figures: Sequence[float]) -> float | None:
    return round(sum(figures) / len(figures), DIGITS) if figures else None


def least_agreement(value: Mapping[str, Any]) -> float:
    """Return the lowest IoU of any two people on any part of a merged answer; 1 without pairs."""
    figures = [part["least"] for part in value.get("agreement", {}).values()]
    return min((figure for figure in figures if figure is not None), default=1.0)


def likeness(label: PartLabel | None, known: PartLabel) -> float:
    """Return the score of a part's label in [0, 1]: IoU of two drawings, else whether states are
    equal.
    """
    if label is None or label.state != known.state:
        return 0.0
    return regions.iou(label.polygons, known.polygons) if known.state == DRAWN else 1.0


def agreement_points(values: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return how well each person's parts fit the merged result, (N,) in [0, 1]; None for people
    who mention no part that others mention.

    For two people it is their agreement. For three or more it is each one's agreement with the
    region from expectation maximisation (pixel_votes.segmentation_em), so that two who agree
    outweigh a third.
    """
    people = [labels_in(value) for value in values]
    points: list[list[float]] = [[] for _ in people]
    for key in sorted({key for labels in people for key in labels}):
        speakers = [at for at, labels in enumerate(people) if key in labels]
        if len(speakers) > 1:
            fits = _points([people[at][key] for at in speakers])
            for at, point in zip(speakers, fits, strict=True):
                points[at] += [] if point is None else [point]
    return [sum(fits) / len(fits) if fits else None for fits in points]


def _points(labels: Sequence[PartLabel]) -> list[float | None]:
    if len(labels) == 2:
        # Two drawings of one proposal tell nothing about either person.
        same = is_same_proposal(labels[0].source, labels[1].source)
        return [None if same else likeness(labels[0], labels[1])] * 2
    drawn = [label.polygons for label in labels if label.state == DRAWN]
    if 2 * len(drawn) <= len(labels):
        states = [label.state for label in labels]
        commonest = max(sorted(set(states)), key=states.count)
        return [float(state == commonest) for state in states]
    box = pixel_votes.box_around(drawn)
    masks = [regions.mask_of(polygons, box) for polygons in drawn]
    region, _ = pixel_votes.segmentation_em(masks)
    mask_fits = iter([regions.mask_iou(mask, region) for mask in masks])
    return [next(mask_fits) if label.state == DRAWN else 0.0 for label in labels]
