"""Taking questions along: a set of seats under a long lease, to be answered without a connection.

A set is claimed as a page is (claiming.py), gold mixed in at the same share, and its seats are of
no page until they come back. A person has one set of a campaign at a time. The only writer of
TakenAlong. docs/labeling.md.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from labeling.assignment import claiming
from labeling.assignment.candidates import RETURNED
from labeling.db import question_counts
from labeling.db.sql import retried, writing
from labeling.errors import Conflict, NotAllowed, NotYours, Refusal
from labeling.models import Answer, Assignment, Campaign, TakenAlong, User

MOST = 200
# Of a campaign's free seats a person takes at most one in so many along: 5 %.
ONE_IN = 20
# What people may take is said in steps, so that no single seat taken, which gold never is, shows.
STEPS = (10, 5)
MOST_HOURS = 4
# Sets of one person and campaign in 24 hours.
MOST_A_DAY = 24

NOT_ALLOWED = gettext_lazy(
    "Questions of this campaign are not taken along: answer them on the labeling page, with a "
    "connection."
)
TOO_LITTLE = gettext_lazy(
    "Too little is left of this campaign to take any of it along. Answer it on the labeling page."
)
HAS_ONE = gettext_lazy(
    "You have taken questions of this campaign along already. Answer them or give them back first."
)
TOO_OFTEN = gettext_lazy("You have taken questions along often today. Try again tomorrow.")


def most(campaign: Campaign) -> int:
    """How many questions one person may take along now; 0 for none. Counts no rows."""
    free = question_counts.of(campaign.pk).seats_free // ONE_IN
    step = next((step for step in STEPS if free >= step), 0)
    return min(MOST, free // step * step) if step else 0


def take(user: User, campaign: Campaign, key: UUID, questions: int, hours: int) -> TakenAlong:
    """The set now taken along, of at most so many questions for so many hours; with the key of one
    that was taken before, that one, whatever has become of it.

    Raises NotYours for those who are not members and for somebody else's key, CampaignClosed,
    InTraining and NotWorking as claiming.next_page does, NotAllowed where the campaign does not
    allow it, Conflict for a second set, Refusal for a number out of bounds and where nothing is
    left.
    """
    if known := TakenAlong.objects.filter(key=key).select_related("membership").first():
        return _own(known, user, campaign)
    if not campaign.take_along:
        raise NotAllowed(str(NOT_ALLOWED), code="not_taken_along")
    allowed = most(campaign)
    if not allowed:
        raise Refusal(str(TOO_LITTLE), field="questions", code="too_little_left")
    if not 1 <= questions <= allowed:
        raise Refusal(
            gettext("Take 1 to %(most)s questions along.") % {"most": allowed}, field="questions"
        )
    if not 1 <= hours <= MOST_HOURS:
        raise Refusal(
            gettext("Take them along for 1 to %(most)s hours.") % {"most": MOST_HOURS},
            field="hours",
        )
    return _take(user, campaign, key, questions, hours)


def _own(known: TakenAlong, user: User, campaign: Campaign) -> TakenAlong:
    member = known.membership
    if (member.user_id, member.campaign_id) != (user.pk, campaign.pk):
        raise NotYours(gettext("There is no such set of questions."))
    return known


@retried
def _take(user: User, campaign: Campaign, key: UUID, questions: int, hours: int) -> TakenAlong:
    """Reads before the transaction and claims inside it, as a page does."""
    person = claiming.working_reader(user, campaign)
    hand = claiming.hand_of(person, questions)
    with writing():
        # One person's tabs take turns here.
        claiming.lock_member(person)
        now = timezone.now()
        if known := TakenAlong.objects.filter(key=key).select_related("membership").first():
            return _own(known, user, campaign)
        _check_frequency(person.membership_id)
        made = TakenAlong.objects.create(
            key=key,
            membership_id=person.membership_id,
            seats=0,
            taken_at=now,
            until=now + timedelta(hours=hours),
        )
        lease = claiming.Lease(made.until, made.pk)
        made.seats = len(claiming.claim(hand, questions, skip=True, lease=lease))
        if not made.seats:
            raise Refusal(str(TOO_LITTLE), field="questions", code="too_little_left")
        made.save(update_fields=["seats"])
    return made


def _check_frequency(membership_id: int) -> None:
    if _with_seats(TakenAlong.objects.filter(membership=membership_id)).exists():
        raise Conflict(str(HAS_ONE), code="taken_along_already")
    since = timezone.now() - timedelta(days=1)
    rows = TakenAlong.objects.filter(membership=membership_id, taken_at__gt=since)
    if rows.count() >= MOST_A_DAY:
        raise Conflict(str(TOO_OFTEN), code="taken_along_too_often")


def _with_seats(rows: "QuerySet[TakenAlong]") -> "QuerySet[TakenAlong]":
    """Those of which a seat is still to be answered in time."""
    return rows.filter(
        until__gt=timezone.now(), ended_at=None, assignments__state=Assignment.State.LEASED
    ).distinct()


def current(user: User, campaign: Campaign) -> TakenAlong | None:
    """The set that the person has with them now; None for none."""
    rows = TakenAlong.objects.filter(membership__user=user, membership__campaign=campaign)
    return _with_seats(rows).first()


def open_seats(user: User, campaign: Campaign, row: TakenAlong) -> list[claiming.Seat]:
    """What is still to be answered of the set, in the order of the seats' random tokens."""
    return claiming.open_seats(user, campaign, row.pk)


