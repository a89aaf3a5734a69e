from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models.lookups import LessThan
from django.utils import timezone

from labeling.models.people import new_token

# Knuth's multiplicative hash: spreads consecutive ids, which share a class or an image.
SPREAD, RING = 2_654_435_761, 2**32
PLACE = models.F("id") * SPREAD % RING
# The sample of a large campaign has one question in 64.
SAMPLED = 64


class QuestionQuerySet(models.QuerySet["Question"]):
    def for_consensus(self) -> "QuestionQuerySet":
        """Return questions that count towards consensus: all but gold and withdrawn ones."""
        return self.exclude(state__in=[Question.State.GOLD, Question.State.WITHDRAWN])


class QuestionState(models.TextChoices):
    OPEN = "open", "open"
    SETTLED = "settled", "settled"
    DROPPED = "dropped", "dropped"
    REVIEW = "review", "in review"
    WITHDRAWN = "withdrawn", "withdrawn"
    GOLD = "gold", "gold"


class Question(models.Model):
    """A question about one item."""

    State = QuestionState

    class Lane(models.IntegerChoices):
        RETURNED = 0, "returned, or one more vote"
        FRESH = 1, "fresh"
        GOLD = 2, "gold"

    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="questions", db_index=False
    )
    # No index of its own: the unique constraint has one, together with the campaign. Every claimed
    # seat writes each index of this table.
    item = models.ForeignKey(
        "labeling.Item", on_delete=models.PROTECT, related_name="questions", db_index=False
    )
    # What it asks for: a class, a node of a graph, a category of objects.
    topic = models.CharField(max_length=64)
    # 0 for the first question about an item and topic; follow-ups count up, gold copies down.
    round = models.SmallIntegerField(default=0)
    # For chains of questions (Kind.steps): the step, and what it shows besides the image, which
    # only its kind reads.
    step = models.CharField(max_length=8, blank=True, default="", db_default="")
    content = models.JSONField(null=True, blank=True)
    # What one person may see only once; null if that is the question itself.
    subject = models.BigIntegerField(null=True, blank=True)
    lane = models.SmallIntegerField(choices=Lane.choices, default=Lane.FRESH)
    # Its place in the lane.
    ticket = models.BigIntegerField()
    seats_free = models.SmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    policy = models.ForeignKey(
        "labeling.Policy", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # The graph whose node the topic is; null for kinds without a graph.
    graph = models.ForeignKey(
        "labeling.Graph", on_delete=models.PROTECT, related_name="+", null=True, db_index=False
    )
    # Copy of the kind's topic_pages (pages of one topic), for the condition of an index.
    by_topic = models.BooleanField(default=False, db_default=False)
    # Whether the consensus changed and following.py has not yet opened or closed other questions.
    follow_up = models.BooleanField(default=False)

    objects = QuestionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "item", "topic", "round"],
                name="one_question_per_campaign_item_topic_and_round",
            ),
            models.CheckConstraint(
                condition=models.Q(seats_free=0)
                | models.Q(seats_free__gt=0, state__in=["open", "gold"]),
                name="only_open_questions_and_gold_have_free_seats",
            ),
        ]
        indexes = [
            models.Index(
                fields=["campaign", "lane", "ticket"],
                condition=models.Q(seats_free__gt=0),
                name="question_with_free_seats",
            ),
            # For lists: a page reads its rows in order from the last row's id.
            models.Index(fields=["campaign", "state", "id"], name="question_by_state_and_id"),
            models.Index(
                fields=["campaign", "lane", "topic", "ticket"],
                condition=models.Q(seats_free__gt=0, by_topic=True),
                name="question_free_by_topic",
            ),
            # For the sample of quality_page.py, independent of the number of questions. It
            # includes the id, so that the table is not read.
            models.Index(
                models.F("campaign"),
                models.F("state"),
                PLACE,
                models.F("id"),
                condition=models.Q(LessThan(PLACE, RING // SAMPLED)),
                name="question_in_sample",
            ),
            # Few rows: questions about a part of something (subjects.py).
            models.Index(
                fields=["campaign", "subject"],
                condition=models.Q(subject__isnull=False),
                name="question_about_subject",
            ),
            models.Index(
                fields=["campaign"],
                condition=models.Q(follow_up=True),
                name="question_to_follow_up",
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.pk}"


class QuestionCount(models.Model):
    """A partial count of a campaign's questions by state; the rows of a campaign add up.

    Changed in the same transaction as the questions (labeling/db/question_counts.py). A writer that
    finds all rows locked adds one, so there are as many as there were concurrent writers.
    """

    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="question_counts"
    )
    # One per state. A single row may be below 0.
    open = models.BigIntegerField(default=0)
    settled = models.BigIntegerField(default=0)
    dropped = models.BigIntegerField(default=0)
    review = models.BigIntegerField(default=0)
    withdrawn = models.BigIntegerField(default=0)
    gold = models.BigIntegerField(default=0)
    # Open questions with a free seat, and their free seats.
    free = models.BigIntegerField(default=0)
    seats_free = models.BigIntegerField(default=0)
    # Over questions with a subject: their number minus the number of distinct subjects.
    repeated = models.BigIntegerField(default=0)
    # Images of a question graph.
    images = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"counts of {self.campaign}"


class Gold(models.Model):
    """The known answer of a question in state `gold`."""

    question = models.OneToOneField(Question, on_delete=models.CASCADE, related_name="gold")
    answer = models.JSONField()
    explanation = models.TextField(blank=True)
    source = models.CharField(max_length=200, blank=True)
    # The random draw that it comes from; null if chosen by hand. Only drawn gold feeds the stated
    # error; gold that a person retires is detached from its draw.
    draw = models.OneToOneField(
        "labeling.Audit", on_delete=models.SET_NULL, null=True, blank=True, related_name="gold"
    )
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "gold"

    def __str__(self) -> str:
        return f"gold of {self.question}"

    @property
    def at_random(self) -> bool:
        """Return whether it was drawn at random and so measures the error of the labels."""
        return self.draw_id is not None


class SeatState(models.TextChoices):
    LEASED = "leased", "leased"
    ANSWERED = "answered", "answered"
    # The lease expired or was given back: the seat is free, and the row may be leased again.
    RETURNED = "returned", "returned"
    # The question was settled or withdrawn while the seat was open.
    CLOSED = "closed", "closed"
    # Not a real seat: this person must not answer the question, such as checking their own box.
    BARRED = "barred", "barred"


class Seat(models.Model):
    """A person's lease on a question; it holds their answers.

    Unique on (annotator, subject). The question determines the subject, so this also allows only
    one seat per annotator and question, and saves an index of the most written table.
    """

    State = SeatState

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="seats")
    annotator = models.ForeignKey(
        "labeling.User", on_delete=models.PROTECT, related_name="seats", db_index=False
    )
    subject = models.BigIntegerField()
    # A named constraint, since unique=True would create a second index for LIKE on PostgreSQL.
    token = models.CharField(max_length=32, default=new_token)
    state = models.CharField(max_length=8, choices=State.choices, default=State.LEASED)
    leased_until = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    # Number of the person's answers in the campaign including this one, for the revision window.
    ordinal = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        # The model's former name, which backups and raw statements use.
        db_table = "labeling_assignment"
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "subject"], name="one_seat_per_annotator_and_subject"
            ),
            models.UniqueConstraint(fields=["token"], name="one_seat_per_token"),
        ]
        indexes = [
            models.Index(
                fields=["leased_until"],
                condition=models.Q(state="leased"),
                name="assignment_under_lease",
            ),
            # A person's open seats, whatever the number of their answers.
            models.Index(
                fields=["annotator"],
                condition=models.Q(state="leased"),
                name="assignment_open_by_annotator",
            ),
            # Seats that a person gave back, which come last.
            models.Index(
                fields=["annotator"],
                condition=models.Q(state="returned"),
                name="assignment_given_back",
            ),
            # A person's last answers, whatever their number (monitoring.py).
            models.Index(
                fields=["annotator", "ordinal"],
                condition=models.Q(ordinal__isnull=False),
                name="assignment_by_ordinal",
            ),
        ]

    def __str__(self) -> str:
        return f"seat {self.pk}"

    @property
    def topic(self) -> str:
        return self.question.topic


