"""Pilots: a random sample of every topic gets many votes, from which vote tables are learned.

As for ImageNet: at least ten votes on each of a random sample of a class's images (Russakovsky et
al. 2015, section 3.1.3). calibrating.py learns the tables, and deciding.py uses them.
"""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count

from labeling.campaigns import lifecycle
from labeling.consensus import calibration_store, settling
from labeling.db.sql import batches, lock_questions
from labeling.errors import Conflict, Refusal
from labeling.estimators.vote_tables import CALIBRATION_VOTES
from labeling.jobs import queue
from labeling.kinds import KINDS, deciding, policies
from labeling.models import Campaign, Decision, Job, Question, User
from labeling.quality import asking_more

State = Question.State
MAX_QUESTIONS_PER_TOPIC = 10_000
CHUNK = 1_000
# Most topics without a table that a page names.
NAMED = 12


def fits(campaign: Campaign) -> bool:
    """Return whether the campaign's answers are yes or no, as tables require."""
    return KINDS[campaign.kind].classes(campaign.settings) == deciding.BINARY


def plan(campaign: Campaign, per_topic: int, seed: int) -> lifecycle.AskingCost:
    """Return the cost of ask_pilot: the missing answers of the sample's questions, with gold mixed
    in. Raises what ask_pilot does.
    """
    _check(campaign, per_topic)
    missing_votes = questions = 0
    same = asking_more.same_version(campaign, _content(campaign))
    for ids in batches(_sample(campaign, per_topic, seed), CHUNK):
        chosen = Question.objects.filter(pk__in=ids).exclude(policy=same)
        pks = list(chosen.values_list("pk", flat=True))
        votes = settling.tallies(campaign, pks)
        missing_votes += sum(
            max(0, CALIBRATION_VOTES - votes.get(pk, Counter()).total()) for pk in pks
        )
        questions += len(pks)
    mean = missing_votes / questions if questions else 0.0
    return lifecycle.estimate(questions, policies.for_campaign(campaign), mean)


def enqueue_pilot(campaign: Campaign, actor: User, per_topic: int, seed: int) -> Job:
    """Queue the job that asks the pilot, since thousands of questions take time; return it.

    Raises what ask_pilot does.
    """
    _check(campaign, per_topic)
    payload = {"per_topic": per_topic, "seed": seed, "actor": actor.pk}
    return queue.enqueue("pilot", f"{campaign.pk}:{per_topic}:{seed}", payload, campaign=campaign)


def execute(job: Job) -> None:
    """Run the job "pilot". Idempotent."""
    assert job.campaign is not None, "a pilot job names its campaign"
    actor = User.objects.filter(pk=job.payload["actor"]).first()
    ask_pilot(job.campaign, actor, job.payload["per_topic"], job.payload["seed"])


@dataclass(frozen=True)
class PilotProgress:
    """The progress of a pilot.

    questions (API: asked): number that need ten votes; decided: how many of them are done. topics:
    number of their topics; tables: how many topics have a table in the current calibration;
    missing_count: how many have none; missing: names of some of these.
    """

    questions: int
    decided: int
    topics: int
    tables: int
    missing: list[str]
    missing_count: int


def state(campaign: Campaign) -> PilotProgress:
    """Return the progress of the pilot."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    if versions := _versions(campaign):
        rows = campaign.questions.for_consensus().filter(policy__version__in=versions).order_by()
        for topic, question_state, count in rows.values_list("topic", "state").annotate(
            Count("pk")
        ):
            counts[topic][question_state] = count
    tables = set(calibration_store.in_force(campaign).tables)
    missing = sorted(set(counts) - tables)
    names = dict(campaign.topics.filter(key__in=missing[:NAMED]).values_list("key", "name"))
    total = sum(state_counts.total() for state_counts in counts.values())
    return PilotProgress(
        questions=total,
        decided=total - sum(state_counts[State.OPEN] for state_counts in counts.values()),
        topics=len(counts),
        tables=len(counts) - len(missing),
        missing=[names.get(key, key) for key in missing[:NAMED]],
        missing_count=len(missing),
    )


def _versions(campaign: Campaign) -> list[int]:
    """Return the policy versions used by pilots only."""
    decisions = campaign.decisions.filter(kind=Decision.Kind.POLICY, content__has_key="pilot")
    return sorted(set(decisions.values_list("content__version", flat=True)))


def _check(campaign: Campaign, per_topic: int) -> None:
    if not 1 <= per_topic <= MAX_QUESTIONS_PER_TOPIC:
        raise Refusal(
            f"The pilot has {per_topic} questions per topic; "
            f"expected 1 to {MAX_QUESTIONS_PER_TOPIC}.",
            field="per_topic",
        )
    if not fits(campaign):
        raise Refusal(
            f"Vote tables are of yes and no; a campaign of the kind {campaign.kind} has none.",
            field="per_topic",
        )
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed, so nobody can answer a pilot.")


def ask_pilot(campaign: Campaign, actor: User | None, per_topic: int, seed: int) -> int:
    """Ask ten people about each question of a random sample of each topic; return the number of
    questions.

    The majority settles them. The sample is drawn from all questions about the topic, settled or
    not; equal seeds give equal samples from equal questions. Settled ones are reopened for the
    missing votes. Dropped images and reviewers' decisions are left out. Asking again with the same
    seed adds nothing. The pilot has its own policy version, which never becomes current.
    """
    _check(campaign, per_topic)
    chosen = _sample(campaign, per_topic, seed)
    with transaction.atomic():
        policy = asking_more.version_of(campaign, _content(campaign))
        locked = [row for ids in batches(chosen, CHUNK) for row in lock_questions(ids)]
        moved = [q for q in locked if q.policy_id != policy.pk and _may(q.state)]
        # Lock the campaign's row after all questions, as everywhere (sql.py).
        asking_more.move_to_version(policy, moved).free_missing_seats()
        if moved:
            Decision.objects.record(
                campaign,
                Decision.Kind.POLICY,
                actor,
                {"pilot": len(moved), "version": policy.version, "seed": seed},
            )
    return len(moved)


def _may(state: str) -> bool:
    return state in (State.OPEN, State.SETTLED, State.REVIEW)


def _sample(campaign: Campaign, per_topic: int, seed: int) -> list[int]:
    """Return sampled ids, sorted. Topics are sampled in turn from one generator."""
    rows = (
        Question.objects.filter(campaign=campaign, state__in=[s for s in State.values if _may(s)])
        .exclude(settlements__reviewed=True)
        .order_by("topic", "pk")
        .values_list("topic", "pk")
    )
    by_topic: dict[str, list[int]] = {}
    for topic, pk in rows.iterator():
        by_topic.setdefault(topic, []).append(pk)
    chance = random.Random(seed)
    return sorted(
        pk
        for _, pks in sorted(by_topic.items())
        for pk in chance.sample(sorted(pks), min(per_topic, len(pks)))
    )


def _content(campaign: Campaign) -> policies.WholePolicy:
    current = policies.for_campaign(Campaign.objects.select_related("policy").get(pk=campaign.pk))
    most = max(current["max_votes"], CALIBRATION_VOTES + 5)
    # Tables need all ten votes, even if six decide the question.
    return current | {
        "method": "majority",
        "votes": CALIBRATION_VOTES,
        "stop_early": "never",
        "max_votes": most,
    }
