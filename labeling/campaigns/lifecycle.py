"""Opens, changes, pauses and closes campaigns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from django.db import IntegrityError, transaction
from django.utils import timezone

from labeling.campaigns import instructions as versions
from labeling.campaigns.markdown import check_pictures
from labeling.errors import Conflict, Refusal
from labeling.jobs import queue
from labeling.kinds import KINDS, policies
from labeling.models import (
    Campaign,
    Dataset,
    Decision,
    Example,
    Image,
    Membership,
    Policy,
    Topic,
    User,
)
from labeling.simulation.expected_votes import expected_votes

State = Campaign.State
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
# Words that the site's own URLs use in place of a campaign's name.
RESERVED_NAMES = {"new", "label", "join"}
BATCH = 2_000


def create(
    owner: User,
    *,
    name: str,
    title: str,
    kind: str,
    dataset: Dataset,
    instructions: str = "",
    settings: Mapping[str, object] | None = None,
    policy: Mapping[str, object] | None = None,
) -> Campaign:
    """Create a draft campaign with its first policy and its owner as researcher; return it."""
    check_name(name)
    check_dataset_active(dataset)
    if kind not in KINDS:
        raise Refusal(
            f"There is no question kind {kind!r}. Choose one of: {', '.join(KINDS)}.", field="kind"
        )
    if not title.strip():
        raise Refusal("Give the campaign a title; people see it on their page.", field="title")
    check_pictures(instructions, dataset)
    cleaned_settings = KINDS[kind].clean_settings(settings or {})
    content = policies.clean_new(policy, KINDS[kind])
    policies.check_kind(KINDS[kind], content)
    try:
        with transaction.atomic():
            campaign = Campaign.objects.create(
                name=name,
                title=title.strip()[:200],
                kind=kind,
                dataset=dataset,
                instructions=instructions,
                settings=cleaned_settings,
                created_by=owner,
            )
            campaign.policy = Policy.objects.create(campaign=campaign, version=1, content=content)
            campaign.save(update_fields=["policy"])
            Membership.objects.create(
                user=owner, campaign=campaign, role=Membership.Role.RESEARCHER
            )
            Decision.objects.record(campaign, Decision.Kind.STATE, owner, {"state": State.DRAFT})
    except IntegrityError as error:
        raise Conflict(
            f"A campaign is already called {name!r}. Choose another name.", field="name"
        ) from error
    return campaign


def check_name(name: str) -> None:
    """Raise Refusal for a name that cannot be part of a URL."""
    if not NAME_PATTERN.fullmatch(name) or name in RESERVED_NAMES:
        raise Refusal(
            f"{name!r} cannot be a name: use 1 to 80 lower-case letters, digits, '-' and '_', "
            "starting with a letter or digit.",
            field="name",
        )


def check_campaign_active(campaign: Campaign) -> None:
    """Raise Conflict for an archived campaign, which takes no invitations and releases."""
    if campaign.archived_at:
        raise Conflict(f"{campaign.title} is archived. Take it out of the archive first.")


def check_dataset_active(dataset: Dataset) -> None:
    """Raise Conflict for an archived dataset, on which no campaign can be created."""
    if dataset.archived_at:
        raise Conflict(
            f"The dataset {dataset.name} is archived. Take it out of the archive first.",
            field="dataset",
        )


def change(campaign: Campaign, actor: User, **fields: Any) -> Campaign:
    """Change the campaign's title, instructions, settings, nightly audit or deadline; return it.

    Kind and dataset are fixed. Raises Refusal.
    """
    allowed = {"title", "instructions", "settings", "nightly_audit", "deadline"}
    if unknown := set(fields) - allowed:
        raise Refusal(
            f"The field {sorted(unknown)[0]} of a campaign cannot be changed; you can change "
            f"{', '.join(sorted(allowed))}.",
            field=sorted(unknown)[0],
        )
    if "title" in fields and not str(fields["title"]).strip():
        raise Refusal("Give the campaign a title; people see it on their page.", field="title")
    deadline = fields.get("deadline")
    if deadline and deadline != campaign.deadline and deadline <= timezone.now():
        raise Refusal(
            "The deadline is in the past. Choose a later time, or close the campaign.",
            field="deadline",
        )
    with transaction.atomic():
        if "settings" in fields:
            kind = KINDS[campaign.kind]
            stored = Campaign.objects.select_for_update().select_related(None).get(pk=campaign.pk)
            kept = {key: stored.settings[key] for key in kind.kept_settings}
            fields["settings"] = kind.clean_settings(fields["settings"] | kept)
        if "instructions" in fields:
            fields |= versions.add_version(campaign, actor, fields["instructions"])
        for key, value in fields.items():
            setattr(campaign, key, value)
        campaign.save(update_fields=list(fields))
        Decision.objects.record(campaign, Decision.Kind.STATE, actor, {"changed": sorted(fields)})
        if "settings" in fields and campaign.graph_id is not None:
            # The consequences of a "no" may have changed.
            queue.enqueue("look again", str(campaign.pk), campaign=campaign)
    return campaign


def record_text_change(campaign: Campaign, actor: User | None, languages: list[str]) -> None:
    """Record who changed the campaign's translated texts."""
    Decision.objects.record(
        campaign, Decision.Kind.STATE, actor, {"changed": ["texts"], "languages": languages}
    )