class Answer(models.Model):
    """A revision within a seat. Never changed, never deleted."""

    class InputMethod(models.TextChoices):
        KEY = "key", "a key"
        TAP = "tap", "a button, by mouse or finger"
        SWIPE = "swipe", "a swipe"
        DONE = "done", "Done, with a page of images"

    # Made by the client, so that a retry is recognised.
    id = models.UUIDField(primary_key=True)
    assignment = models.ForeignKey(
        Seat, on_delete=models.PROTECT, related_name="answers", db_index=False
    )
    revision = models.PositiveSmallIntegerField(default=0)
    value = models.JSONField()
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    # Input method as the page reports it; null for forms, programs and older answers. Only for
    # researchers' figures, not in releases.
    input_method = models.CharField(  # noqa: DJ001 - a column that no older row has
        max_length=5, choices=InputMethod.choices, null=True, blank=True
    )
    # Code in LANGUAGES of the page's language; null for programs and older answers. Only for
    # researchers' figures, not in releases.
    language = models.CharField(  # noqa: DJ001 - a column that no older row has
        max_length=10, null=True, blank=True
    )
    # Kept from the second edition; nothing writes or reads it.
    looks = models.JSONField(null=True, blank=True)
    # Its question was settled or full, or its author was stopped. It counts in audits, not in the
    # consensus; count_late (submitting.py) may clear it.
    late = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "revision"], name="one_answer_per_assignment_and_revision"
            )
        ]

    def __str__(self) -> str:
        return f"answer {self.pk}"


