"""The classes whose candidates a campaign verifies, as of the last check: for pages, files, API."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from labeling.estimators.intervals import clopper_pearson
from labeling.kinds import policies
from labeling.kinds.candidates import StopRules, stop_rules
from labeling.models import Campaign, Verification
from labeling.quality import verifying

State, Reason = Verification.State, Verification.Reason
STATED = Coalesce("precision", "by_table")
# By query parameter: the label and the ordering.
SORTS = {
    "name": ("by name", (F("topic__name").asc(), F("topic__key").asc())),
    "precision": ("least precise first", (STATED.asc(nulls_last=True), F("topic__name").asc())),
    "yes": ("fewest images first", (F("yes").asc(), F("topic__name").asc())),
    "cost": ("most expensive first", (F("cost").desc(), F("topic__name").asc())),
}
# Possible lower ends of a page's charts of precision; the last shows the full range.
FLOORS = (0.99, 0.98, 0.95, 0.9, 0.8, 0.5, 0.0)
COLUMNS = (
    "class",
    "name",
    "state",
    "reason",
    "candidates",
    "asked",
    "open",
    "yes",
    "no",
    "by_table",
    "precision",
    "low",
    "high",
    "audited",
    "wrong",
    "answers",
    "cost",
    "currency",
)


@dataclass(frozen=True)
class Summary:
    """All classes together.

    audited, wrong: of the labels yes. share: of audited labels that were right, with its interval
    (Clopper and Pearson). by_table: expected by the vote tables. looked_at: None before the first
    check. without_table: number of classes without a table of their own.
    """

    classes: int
    stopped: int
    reached: int
    yes: int
    cost: float
    currency: str
    by_table: float | None
    audited: int
    wrong: int
    share: float | None
    interval: tuple[float, float]
    without_table: int
    looked_at: object


def summary(campaign: Campaign) -> Summary:
    """Return the summary of all classes. One query."""
    totals = Verification.objects.filter(topic__campaign=campaign).aggregate(
        classes=Count("pk"),
        stopped=Count("pk", filter=Q(state=State.STOPPED)),
        reached=Count("pk", filter=Q(reason=Reason.PRECISION)),
        images=Sum("yes"),
        spent=Sum("cost"),
        expected=Sum(F("yes") * F("by_table")),
        checked=Sum("audited"),
        faults=Sum("wrong"),
        without_table=Count("pk", filter=Q(has_table=False)),
        looked_at=Max("looked_at"),
    )
    yes, audited, wrong = (totals[key] or 0 for key in ("images", "checked", "faults"))
    return Summary(
        classes=totals["classes"],
        stopped=totals["stopped"],
        reached=totals["reached"],
        yes=yes,
        cost=totals["spent"] or 0.0,
        currency=policies.for_campaign(campaign)["currency"],
        by_table=(totals["expected"] or 0.0) / yes if yes else None,
        audited=audited,
        wrong=wrong,
        share=(audited - wrong) / audited if audited else None,
        interval=clopper_pearson(audited - wrong, audited),
        without_table=totals["without_table"],
        looked_at=totals["looked_at"],
    )


def matching_classes(
    campaign: Campaign, sort: str = "name", search: str = ""
) -> QuerySet[Verification]:
    """Return the classes whose name or key contains the search, in one of SORTS."""
    rows = Verification.objects.filter(topic__campaign=campaign).select_related("topic")
    if search:
        rows = rows.filter(Q(topic__name__icontains=search) | Q(topic__key__icontains=search))
    _, order = SORTS.get(sort, SORTS["name"])
    return rows.defer("withdrawn").order_by(*order)


@dataclass(frozen=True)
class PrecisionPicture:
    """A class's precision on a line from the page's floor (0) to 100 % (1).

    It has the interval, the estimate, the table's value and the target.
    """

    low: float | None
    high: float | None
    stated: float | None
    by_table: float | None
    required: float


@dataclass(frozen=True)
class CandidateClassRow:
    """state: in words. tone: style of its badge. picture: None without an estimate."""

    row: Verification
    state: str
    tone: str
    stated: float | None
    below: bool
    picture: PrecisionPicture | None


def class_rows(
    campaign: Campaign, rows: Sequence[Verification]
) -> tuple[list[CandidateClassRow], float]:
    """Return a row for each class, and the floor of their pictures."""
    rules = stop_rules(campaign.settings)
    floor = _floor(rows, rules)
    return [_row(row, rules, floor) for row in rows], floor


def _floor(rows: Iterable[Verification], rules: StopRules) -> float:
    """Return the floor that puts estimates and targets into the upper half of the line.

    Intervals may begin below it.
    """
    stated = [verifying.stated_precision(row) for row in rows]
    least = min([rules.precision, *(share for share in stated if share is not None)])
    return next((floor for floor in FLOORS if floor <= 1 - 2 * (1 - least)), 0.0)


def _row(row: Verification, rules: StopRules, floor: float) -> CandidateClassRow:
    stated = verifying.stated_precision(row)
    below = stated is not None and stated < rules.precision
    state, tone = _state(row, rules, below)
    picture = None
    if stated is not None:
        places = [row.low, row.high, stated, row.by_table, rules.precision]
        low, high, *rest = (None if at is None else _place(at, floor) for at in places)
        picture = PrecisionPicture(low, high, rest[0], rest[1], rest[2] or 0.0)
    return CandidateClassRow(row, state, tone, stated, below, picture)


def _place(share: float, floor: float) -> float:
    return max(0.0, (share - floor) / (1 - floor))


def _state(row: Verification, rules: StopRules, below: bool) -> tuple[str, str]:
    """Return the state in words and the style of its badge."""
    if row.state == State.STOPPED:
        tone = "paused" if row.reason == Reason.HAND else "settled"
        return f"stopped: {row.get_reason_display()}", tone
    if not row.open:
        if row.candidates and below:
            return "all finished, below the target", "review"
        return ("all finished", "settled") if row.candidates else ("no candidate", "closed")
    if row.waived:
        return f"resumed, although {Reason(row.waived).label}", "open"
    return "being asked", "open"


def csv_rows(campaign: Campaign) -> Iterator[Sequence[object]]:
    """Yield COLUMNS, then a row for each class, by name."""
    yield COLUMNS
    currency = policies.for_campaign(campaign)["currency"]
    for row in matching_classes(campaign):
        figures = [getattr(row, name) for name in COLUMNS[4:-1]]
        yield row.topic.key, row.topic.name, row.state, row.reason, *figures, currency