def change_policy(campaign: Campaign, actor: User, content: Mapping[str, object]) -> Policy:
    """Save the next version of the policy and return it. Open questions keep theirs.

    Missing keys get their defaults (policies.clean_next).
    """
    cleaned = policies.clean_next(campaign, content)
    policies.check_kind(KINDS[campaign.kind], cleaned)
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().select_related(None).get(pk=campaign.pk)
        if campaign.policy is not None and policies.for_campaign(campaign) == cleaned:
            return campaign.policy
        # The last version may be a pilot's (piloting.py), which was never current.
        last = campaign.policies.latest("version").version
        policy = Policy.objects.create(campaign=campaign, version=last + 1, content=cleaned)
        campaign.policy = policy
        campaign.save(update_fields=["policy"])
        Decision.objects.record(campaign, Decision.Kind.POLICY, actor, {"version": policy.version})
    return policy


class Sibling(TypedDict):
    """A class that is easily confused with another."""

    name: str
    definition: str


class TopicFields(TypedDict):
    """A topic in a list: its key, and more fields if known."""

    key: str
    name: str
    synonyms: NotRequired[list[str]]
    definition: NotRequired[str]
    url: NotRequired[str]
    siblings: NotRequired[list[Sibling]]


def define_topics(campaign: Campaign, topics: Iterable[TopicFields]) -> int:
    """Write topics and return how many. Existing ones keep guidance, siblings and examples."""
    rows = [
        Topic(
            campaign=campaign,
            key=topic["key"],
            name=topic["name"],
            synonyms=topic.get("synonyms", []),
            definition=topic.get("definition", ""),
            url=topic.get("url", ""),
            siblings=topic.get("siblings", []),
        )
        for topic in topics
    ]
    Topic.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["campaign", "key"],
        update_fields=["name", "synonyms", "definition", "url"],
    )
    return len(rows)


def change_topic(campaign: Campaign, key: str, actor: User, **fields: Any) -> Topic:
    """Change the topic's name, synonyms, definition, url, guidance or siblings and return it."""
    topic = topic_of(campaign, key)
    allowed = {"name", "synonyms", "definition", "url", "guidance", "siblings"}
    if unknown := set(fields) - allowed:
        raise Refusal(f"A class has no {sorted(unknown)[0]}.", field=sorted(unknown)[0])
    with transaction.atomic():
        for name, value in fields.items():
            setattr(topic, name, value)
        topic.save(update_fields=list(fields))
        Decision.objects.record(
            campaign, Decision.Kind.STATE, actor, {"topic": key, "changed": sorted(fields)}
        )
    return topic