def give_back(user: User, campaign: Campaign, key: UUID) -> int:
    """How many questions of the person's set were given back unanswered: others get them first.
    Twice is no error. Raises NotYours."""
    row = TakenAlong.objects.filter(key=key).select_related("membership").first()
    if row is None:
        raise NotYours(gettext("There is no such set of questions."))
    return _end(_own(row, user, campaign), None)


def call_back(campaign: Campaign, pk: int, actor: User) -> int:
    """How many questions a researcher took back from whoever had them along: their lease ends now.
    Answers that are under way are kept. Raises NotYours."""
    row = TakenAlong.objects.filter(pk=pk, membership__campaign=campaign).first()
    if row is None:
        raise NotYours(gettext("There is no such set of questions."))
    return _end(row, actor)


def _end(row: TakenAlong, actor: User | None) -> int:
    held = row.assignments.filter(state=Assignment.State.LEASED).values_list("pk", flat=True)
    returned = claiming.give_back(list(held), RETURNED)
    # The first end stands: whoever ends a set that is over changes nothing.
    TakenAlong.objects.filter(pk=row.pk, ended_at=None, until__gt=timezone.now()).update(
        ended_at=timezone.now(), ended_by=actor
    )
    return returned


def sets_of(campaign: Campaign) -> "QuerySet[TakenAlong]":
    """The campaign's sets, the latest first, with what became of their questions: `answered`; of
    these `late`, when the question needed nobody any more or the person's work was stopped; and
    `left`, under lease."""
    seats = Assignment.objects.filter(taken_along=OuterRef("pk"))
    late = Answer.objects.filter(assignment__taken_along=OuterRef("pk"), revision=0, late=True)
    return (
        TakenAlong.objects.filter(membership__campaign=campaign)
        .select_related("membership__user", "membership__campaign", "ended_by")
        .annotate(
            answered=_count(seats.filter(state=Assignment.State.ANSWERED)),
            left=_count(seats.filter(state=Assignment.State.LEASED)),
            late=_count(late),
        )
        .order_by("-pk")
    )


def _count(rows: "QuerySet[Any]") -> Coalesce:
    counted = rows.order_by().annotate(one=Value(1)).values("one").annotate(count=Count("pk"))
    return Coalesce(Subquery(counted.values("count")), 0)
