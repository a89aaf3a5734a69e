"""Which seats draw with the model: decided once per seat, when its page is first given out.

The only writer of Assistance. promptable/arms.py makes the decision. If one image of a page has no
embedding, all its seats draw without.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from labeling.assistance import networks
from labeling.consensus import calibration_store
from labeling.db.sql import lock_questions, writing
from labeling.models import (
    Assistance,
    Campaign,
    ImageEmbedding,
    Membership,
    Question,
    Seat,
    SegmentationNetwork,
)
from labeling.promptable import arms

LEASED = Seat.State.LEASED
LIVE = (LEASED, Seat.State.ANSWERED)


def assistance_by_seat(
    seats: Sequence[Seat], campaign: Campaign, network: SegmentationNetwork
) -> dict[int, bool]:
    """Return by primary key whether each of one person's seats on a page draws with the model.

    Seats of training are left out, and those answered before there was a network. The number of
    queries is constant, also for gold.
    """
    known = _known([seat.pk for seat in seats])
    fresh = [seat for seat in seats if seat.pk not in known and seat.state == LEASED]
    if fresh and _is_working(fresh[0].annotator_id, campaign):
        with writing():
            lock_questions(sorted({seat.question_id for seat in fresh}))
            _decide(fresh, campaign, network)
        known |= _known([seat.pk for seat in fresh])
    return known


def _is_working(user: int, campaign: Campaign) -> bool:
    """Return whether this person has finished training."""
    member = Membership.objects.filter(user=user, campaign=campaign)
    return member.filter(stage=Membership.Stage.WORKING).exists()


def _known(pks: Collection[int]) -> dict[int, bool]:
    rows = Assistance.objects.filter(assignment__in=pks)
    return dict(rows.values_list("assignment_id", "assisted"))


def _decide(fresh: Sequence[Seat], campaign: Campaign, network: SegmentationNetwork) -> None:
    people = networks.people_asked(campaign)
    questions = Question.objects.in_bulk({seat.question_id for seat in fresh})
    images = {seat.question.item.image_id for seat in fresh}
    embedded = ImageEmbedding.objects.filter(network=network, image__in=images).count()
    before, without = _places(campaign, questions)
    rows = []
    for seat in fresh:
        question = questions[seat.question_id]
        if embedded < len(images):
            helped = False
        elif question.state == Question.State.GOLD:
            helped = arms.is_assisted_on_gold(question.pk, seat.annotator_id, people)
        else:
            helped = arms.is_assisted(
                question.pk, people, before[question.pk], without[question.pk]
            )
        rows.append(Assistance(assignment=seat, assisted=helped))
        before[question.pk] += 1
        without[question.pk] += not helped
    Assistance.objects.bulk_create(rows, ignore_conflicts=True)


def _places(campaign: Campaign, questions: Collection[int]) -> tuple[Counter[int], Counter[int]]:
    """Return, by question, how many people hold a seat or have answered, and how many of these draw
    without the model. Blocked people, returned seats and late answers are left out.
    """
    voided = calibration_store.in_force(campaign).voided
    before: Counter[int] = Counter()
    without: Counter[int] = Counter()
    rows = Assistance.objects.filter(
        assignment__question__in=questions, assignment__state__in=LIVE
    ).values_list("assignment__question_id", "assignment__annotator_id", "assisted")
    for question, person, helped in rows:
        if person not in voided:
            before[question] += 1
            without[question] += not helped
    return before, without