def topic_of(campaign: Campaign, key: str) -> Topic:
    topic = campaign.topics.filter(key=key).first()
    if topic is None:
        raise Refusal(f"The campaign has no class {key!r}. Define it first.", field="topic")
    return topic


def add_example(
    campaign: Campaign, key: str, image: Image, answer: str, caption: str = ""
) -> Example:
    """Add an image shown with the topic's question and its right answer, yes or no; return the
    example.
    """
    if answer not in ("yes", "no"):
        raise Refusal(
            f"The answer of an example is {answer!r}; expected yes or no.", field="answer"
        )
    if image.dataset_id != campaign.dataset_id:
        raise Refusal("The example's image is not in the campaign's dataset.", field="image")
    example, _ = Example.objects.update_or_create(
        topic=topic_of(campaign, key),
        image=image,
        defaults={"answer": answer, "caption": caption[:200]},
    )
    return example


def remove_example(campaign: Campaign, example_id: int) -> None:
    Example.objects.filter(topic__campaign=campaign, pk=example_id).delete()


TRANSITIONS: dict[str, tuple[set[str], str]] = {
    "launch": ({State.DRAFT}, State.OPEN),
    "pause": ({State.OPEN}, State.PAUSED),
    "resume": ({State.PAUSED}, State.OPEN),
    "close": ({State.DRAFT, State.OPEN, State.PAUSED}, State.CLOSED),
}


def change_state(campaign: Campaign, actor: User | None, action: str) -> Campaign:
    """Apply `action` (launch, pause, resume or close) and return the campaign. Idempotent."""
    if action not in TRANSITIONS:
        raise Refusal(
            f"A campaign cannot {action!r}. It can: {', '.join(TRANSITIONS)}.", field="move"
        )
    origins, target = TRANSITIONS[action]
    now = timezone.now()
    stamp = {State.OPEN: "opened_at", State.CLOSED: "closed_at"}.get(State(target))
    with transaction.atomic():
        current = Campaign.objects.select_for_update().get(pk=campaign.pk)
        if current.state != target:
            if current.state not in origins:
                raise Conflict(f"The campaign is {current.state}; you cannot {action} it now.")
            if current.archived_at and target == State.OPEN:
                raise Conflict("The campaign is archived. Take it out of the archive first.")
            if action == "launch" and not current.questions.for_consensus().exists():
                raise Conflict("The campaign asks nothing yet. Add questions, then launch it.")
            current.state = target
            if stamp and getattr(current, stamp) is None:
                setattr(current, stamp, now)
            current.save(update_fields=["state", "opened_at", "closed_at"])
            Decision.objects.record(current, Decision.Kind.STATE, actor, {"state": target})
    campaign.refresh_from_db(fields=["state", "opened_at", "closed_at"])
    return campaign


def launch(campaign: Campaign, actor: User | None) -> Campaign:
    return change_state(campaign, actor, "launch")


@dataclass(frozen=True)
class AskingCost:
    """The cost of asking. answers: including those to gold; hours: of people's time; cost: in the
    policy's currency.
    """

    questions: int
    answers: int
    gold: int
    hours: float
    cost: float
    currency: str


def estimate(
    questions: int, policy: Mapping[str, object], votes: float | None = None
) -> AskingCost:
    """Return the cost of asking so many questions.

    votes: measured answers per question, if known. Otherwise the policy's number: a fixed one, or
    what people of the assumed accuracy need (expected_votes). Ties, abstentions and
    replacements are not included.
    """
    rules = policies.whole(policy)
    each = expected_votes(rules) if votes is None else votes
    votes_in_all = questions * each
    answers = round(votes_in_all / (1 - rules["gold_share"]))
    hours = answers * rules["seconds_per_answer"] / 3600
    return AskingCost(
        questions=questions,
        answers=answers,
        gold=answers - round(votes_in_all),
        hours=hours,
        cost=hours * rules["cost_per_hour"],
        currency=rules["currency"],
    )
