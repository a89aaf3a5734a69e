"""What people looked at before they named an image, and what seeing models' names did to their
answers. Read-only, of the latest answers.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, OuterRef, Subquery

from labeling.estimators.intervals import mean_interval, wilson_interval
from labeling.kinds import KINDS, Kind
from labeling.kinds.naming import keys_of
from labeling.models import Answer, Campaign, Question, SecondAnswer

# So many answers are read, however many there are.
LATEST = 5_000
TOP = 5


@dataclass(frozen=True)
class Looks:
    """Of answers whose page told: how many, the mean number of searches, siblings and examples, and
    the shares that had any."""

    answers: int
    searches: float
    siblings: float
    examples: float
    with_siblings: float
    with_examples: float


@dataclass(frozen=True)
class Pass:
    """Of the known images of a pass: errors among the first and the first five, 95 % intervals."""

    top1_error: float
    top1_interval: tuple[float, float]
    top5_error: float
    top5_interval: tuple[float, float]


@dataclass(frozen=True)
class Bias:
    """What seeing proposals did. changed: second answers other than the first; toward: that took up
    a proposed class, or set it first; away: that dropped one.

    known: answers on gold. right_to_wrong, wrong_to_right: of these by whether a class is right;
    difference: second less first top-5 error, with the interval of the paired difference.
    """

    answers: int
    changed: int
    changed_share: float
    changed_interval: tuple[float, float]
    toward: int
    away: int
    known: int
    right_to_wrong: int
    wrong_to_right: int
    first: Pass | None
    second: Pass | None
    difference: float | None
    difference_interval: tuple[float, float] | None


@dataclass(frozen=True)
class NamingFigures:
    """looks, bias: None where there is nothing to say."""

    looks: Looks | None
    bias: Bias | None


def figures(campaign: Campaign) -> NamingFigures | None:
    """None for campaigns where an answer lists no classes. Three queries."""
    if not campaign.settings.get("most"):
        return None
    return NamingFigures(_looks(campaign), _bias(campaign))


def _looks(campaign: Campaign) -> Looks | None:
    rows = (
        Answer.objects.filter(assignment__question__campaign=campaign, looks__isnull=False)
        .order_by("-created_at")
        .values_list("looks", flat=True)[:LATEST]
    )
    counts = [Counter(look["did"] for look in looks or ()) for looks in rows]
    if not counts:
        return None
    total: Counter[str] = sum(counts, Counter())
    return Looks(
        answers=len(counts),
        searches=total["search"] / len(counts),
        siblings=total["siblings"] / len(counts),
        examples=total["example"] / len(counts),
        with_siblings=sum(bool(own["siblings"]) for own in counts) / len(counts),
        with_examples=sum(bool(own["example"]) for own in counts) / len(counts),
    )


@dataclass(frozen=True)
class _Seen:
    """A second answer beside the first. known: the answer of gold."""

    first: list[str]
    second: list[str]
    shown: list[str]
    known: list[str] | None


def _bias(campaign: Campaign) -> Bias | None:
    rows = _seen(campaign)
    if not rows:
        return None
    changed = [row for row in rows if row.first != row.second]
    known = [row for row in rows if row.known is not None]
    wrong = [(not _hits(row.first, row), not _hits(row.second, row)) for row in known]
    differences = [float(second) - float(first) for first, second in wrong]
    return Bias(
        answers=len(rows),
        changed=len(changed),
        changed_share=len(changed) / len(rows),
        changed_interval=wilson_interval(len(changed), len(rows)),
        toward=sum(_is_toward(row.first, row.second, row.shown) for row in changed),
        away=sum(_is_toward(row.second, row.first, row.shown) for row in changed),
        known=len(known),
        right_to_wrong=sum(not first and second for first, second in wrong),
        wrong_to_right=sum(first and not second for first, second in wrong),
        first=_pass([(row.first, row) for row in known]),
        second=_pass([(row.second, row) for row in known]),
        difference=sum(differences) / len(differences) if differences else None,
        difference_interval=mean_interval(differences),
    )


def _seen(campaign: Campaign) -> list[_Seen]:
    kind = KINDS[campaign.kind]
    last = Answer.objects.filter(assignment=OuterRef("assignment")).order_by().values("assignment")
    revision = Subquery(last.annotate(last=Max("revision")).values("last"))
    first = Answer.objects.filter(assignment=OuterRef("assignment"), revision=revision)
    rows = (
        SecondAnswer.objects.filter(
            assignment__question__campaign=campaign, answered_at__isnull=False
        )
        .annotate(before=Subquery(first.values("value")[:1]))
        .order_by("-answered_at")
        .values_list(
            *("before", "value", "shown", "assignment__question__state"),
            *("assignment__question__gold__answer", "assignment__question__gold__retired_at"),
        )[:LATEST]
    )
    return [
        _Seen(
            _names(kind, before),
            _names(kind, after),
            shown,
            _names(kind, known) if state == Question.State.GOLD and retired is None else None,
        )
        for before, after, shown, state, known, retired in rows
        if shown
    ]


def _names(kind: Kind, value: Any) -> list[str]:
    """The classes of an answer; its word where it names none."""
    return keys_of(value) or [kind.tally_name(value)]


def _hits(answer: list[str], row: _Seen) -> bool:
    return not set(answer).isdisjoint(row.known or ())


def _is_toward(before: list[str], after: list[str], shown: list[str]) -> bool:
    """Whether `after` has a proposed class that `before` lacks, or one first that was not."""
    taken_up = (set(after) - set(before)) & set(shown)
    return bool(taken_up) or (after[:1] != before[:1] and after[0] in shown)


def _pass(rows: list[tuple[list[str], _Seen]]) -> Pass | None:
    if not rows:
        return None
    top1 = sum(not _hits(answer[:1], row) for answer, row in rows)
    top5 = sum(not _hits(answer[:TOP], row) for answer, row in rows)
    return Pass(
        top1 / len(rows),
        wilson_interval(top1, len(rows)),
        top5 / len(rows),
        wilson_interval(top5, len(rows)),
    )
