"""Asking more people about settled questions than their policy says.

Each question refers to the policy version that judges it, so this moves it to another version and
judges it again; `campaign rebuild` gives the same settlements.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from labeling.consensus import settling
from labeling.consensus.votes import rules_by, votes_on
from labeling.db.sql import Locked, batches, lock_questions, retried, writing
from labeling.errors import Conflict, Refusal
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS
from labeling.kinds.policies import RULES, PolicyRule
from labeling.models import Campaign, Decision, Policy, Question, Seat, Settlement, User
from labeling.plurals import count_of

CHUNK = 1_000
State = Question.State


@dataclass
class AskedMore:
    """How many questions ask more people now. skipped: number left alone, by reason."""

    count: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


def move_to_version(
    policy: Policy, locked: Sequence[Locked], outcome: settling.ReplayedQuestions | None = None
) -> settling.ReplayedQuestions:
    """Judge these locked questions by this version of the policy from now on.

    The caller frees the seats (free_missing_seats) after locking all questions.
    """
    outcome = settling.ReplayedQuestions() if outcome is None else outcome
    for part in batches(locked, CHUNK):
        Question.objects.filter(pk__in=[row.id for row in part]).update(policy=policy)
        outcome.add(settling.replay_locked([row._replace(policy_id=policy.pk) for row in part]))
    return outcome


def same_version(campaign: Campaign, content: policies.WholePolicy) -> Policy | None:
    """Return the campaign's policy version with this meaning, even if it lacks newer keys."""
    versions = campaign.policies.order_by("version")
    return next((row for row in versions if policies.whole(row.content) == content), None)


def version_of(campaign: Campaign, content: policies.WholePolicy) -> Policy:
    """Return the campaign's policy version with this content; create one, not current, if there is
    none.
    """
    if same := same_version(campaign, content):
        return same
    last = campaign.policies.latest("version").version
    return Policy.objects.create(campaign=campaign, version=last + 1, content=content)


def ask_more(
    campaign: Campaign, question_ids: Iterable[int], more: int, actor: User, reason: str = ""
) -> AskedMore:
    """Ask `more` additional people about each of these settled questions; return the counts.

    All answers count in the new settlement. Unsettled questions and those decided by a reviewer are
    left alone. Raises Refusal for chains of boxes and for more answers than a policy allows,
    Conflict for a closed campaign.
    """
    most = RULES["votes"]
    assert isinstance(most, PolicyRule)
    if not 1 <= more <= most.high:
        raise Refusal(f"people is {more}; expected 1 to {most.high:g}.", field="people")
    if KINDS[campaign.kind].asks == CHAINS:
        raise Refusal(
            "The questions of this campaign depend on one another, so a single one cannot get more "
            "votes. Use the audit to check boxes.",
            field="questions",
        )
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed. Reopen it first.")
    with transaction.atomic():
        summary = AskedMore()
        chosen = _settled(campaign, question_ids, summary)
        outcome = settling.ReplayedQuestions()
        for policy, rows in _versions(campaign, chosen, more, int(most.high)):
            move_to_version(policy, rows, outcome)
        # Lock the campaign's row after all questions, as everywhere (sql.py).
        outcome.free_missing_seats()
        summary.count = len(chosen)
        if chosen:
            Decision.objects.record(
                campaign,
                Decision.Kind.POLICY,
                actor,
                {"more": more, "questions": [q.id for q in chosen]},
                reason,
            )
    return summary


def _settled(campaign: Campaign, question_ids: Iterable[int], summary: AskedMore) -> list[Locked]:
    pks = set(question_ids)
    rows = campaign.questions.filter(pk__in=pks).values_list("pk", flat=True)
    locked = [row for ids in batches(sorted(rows), CHUNK) for row in lock_questions(ids)]
    summary.skipped["there is no such question"] += len(pks) - len(locked)
    reviewed = set(
        Settlement.objects.filter(question__in=[row.id for row in locked], reviewed=True)
        .values_list("question", flat=True)
        .distinct()
    )
    chosen = []
    for row in locked:
        if row.state != State.SETTLED:
            summary.skipped[f"it is {State(row.state).label}, not settled"] += 1
        elif row.id in reviewed:
            summary.skipped["a reviewer decided it"] += 1
        else:
            chosen.append(row)
    summary.skipped = +summary.skipped
    return chosen


def _versions(
    campaign: Campaign, chosen: Sequence[Locked], more: int, most: int
) -> list[tuple[Policy, list[Locked]]]:
    """Return (version, questions) pairs: the policy version that these questions move to."""
    rules = rules_by({row.policy_id for row in chosen})
    groups: dict[tuple[int, int], list[Locked]] = defaultdict(list)
    for part in batches(chosen, CHUNK):
        votes = votes_on([row.id for row in part])
        for row in part:
            voided = rules[row.policy_id].skills.voided
            count = sum(vote.annotator not in voided for vote in votes[row.id])
            groups[row.policy_id, count + more].append(row)
    too_many = max((votes for _, votes in groups), default=0) - most
    if too_many > 0:
        raise Refusal(
            f"A question can get at most {most} answers. Ask {count_of(too_many, 'person')} fewer.",
            field="people",
        )
    return [
        (version_of(campaign, _with_votes(rules[policy].policy, votes)), rows)
        for (policy, votes), rows in sorted(groups.items())
    ]


def _with_votes(policy: policies.WholePolicy, votes: int) -> policies.WholePolicy:
    longest = max(policy["max_votes"], votes)
    if policy["method"] == "majority":
        return policy | {"votes": votes, "stop_early": "never", "max_votes": longest}
    if policies.asks_all(policy):
        return policy | {"votes": votes, "max_votes": longest}
    return policy | {"min_votes": votes, "max_votes": longest}


def _unanswered(campaign: Campaign) -> QuerySet[Question]:
    answered = Seat.objects.filter(question=OuterRef("pk"), state=Seat.State.ANSWERED)
    # Skip versions that were never current, such as a pilot's.
    pilot_decisions = campaign.decisions.filter(kind=Decision.Kind.POLICY, content__has_key="pilot")
    pilots = [content["version"] for content in pilot_decisions.values_list("content", flat=True)]
    return (
        campaign.questions.filter(state=State.OPEN)
        .exclude(policy=campaign.policy_id)
        .exclude(policy__version__in=pilots)
        .filter(~Exists(answered))
    )


def apply_policy(campaign: Campaign, actor: User) -> int:
    """Move open questions without answers to the current policy; return how many.

    Works in batches, so that annotators wait for milliseconds. Idempotent.
    """
    campaign.refresh_from_db(fields=["policy"])
    policy = campaign.policy
    assert policy is not None, "a campaign has a policy"
    waiting = list(_unanswered(campaign).order_by("pk").values_list("pk", flat=True))
    count = sum(_apply(campaign, policy, pks) for pks in batches(waiting, CHUNK))
    if count:
        Decision.objects.record(
            campaign, Decision.Kind.POLICY, actor, {"applied": count, "version": policy.version}
        )
    return count


@retried
def _apply(campaign: Campaign, policy: Policy, pks: Sequence[int]) -> int:
    with writing():
        # Hold the lock: a concurrent answer commits either before we lock or after we commit.
        locked = lock_questions(pks)
        still = set(_unanswered(campaign).filter(pk__in=pks).values_list("pk", flat=True))
        rows = [row for row in locked if row.id in still]
        move_to_version(policy, rows).free_missing_seats()
    return len(rows)