class Draft(models.Model):
    """Unsent work on a seat, saved continuously; it survives a crash and a change of machine."""

    assignment = models.OneToOneField(Seat, on_delete=models.CASCADE, related_name="draft")
    # State of the kind's page.
    content = models.JSONField(default=dict)
    # Incremented by the server; clients say which version they started from.
    version = models.PositiveIntegerField(default=1)
    # A random word that identifies the browser.
    device = models.CharField(max_length=32, blank=True)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"draft {self.version} of {self.assignment}"


class SentBack(models.Model):
    """An answer that a reviewer sent back to its author: it stays but no longer counts."""

    assignment = models.ForeignKey(Seat, on_delete=models.PROTECT, related_name="sent_back")
    answer = models.OneToOneField(Answer, on_delete=models.PROTECT, related_name="sent_back")
    note = models.TextField()
    reviewer = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"sent back: {self.note[:60]}"


class SettlementQuerySet(models.QuerySet["Settlement"]):
    def latest_of(self, question_ids: Iterable[int], *columns: str) -> dict[int, tuple[Any, ...]]:
        """Return these columns of each question's latest settlement, by question id."""
        rows = self.filter(question__in=question_ids).order_by("pk")
        return {pk: tuple(row) for pk, *row in rows.values_list("question_id", *columns)}


class Settlement(models.Model):
    """Append-only: which answers gave which value under which policy. The latest one is current."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="settlements")
    policy = models.ForeignKey(
        "labeling.Policy", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # The skills that weighted the answers; null for equal weights.
    calibration = models.ForeignKey(
        "labeling.Calibration",
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        db_index=False,
    )
    value = models.JSONField(null=True)
    probability = models.FloatField(null=True)
    # Ids of the counted answers, sorted.
    answers = models.JSONField(default=list)
    # A reviewer's verdict, which does not depend on the votes.
    reviewed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = SettlementQuerySet.as_manager()

    def __str__(self) -> str:
        return f"settlement {self.pk}: {self.value}"


class AuditQuerySet(models.QuerySet["Audit"]):
    def measuring(self) -> "AuditQuerySet":
        """Return the answers that measure the error; gold that a person retired measures none."""
        return self.filter(
            models.Q(for_gold=False) | models.Q(gold__isnull=False), answered_at__isnull=False
        )


class Audit(models.Model):
    """A question drawn at random and answered, blind, by a trusted person: a settled one, or one
    that becomes gold.
    """

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="audits")
    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="audits"
    )
    # Number of its sample: 1, 2, ….
    sample = models.PositiveIntegerField()
    # Whether the answer becomes gold.
    for_gold = models.BooleanField(default=False, db_default=False)
    # The settlement at the time of drawing; for gold, at the time of the answer, if any.
    settlement = models.ForeignKey(
        Settlement,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    value = models.JSONField(null=True, blank=True)
    auditor = models.ForeignKey(
        "labeling.User",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = AuditQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "sample"], name="one_audit_per_question_and_sample"
            )
        ]

    def __str__(self) -> str:
        return f"audit of {self.question}"

    @property
    def label(self) -> Settlement:
        """Return the settlement that is audited."""
        assert self.settlement is not None, "only a settled question is audited"
        return self.settlement
