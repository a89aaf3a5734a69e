from django.db import models

from labeling.models.campaigns import Topic
from labeling.models.questions import Question


class Candidate(models.Model):
    """A query that found the image of a question for its class. A question may have several."""

    # No index: the unique constraint has one.
    question = models.ForeignKey(
        Question, on_delete=models.CASCADE, related_name="candidates", db_index=False
    )
    query = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "query"], name="one_candidate_per_question_and_query"
            )
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.query}"


class VerificationState(models.TextChoices):
    ASKING = "asking", "being asked"
    STOPPED = "stopped", "stopped"


class Verification(models.Model):
    """Figures of one class's candidates at the last check, and whether people are still asked.

    Written by quality/verifying.py only. Figures are None if unknown.
    """

    State = VerificationState

    class Reason(models.TextChoices):
        PRECISION = "precision", "precision reached"
        MONEY = "money", "money spent"
        HAND = "hand", "by hand"

    topic = models.OneToOneField(Topic, on_delete=models.CASCADE, related_name="verification")
    state = models.CharField(max_length=8, choices=State.choices, default=State.ASKING)
    # Why it was stopped.
    reason = models.CharField(max_length=10, choices=Reason.choices, blank=True, default="")
    # The rule that had stopped it before it was resumed, and no longer applies.
    waived = models.CharField(max_length=10, choices=Reason.choices, blank=True, default="")
    # Ids of questions that the stop withdrew, for resuming.
    withdrawn = models.JSONField(default=list, blank=True)
    # Questions: all, with a vote, open, and settled ones by answer.
    candidates = models.PositiveIntegerField(default=0)
    asked = models.PositiveIntegerField(default=0)
    open = models.PositiveIntegerField(default=0)
    yes = models.PositiveIntegerField(default=0)
    no = models.PositiveIntegerField(default=0)
    # Answers, including those to the class's gold, and their cost in the policy's currency.
    answers = models.PositiveIntegerField(default=0)
    cost = models.FloatField(default=0)
    # See estimators/precision.py.
    by_table = models.FloatField(null=True)
    precision = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    audited = models.PositiveIntegerField(default=0)
    wrong = models.PositiveIntegerField(default=0)
    # Whether the class has its own vote table.
    has_table = models.BooleanField(default=False)
    looked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.topic}: {self.state}"
