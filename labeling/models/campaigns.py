from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from labeling.models.people import new_token


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def of(self, user, *roles: str) -> "CampaignQuerySet":
        """Return campaigns where this person holds one of the roles (any role if none is given)."""
        memberships = {"memberships__user": user, "memberships__left_at": None}
        if roles:
            memberships["memberships__role__in"] = roles
        return self.filter(**memberships)


class CampaignState(models.TextChoices):
    DRAFT = "draft", _("draft")
    OPEN = "open", _("open")
    PAUSED = "paused", _("paused")
    CLOSED = "closed", _("closed")


class Campaign(models.Model):
    """One kind of question about the items of a dataset, under a policy."""

    State = CampaignState

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20)
    dataset = models.ForeignKey(
        "labeling.Dataset", on_delete=models.PROTECT, related_name="campaigns"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    # Markdown for annotators; settings belong to the kind (see kinds/*.py).
    instructions = models.TextField(blank=True)
    # Date of the last version (InstructionsVersion); null before the first change.
    instructions_changed_at = models.DateTimeField(null=True, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    # Codes of languages with translated texts (CampaignText).
    languages = models.JSONField(default=list, blank=True)
    policy = models.ForeignKey(
        "labeling.Policy", on_delete=models.PROTECT, related_name="+", null=True
    )
    # The current skills and vote tables; null until the first calibration.
    calibration = models.ForeignKey(
        "labeling.Calibration", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    # The current question graph, for kinds that use one.
    graph = models.ForeignKey(
        "labeling.Graph", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    # Categories and parts, for kinds that draw parts.
    vocabulary = models.ForeignKey(
        "labeling.Vocabulary", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    # The last ticket given out (take_tickets in db/sql.py).
    last_ticket = models.BigIntegerField(default=0)
    # No question at or below these tickets has a free seat: newcomers start reading here.
    floor_returned = models.BigIntegerField(default=0)
    floor_fresh = models.BigIntegerField(default=0)
    # Question counts as people see them, up to a minute old (counters.py).
    questions_asked = models.PositiveIntegerField(default=0)
    questions_free = models.PositiveIntegerField(default=0)
    counted_at = models.DateTimeField(null=True, blank=True)
    # Questions settled by last night. People see no newer number, which would reveal which of their
    # answers counted.
    settled_nightly = models.PositiveIntegerField(default=0, db_default=0)
    # After this time, by the database's clock, nobody gets new questions.
    deadline = models.DateTimeField(null=True, blank=True)
    # Gold questions that most people failed, as of last night.
    gold_failing = models.PositiveIntegerField(default=0, db_default=0)
    # Settled questions to audit each night; 0 for none.
    nightly_audit = models.PositiveIntegerField(default=0, db_default=0)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    # Archived campaigns are not in lists and cannot be open.
    archived_at = models.DateTimeField(null=True, blank=True)

    # Texts in the page's language (campaigns/texts.py), on copies for pages only.
    words: Mapping[str, Any] = {}

    objects = CampaignQuerySet.as_manager()

    def __str__(self) -> str:
        return self.title


class CampaignText(models.Model):
    """A campaign's texts in one language, for annotators' pages only; files and releases have the
    original texts (campaigns/texts.py).
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="texts")
    language = models.CharField(max_length=10)
    content = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "language"], name="one_text_per_campaign_and_language"
            )
        ]

    def __str__(self) -> str:
        return f"{self.language} of {self.campaign}"


class InstructionsVersion(models.Model):
    """A version of a campaign's instructions. Rows exist from the first change on."""

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="instructions_versions"
    )
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "version"], name="one_instructions_per_campaign_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"instructions {self.version}"


class Policy(models.Model):
    """A version of a campaign's quality policy. Never changed: a change is a new version."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="policies")
    version = models.PositiveIntegerField()
    # Keys and defaults: labeling/kinds/policies.py.
    content = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "version"], name="one_policy_per_campaign_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"policy {self.version}"


class Graph(models.Model):
    """A version of a campaign's question graph. Never changed: a change is a new version."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="graphs")
    version = models.PositiveIntegerField()
    # The canonical content of question_graph.QuestionGraph, and its digest.
    content = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "version"], name="one_graph_per_campaign_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"graph {self.version}"


class Calibration(models.Model):
    """Skills, vote tables and voided people as used for settling. Never changed.

    content: {"annotators": {user id: {"confusion": [[…]], "answers": n}}, "classes": […], "prior":
    […], "tables": {topic: …}, "voided": [user id], "statistics": {…}}; calibrating.py.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="calibrations")
    number = models.PositiveIntegerField()
    content = models.JSONField(default=dict)
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "number"], name="one_calibration_per_campaign_and_number"
            )
        ]

    def __str__(self) -> str:
        return f"calibration {self.number}"


class Topic(models.Model):
    """A class in a campaign: its name, definition and a link for further reading."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="topics")
    # The identifier that questions use: a wnid.
    key = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    synonyms = models.JSONField(default=list, blank=True)
    definition = models.TextField(blank=True)
    url = models.URLField(blank=True, max_length=400)
    guidance = models.TextField(blank=True)
    # Classes that are easily confused with it: {"name", "definition"}.
    siblings = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "key"], name="one_topic_per_campaign_and_key"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Example(models.Model):
    """An image shown beside the question with its right answer."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="examples")
    image = models.ForeignKey("labeling.Image", on_delete=models.PROTECT, related_name="+")
    answer = models.CharField(max_length=20)
    caption = models.CharField(max_length=200, blank=True)
    token = models.CharField(max_length=32, unique=True, default=new_token)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["topic", "image"], name="one_example_per_topic_and_image"
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic}: {self.answer}"


class DecisionKind(models.TextChoices):
    STATE = "state", "state changed"
    POLICY = "policy", "policy changed"
    MEMBER = "member", "member changed"
    GOLD = "gold", "gold changed"
    REVIEW = "review", "review verdict"
    DROP = "drop", "image replaced"
    BLOCK = "block", "person blocked"
    UNBLOCK = "unblock", "block lifted"
    STAGE = "stage", "person trained, paused or let in"
    GRAPH = "graph", "question graph changed"
    AUDIT = "audit", "audit sample drawn"
    QUOTA = "quota", "quota changed"
    VOCABULARY = "vocabulary", "vocabulary changed"
    CLASS = "class", "class stopped or resumed"


class DecisionManager(models.Manager["Decision"]):
    def record(
        self,
        campaign: Campaign,
        kind: str,
        actor: Any,
        content: Mapping[str, object],
        reason: str = "",
    ) -> "Decision":
        return self.create(
            campaign=campaign, kind=kind, actor=actor, content=content, reason=reason[:500]
        )


class Decision(models.Model):
    """Append-only: a decision about a campaign, and its reason."""

    Kind = DecisionKind

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="decisions")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    actor = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    content = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(default=timezone.now)

    objects = DecisionManager()

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M}"
