"""Quotas: who answers how many images of which topics. The only writer of Quota."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, OuterRef, Subquery

from labeling.errors import Refusal
from labeling.models import Answer, Decision, Membership, Quota, Seat, User

MAX_QUOTA = 1_000_000


@transaction.atomic
def assign(
    membership: Membership, actor: User | None, images_by_topic: Mapping[str, int], reason: str = ""
) -> dict[str, int]:
    """Replace the person's quotas; return what is left of each topic: {topic: images}.

    images_by_topic: the new quotas; if empty, all quotas are removed and the person gets any topic.
    Earlier answers count. Raises Refusal for an unknown topic and for a number out of bounds; then
    nothing changed.
    """
    _check(membership, images_by_topic)
    row = Membership.objects.select_for_update().get(pk=membership.pk)
    row.quotas.exclude(topic__in=list(images_by_topic)).delete()
    for topic, images in images_by_topic.items():
        Quota.objects.update_or_create(
            membership=row, topic=topic, defaults={"images": images, "done": 0}
        )
    # Cursors have passed questions of other topics, so start reading again.
    row.cursor_returned = row.cursor_fresh = row.cursor_gold = 0
    row.topics = {} if images_by_topic else None
    row.save(update_fields=["cursor_returned", "cursor_fresh", "cursor_gold", "topics"])
    Decision.objects.record(
        row.campaign,
        Decision.Kind.QUOTA,
        actor,
        {"user": row.user_id, "quotas": dict(images_by_topic)},
        reason,
    )
    return recount(row.pk) if images_by_topic else {}


def recount(membership_id: int) -> dict[str, int]:
    """Recount what is left of the person's quotas from their answers; return {topic: images}.

    Skipped questions with a reason do not count. Gold counts.
    """
    row = Membership.objects.get(pk=membership_id)
    done = _answered(row)
    left = {}
    for quota in row.quotas.all():
        count = done.get(quota.topic, 0)
        if count != quota.done:
            Quota.objects.filter(pk=quota.pk).update(done=count)
        if count < quota.images:
            left[quota.topic] = quota.images - count
    if left != row.topics:
        Membership.objects.filter(pk=row.pk).update(topics=left)
    return left


def _answered(member: Membership) -> dict[str, int]:
    latest = Answer.objects.filter(assignment=OuterRef("assignment")).order_by("-revision")
    rows = (
        Answer.objects.filter(
            assignment__annotator=member.user_id,
            assignment__state=Seat.State.ANSWERED,
            assignment__question__campaign=member.campaign_id,
            pk=Subquery(latest.values("pk")[:1]),
        )
        .exclude(value__has_key="skip")
        .order_by()
        .values_list("assignment__question__topic")
        .annotate(count=Count("pk"))
    )
    return dict(rows)


@dataclass(frozen=True)
class TopicQuota:
    """A person's quota of a topic. images: None without a quota."""

    topic: str
    name: str
    images: int | None
    done: int


def for_member(membership: Membership) -> list[TopicQuota]:
    """Return the person's quota of every topic of the campaign, by name."""
    quotas = {quota.topic: quota for quota in membership.quotas.all()}
    topics = membership.campaign.topics.order_by("name", "key").values_list("key", "name")
    return [
        TopicQuota(key, name, quotas[key].images, quotas[key].done)
        if key in quotas
        else TopicQuota(key, name, None, 0)
        for key, name in topics
    ]


def _check(membership: Membership, images_by_topic: Mapping[str, int]) -> None:
    known = set(membership.campaign.topics.values_list("key", flat=True))
    for topic, images in images_by_topic.items():
        if topic not in known:
            raise Refusal(
                f"The campaign has no class {topic[:80]!r}. Choose one that it asks about.",
                field="topic",
            )
        if isinstance(images, bool) or not isinstance(images, int) or not 1 <= images <= MAX_QUOTA:
            raise Refusal(
                f"The quota of {topic} is {images!r}; "
                f"expected a whole number from 1 to {MAX_QUOTA:,}.",
                field="images",
            )
