"""Effect of a model's proposals on drawings: quality and time with and without, bad proposals.

Reads drawings, so only the latest seats of a large campaign.
docs/explanation/part-campaigns.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from django.db.models import QuerySet

from labeling.assistance import embedding, networks
from labeling.db.cached import cached
from labeling.estimators.intervals import mean_interval, wilson_interval
from labeling.geometry import regions
from labeling.geometry.polygons import from_json
from labeling.kinds import KINDS
from labeling.models import Answer, Assistance, Campaign, Gold, Proposal, Seat
from labeling.parts.joining import DRAWN, TAKEN, PartLabel, labels_in, likeness
from labeling.records import Record

# Seats read for a page.
MAX_SEATS = 400
# A proposal or drawing with a lower IoU with gold is bad.
BAD_IOU = 0.5


@dataclass(kw_only=True)
class Mean(Record):
    """A mean with its 95 % interval, for at least two values."""

    value: float | None
    interval: list[float] | None
    n: int


@dataclass(kw_only=True)
class ProposalShare(Record):
    """`count` of `of`, with the 95 % interval."""

    count: int
    of: int
    value: float | None
    interval: list[float] | None


@dataclass(kw_only=True)
class Arm(Record):
    """Drawings with the model available, or without it.

    seconds_per_part: of one drawn part. gold_iou: with gold, by part. others_iou: with other
    people's drawings that used no proposal. bad: parts of gold drawn with an IoU below 0.5.
    """

    drawings: int
    parts: int
    seconds_per_part: Mean
    median_seconds_per_part: float | None
    gold_iou: Mean
    others_iou: Mean
    bad: ProposalShare


@dataclass(kw_only=True)
class Network(Record):
    """images: with questions. embedded: with an embedding. fits: how many fit into the budget.
    bytes: size of the embeddings.
    """

    name: str
    sha256: str
    images: int
    embedded: int
    fits: int
    bytes: int
    budget: int


@dataclass(kw_only=True)
class ProposalFigures(Record):
    """Drawings with and without a model.

    time_ratio: seconds per part with the model over those without. iou_difference: of gold_iou.
    requests (API: asked): parts for which the model was queried; taken, mended: proposals that
    became drawings; refused: the others. bad_proposals: of proposals for gold with an IoU below
    0.5, those whose submitted drawing stays below it.
    """

    network: Network | None
    seats: int
    with_model: Arm
    without_model: Arm
    time_ratio: float | None
    iou_difference: float | None
    requests: int = field(metadata={"key": "asked"})
    taken: int
    mended: int
    refused: int
    bad_proposals: ProposalShare


@dataclass
class _Values:
    drawings: int = 0
    parts: int = 0
    seconds: list[float] = field(default_factory=list)
    gold: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _DrawnSeat:
    """A seat with its latest drawing. gold: the known answer, if any."""

    pk: int
    question: int
    assisted: bool
    seconds: float
    labels: Mapping[str, PartLabel]
    used_proposals: Mapping[str, Mapping[str, Any]]
    gold: Mapping[str, PartLabel] | None


def of_page(campaign: Campaign) -> ProposalFigures | None:
    """Return the cached figures of the latest seats; None if the model was never used."""
    known = networks.for_campaign(campaign) is not None or _seats_of(campaign).exists()
    if not known:
        return None
    return cached(f"proposals:{campaign.pk}", lambda: figures(campaign, MAX_SEATS))


def figures(campaign: Campaign, most: int | None = None) -> ProposalFigures:
    """Return the figures of the latest `most` seats; None for all."""
    seats = _read(campaign, most)
    values = {True: _Values(), False: _Values()}
    alone: dict[int, list[_DrawnSeat]] = defaultdict(list)
    for seat in seats:
        if not seat.used_proposals:
            alone[seat.question].append(seat)
    for seat in seats:
        _add(values[seat.assisted], seat, alone[seat.question])
    helped, without = (_arm(values[assisted]) for assisted in (True, False))
    proposals = {
        (row.assignment_id, row.part): row
        for row in Proposal.objects.filter(
            assignment__in=[seat.pk for seat in seats if seat.assisted]
        ).order_by("pk")
    }
    uses = [each for seat in seats for each in seat.used_proposals.values()]
    taken = sum(each["how"] == TAKEN for each in uses)
    return ProposalFigures(
        network=_network(campaign),
        seats=len(seats),
        with_model=helped,
        without_model=without,
        time_ratio=_ratio(helped.seconds_per_part.value, without.seconds_per_part.value),
        iou_difference=_difference(helped.gold_iou.value, without.gold_iou.value),
        requests=len(proposals),
        taken=taken,
        mended=len(uses) - taken,
        refused=max(0, len(proposals) - len(uses)),
        bad_proposals=_bad_proposals(seats, proposals),
    )


def _seats_of(campaign: Campaign) -> QuerySet[Assistance]:
    return Assistance.objects.filter(
        assignment__question__campaign=campaign,
        assignment__state=Seat.State.ANSWERED,
        assignment__ordinal__isnull=False,
    )


def _read(campaign: Campaign, most: int | None) -> list[_DrawnSeat]:
    """Return the seats with drawings. Three queries."""
    rows = (
        _seats_of(campaign)
        .order_by("-pk")
        .values_list("assignment_id", "assignment__question_id", "assisted")
    )
    arms = {pk: (question, assisted) for pk, question, assisted in rows[:most]}
    longest = KINDS[campaign.kind].longest_work_ms
    spent: dict[int, int] = defaultdict(int)
    latest: dict[int, Any] = {}
    answers = Answer.objects.filter(assignment__in=arms, late=False)
    for pk, value, duration in answers.order_by("assignment_id", "revision").values_list(
        "assignment_id", "value", "duration_ms"
    ):
        latest[pk] = value
        spent[pk] += min(duration or 0, longest)
    known = dict(
        Gold.objects.filter(question__in={question for question, _ in arms.values()}).values_list(
            "question_id", "answer"
        )
    )
    return [
        _seat(pk, *arms[pk], spent[pk] / 1000, value, known)
        for pk, value in sorted(latest.items())
        if "parts" in value
    ]


def _seat(
    pk: int,
    question: int,
    assisted: bool,
    seconds: float,
    value: Mapping[str, Any],
    known: Mapping[int, Mapping[str, Any]],
) -> _DrawnSeat:
    used_proposals = {key: part["came"] for key, part in value["parts"].items() if "came" in part}
    gold = labels_in(known[question]) if question in known else None
    return _DrawnSeat(pk, question, assisted, seconds, labels_in(value), used_proposals, gold)


def _add(values: _Values, seat: _DrawnSeat, alone: Iterable[_DrawnSeat]) -> None:
    drawn = [key for key, label in seat.labels.items() if label.state == DRAWN]
    values.drawings += 1
    values.parts += len(drawn)
    if drawn and seat.seconds:
        values.seconds.append(seat.seconds / len(drawn))
    if seat.gold is not None:
        values.gold += [
            likeness(seat.labels.get(key), label)
            for key, label in seat.gold.items()
            if label.state == DRAWN
        ]
        return
    values.others += [
        regions.iou(seat.labels[key].polygons, alternative.labels[key].polygons)
        for alternative in alone
        if alternative.pk != seat.pk
        for key in drawn
        if key in alternative.labels and alternative.labels[key].state == DRAWN
    ]


def _bad_proposals(
    seats: Sequence[_DrawnSeat], proposals: Mapping[tuple[int, str], Proposal]
) -> ProposalShare:
    """Return the share of bad proposals, by the last one for each part of gold."""
    bad_proposals = accepted = 0
    for seat in seats:
        for key, label in (seat.gold or {}).items():
            row = proposals.get((seat.pk, key))
            if row is None or label.state != DRAWN:
                continue
            if regions.iou(from_json(row.polygons), label.polygons) < BAD_IOU:
                bad_proposals += 1
                sent = seat.labels.get(key)
                accepted += key in seat.used_proposals and likeness(sent, label) < BAD_IOU
    return _share(accepted, bad_proposals)


def _arm(values: _Values) -> Arm:
    return Arm(
        drawings=values.drawings,
        parts=values.parts,
        seconds_per_part=_mean(values.seconds),
        median_seconds_per_part=median(values.seconds) if values.seconds else None,
        gold_iou=_mean(values.gold),
        others_iou=_mean(values.others),
        bad=_share(sum(iou < BAD_IOU for iou in values.gold), len(values.gold)),
    )


def _network(campaign: Campaign) -> Network | None:
    network = networks.for_campaign(campaign)
    if network is None:
        return None
    state = embedding.state(network)
    return Network(
        name=network.name,
        sha256=network.sha256,
        images=state.images,
        embedded=state.embedded,
        fits=state.fits,
        bytes=state.bytes,
        budget=network.budget,
    )


def _mean(values: Sequence[float]) -> Mean:
    interval = mean_interval(values)
    return Mean(
        value=fmean(values) if values else None,
        interval=list(interval) if interval else None,
        n=len(values),
    )


def _share(count: int, of: int) -> ProposalShare:
    return ProposalShare(
        count=count,
        of=of,
        value=count / of if of else None,
        interval=list(wilson_interval(count, of)) if of else None,
    )


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _difference(a: float | None, b: float | None) -> float | None:
    return a - b if a is not None and b is not None else None
