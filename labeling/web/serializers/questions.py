"""Serializers of topics, examples, questions and gold."""

from rest_framework import serializers

from labeling.follow_ups.asking import AddedQuestions
from labeling.models import Example, Gold, Question, Topic
from labeling.quality.asking_more import AskedMore
from labeling.web.api.base import Body, Key
from labeling.web.forms.questions import (
    AskMoreForm,
    ExampleForm,
    GoldForm,
    RandomGoldForm,
    SendBackForm,
    TopicForm,
)
from labeling.web.serializers.common import AnyField, Plain
from labeling.web.serializers.derived import FormBody, rows_of


class ExampleSerializer(serializers.ModelSerializer):
    image = serializers.CharField(source="image.name")

    class Meta:
        model = Example
        fields = ("id", "image", "answer", "caption")


class NewExampleSerializer(FormBody):
    form, options = ExampleForm, {"answer": {"required": True}}


class SiblingSerializer(Body):
    """A class that is easily confused with this one."""

    name = serializers.CharField(max_length=200)
    definition = serializers.CharField(allow_blank=True, default="", max_length=10_000)


class TopicSerializer(serializers.ModelSerializer):
    synonyms = serializers.ListField(child=serializers.CharField())
    siblings = SiblingSerializer(many=True)

    class Meta:
        model = Topic
        fields = ("key", "name", "synonyms", "definition", "url", "guidance", "siblings")


class TopicBody(FormBody):
    form, only = TopicForm, ("definition", "url")
    key = serializers.CharField(max_length=64)
    name = serializers.CharField(
        max_length=200, required=False, help_text="By default from the site's glossary."
    )
    synonyms = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, max_length=100
    )
    siblings = SiblingSerializer(many=True, required=False, max_length=50)  # type: ignore[call-arg]


class NewTopicsSerializer(Body):
    topics = TopicBody(many=True, allow_empty=False, max_length=5_000)  # type: ignore[call-arg]


class ChangedTopicSerializer(FormBody):
    form, only, is_patch = TopicForm, ("name", "definition", "url", "guidance"), True
    synonyms = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=100
    )
    siblings = SiblingSerializer(many=True, required=False, max_length=50)  # type: ignore[call-arg]


# Questions and gold


class QuestionSerializer(serializers.ModelSerializer):
    image = serializers.CharField(source="item.image.name")
    value = AnyField(help_text="The label; null unless the question is settled or dropped.")
    probability = serializers.FloatField(
        allow_null=True,
        help_text="Probability by the voting model, which is overconfident; see error.",
    )
    error = serializers.SerializerMethodField(
        help_text="Probability that the label is wrong; null if neither gold nor audits measure it."
    )
    votes = serializers.SerializerMethodField(help_text="Counted votes without abstentions.")
    interval = serializers.SerializerMethodField(
        help_text="95 % interval of a probability that is a share of votes, else null."
    )

    class Meta:
        model = Question
        fields = (
            "id",
            "image",
            "topic",
            "state",
            "seats_free",
            "value",
            "probability",
            "error",
            "votes",
            "interval",
            "step",
        )

    def get_votes(self, row: Question) -> int | None:
        support = self.context.get("support", {}).get(row.pk)
        return support.votes if support else None

    def get_error(self, row: Question) -> float | None:
        error: float | None = self.context.get("errors", {}).get(row.pk)
        return error

    def get_interval(self, row: Question) -> list[float] | None:
        support = self.context.get("support", {}).get(row.pk)
        return list(support.interval) if support and support.interval else None


class AskedSerializer(Body):
    image = serializers.CharField(max_length=400)
    topic = serializers.CharField(max_length=64)


class AskedPairSerializer(AskedSerializer):
    topic = serializers.CharField(
        required=False, default="", max_length=64, help_text="Omit it in naming campaigns."
    )
    query = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=200,
        help_text="Search query that returned the image, in campaigns on candidates.",
    )
    boxes = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(), min_length=4, max_length=4),
        required=False,
        max_length=10,
        help_text="Proposed boxes in box campaigns, the most confident first: x0, y0, x1, y1 in "
        "pixels of the upright image.",
    )


class NewQuestionsSerializer(Body):
    questions = AskedPairSerializer(many=True, allow_empty=False, max_length=50_000)  # type: ignore[call-arg]


AddedQuestionsSerializer = rows_of(AddedQuestions, "AddedQuestions", "missing_images")


class QuestionKeysSerializer(Body):
    questions = serializers.ListField(child=Key(), allow_empty=False, max_length=10_000)


class WithdrawalSerializer(QuestionKeysSerializer):
    reason = serializers.CharField(max_length=500)


class KeptSerializer(Plain):
    state = serializers.CharField()
    count = serializers.IntegerField()
    why = serializers.CharField()


class WithdrawnSerializer(Plain):
    count = serializers.IntegerField()
    kept = KeptSerializer(many=True)


class AskMoreSerializer(FormBody, QuestionKeysSerializer):
    form = AskMoreForm


AskedMoreSerializer = rows_of(AskedMore, "AskedMore")


class SettlementSerializer(Plain):
    question = serializers.IntegerField(source="question_id")
    value = AnyField()
    probability = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()


class CountSerializer(Plain):
    count = serializers.IntegerField()


class GoldSerializer(serializers.ModelSerializer):
    question = serializers.IntegerField(source="question_id")
    image = serializers.CharField(source="question.item.image.name")
    topic = serializers.CharField(source="question.topic")
    answer = AnyField()
    at_random = serializers.BooleanField(help_text="Drawn at random, not chosen by hand.")

    class Meta:
        model = Gold
        fields = (
            "question",
            "image",
            "topic",
            "answer",
            "explanation",
            "source",
            "at_random",
            "retired_at",
        )


class GoldBody(FormBody, AskedSerializer):
    form, only = GoldForm, ("explanation",)
    object = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=80,
        help_text="Name of the object, in campaigns on parts.",
    )
    answer = AnyField()
    source = serializers.CharField(allow_blank=True, default="", max_length=200)  # type: ignore[assignment]


class NewGoldSerializer(Body):
    gold = GoldBody(many=True, allow_empty=False, max_length=5_000)  # type: ignore[call-arg]
    replace = serializers.BooleanField(
        default=False,
        help_text="Confirm that gold may replace a question without answers that nobody is working "
        "on. Not for boxes.",
    )


class RandomGoldSerializer(FormBody):
    form, options = RandomGoldForm, {"n": {"required": True}}


class ReasonSerializer(Body):
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)


class ObjectsSerializer(Body):
    categories = serializers.ListField(
        child=serializers.CharField(max_length=200),
        default=list,
        max_length=1_000,
        help_text="Names or wnids of the dataset's vocabulary.",
    )
    images = serializers.ListField(
        child=serializers.CharField(max_length=400), default=list, max_length=10_000
    )


def seen_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=1,
        max_value=2**63 - 1,
        allow_null=True,
        default=None,
        help_text="The settlement that was reviewed. Refused if it is no longer the current one.",
    )


class AcceptanceSerializer(Body):
    seen = seen_field()
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)


class VerdictSerializer(AcceptanceSerializer):
    value = AnyField(help_text='An answer other than an abstention, or "drop".')


class SendBackSerializer(FormBody):
    form, only = SendBackForm, ("note",)
    seen = seen_field()
    answers = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        default=None,
        max_length=50,
        help_text="Ids of counted drawings; null for all by people who still work in the campaign.",
    )


class SentBackSerializer(Plain):
    answer = serializers.UUIDField(source="answer_id")
    note = serializers.CharField()
    created_at = serializers.DateTimeField()
