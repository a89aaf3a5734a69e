"""Chooses which proposed boxes are shown, after each calibration, for pairs nobody has started.

A calibration learns how often proposals of each class are accepted (boxes/acceptance.py).
"""

from collections.abc import Iterator, Mapping, Sequence

from labeling.boxes.acceptance import SECONDS, Acceptance, least_chance
from labeling.boxes.chain import CHECK, DRAW
from labeling.boxes.cleaning import as_box
from labeling.boxes.rules import BoxRules
from labeling.db import question_counts
from labeling.db.sql import lock_questions, retried, writing
from labeling.jobs import queue
from labeling.kinds import box_pairs, policies
from labeling.kinds.boxes import STEPS
from labeling.models import Campaign, Job, Question, Seat

CHUNK = 500


def execute(job: Job) -> None:
    """Run the job "choose proposals"."""
    assert job.campaign is not None, "a job that chooses proposals names its campaign"
    for changed in choose(job.campaign):
        queue.renew(job, changed)


def choose(campaign: Campaign) -> Iterator[int]:
    """Start untouched pairs with their proposals where these save time, else with drawing.

    Yields the number of changed pairs, a few hundred at a time.
    """
    campaign = Campaign.objects.select_related("calibration").get(pk=campaign.pk)
    content = campaign.calibration.content if campaign.calibration else {}
    waiting = _waiting(campaign)
    worth = worth_showing(
        waiting,
        content.get("acceptance") or {},
        SECONDS | (content.get("seconds") or {}),
        policies.for_campaign(campaign)["checks"],
    )
    changed, last = 0, 0
    while True:
        rows = list(_untouched(campaign).filter(pk__gt=last).order_by("pk")[:CHUNK])
        if not rows:
            return
        last = rows[-1].pk
        turning = [row.pk for row in rows if (row.step == CHECK) != worth[row.topic]]
        if turning:
            changed += _switch_pairs(turning)
            yield changed


def worth_showing(
    waiting: Mapping[str, int],
    accepted: Mapping[str, Sequence[int]],
    seconds: Mapping[str, float],
    checks: int,
) -> dict[str, bool]:
    """Return class → whether to show its proposals.

    waiting: pairs of each class. accepted: [accepted, shown] of each class tried so far. seconds:
    of a drawing and a check.
    """
    topics = sorted({*waiting, *accepted})
    index_of_topic = {topic: number for number, topic in enumerate(topics)}
    to_come = [index_of_topic[topic] for topic, count in waiting.items() for _ in range(count)]
    acceptance = Acceptance(
        to_come, len(topics), least_chance(seconds[DRAW], seconds[CHECK], checks)
    )
    for topic, (good, tried) in accepted.items():
        acceptance.learn_all(index_of_topic[topic], good, tried)
    return {topic: acceptance.saves_time(index_of_topic[topic]) for topic in waiting}


def _untouched(campaign: Campaign):
    """Return the first questions of pairs with proposals, shown or not."""
    first = Question.objects.filter(campaign=campaign, state=Question.State.OPEN, round=0)
    return first.filter(content__isnull=False, step__in=[CHECK, DRAW])


def _waiting(campaign: Campaign) -> dict[str, int]:
    pairs_by_topic: dict[str, int] = {}
    for topic in _untouched(campaign).values_list("topic", flat=True).iterator():
        pairs_by_topic[topic] = pairs_by_topic.get(topic, 0) + 1
    return pairs_by_topic


@retried
def _switch_pairs(pks: Sequence[int]) -> int:
    """Switch these pairs unless somebody has started them; return the number switched."""
    with writing():
        locked = {row.id: row for row in lock_questions(pks)}
        begun = set(Seat.objects.filter(question__in=pks).values_list("question_id", flat=True))
        rows = Question.objects.select_related("policy", "item__image").filter(
            pk__in=[pk for pk in pks if pk not in begun], state=Question.State.OPEN
        )
        before, after, turned = [], [], []
        for row in rows:
            policy = policies.whole(row.policy.content)
            if row.seats_free != STEPS[row.step].seats(policy):
                continue
            first_step = _switched_question(row, policy)
            before.append(locked[row.pk])
            row.step, row.content = first_step.step, first_step.content
            row.seats_free = STEPS[row.step].seats(policy)
            after.append(locked[row.pk]._replace(step=row.step, seats_free=row.seats_free))
            turned.append(row)
        Question.objects.bulk_update(turned, ["step", "content", "seats_free"])
        question_counts.update_counts(before, after)
    return len(turned)


def _switched_question(row: Question, policy: policies.WholePolicy) -> box_pairs.Wanted:
    content: box_pairs.PairContent = row.content  # type: ignore[assignment]
    name = f"{row.item.image.name} {row.topic}"
    if row.step == CHECK:
        first_step = box_pairs.first_question(name, BoxRules.of(policy))
        first_step.content["unshown"] = content["proposals"]
        return first_step
    boxes = [as_box(box) for box in content["unshown"]]
    return box_pairs.first_question(name, BoxRules.of(policy), boxes)
