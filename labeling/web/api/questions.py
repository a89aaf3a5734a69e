"""Questions of a campaign: topics with examples, questions with verdicts, gold."""

from collections.abc import Sequence
from typing import Any

import django_filters
from django.db.models import OuterRef, QuerySet, Subquery
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns import lifecycle
from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.campaigns.names import VisibleNames
from labeling.consensus import reviewing, settling
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours, Refusal
from labeling.exchange import box_campaigns, part_campaigns
from labeling.exchange.lists import ProposalRow
from labeling.follow_ups import asking, candidate_lists, opening
from labeling.follow_ups.asking import AddedQuestions
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES, CHAINS, IMAGES
from labeling.models import Campaign, Example, Gold, Image, Question, Settlement, Topic
from labeling.plurals import count_of
from labeling.quality import asking_more, auditing, stated_errors
from labeling.quality.gold import add_gold, gold_from_settled, retire_gold
from labeling.reports import question_page
from labeling.web.api.base import MIB, CampaignViewSet
from labeling.web.serializers.campaigns import DecisionSerializer
from labeling.web.serializers.common import NAME_HELP, AnyField
from labeling.web.serializers.questions import (
    AcceptanceSerializer,
    AddedQuestionsSerializer,
    AskedMoreSerializer,
    AskMoreSerializer,
    ChangedTopicSerializer,
    CountSerializer,
    ExampleSerializer,
    GoldSerializer,
    NewExampleSerializer,
    NewGoldSerializer,
    NewQuestionsSerializer,
    NewTopicsSerializer,
    ObjectsSerializer,
    QuestionKeysSerializer,
    QuestionSerializer,
    RandomGoldSerializer,
    ReasonSerializer,
    SendBackSerializer,
    SentBackSerializer,
    SettlementSerializer,
    TopicSerializer,
    VerdictSerializer,
    WithdrawalSerializer,
    WithdrawnSerializer,
)


class InTopic(CampaignViewSet):
    def topic(self, *roles: str) -> Topic:
        return get_or_404(
            self.campaign(*roles).topics, "The campaign has no such topic.", key=self.kwargs["key"]
        )


class TopicViewSet(InTopic):
    queryset = Topic.objects.none()
    serializer_class = TopicSerializer
    ordering = "key"
    lookup_field = "key"
    lookup_value_converter = "str"
    max_body_bytes = 4 * MIB

    def list(self, request: Request, campaign: str) -> Response:
        """Return the topics: what annotators read about each class."""
        return self.paged(self.campaign().topics.all(), TopicSerializer)

    @extend_schema(request=NewTopicsSerializer, responses=CountSerializer)
    def create(self, request: Request, campaign: str) -> Response:
        """Create or update topics by key. Existing ones keep their guidance and examples."""
        row = self.campaign(RESEARCHER)
        topics = self.read(NewTopicsSerializer)["topics"]
        keys = [topic["key"] for topic in topics]
        if len(set(keys)) < len(keys):
            raise ValidationError({"topics": "Send every key once."})
        unnamed = [topic["key"] for topic in topics if "name" not in topic]
        known = {topic["key"]: topic for topic in opening.describe(unnamed)}
        topics = [known.get(topic["key"], topic) for topic in topics]
        return self.answer(CountSerializer, {"count": lifecycle.define_topics(row, topics)})

    @extend_schema(responses=TopicSerializer)
    def retrieve(self, request: Request, campaign: str, key: str) -> Response:
        """Return one topic."""
        return self.answer(TopicSerializer, self.topic())

    @extend_schema(request=ChangedTopicSerializer, responses=TopicSerializer)
    def partial_update(self, request: Request, campaign: str, key: str) -> Response:
        """Change a topic's name, synonyms, definition, url or guidance."""
        topic = self.topic(RESEARCHER)
        body = self.read(ChangedTopicSerializer)
        if not body:
            raise ValidationError("Send at least one field to change.")
        changed = lifecycle.change_topic(topic.campaign, key, self.user, **body)
        return self.answer(TopicSerializer, changed)


class ExampleViewSet(InTopic):
    queryset = Example.objects.none()
    serializer_class = ExampleSerializer

    def list(self, request: Request, campaign: str, key: str) -> Response:
        """Return the topic's examples of yes and no."""
        rows = self.topic(RESEARCHER, REVIEWER).examples.select_related("image")
        return self.paged(rows, ExampleSerializer)

    @extend_schema(request=NewExampleSerializer, responses={201: ExampleSerializer})
    def create(self, request: Request, campaign: str, key: str) -> Response:
        """Add an image of the dataset with its right answer as an example."""
        topic = self.topic(RESEARCHER)
        body = self.read(NewExampleSerializer)
        image = _image(topic.campaign, body["image"])
        made = lifecycle.add_example(topic.campaign, key, image, body["answer"], body["caption"])
        return self.answer(ExampleSerializer, made, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, key: str, pk: int) -> Response:
        """Remove an example."""
        topic = self.topic(RESEARCHER)
        if not topic.examples.filter(pk=pk).exists():
            raise NotYours("The topic has no such example.")
        lifecycle.remove_example(topic.campaign, pk)
        return Response(status=204)


def _image(campaign: Campaign, name: str) -> Image:
    image = campaign.dataset.images.filter(name=name).first()
    if image is None:
        raise Refusal(
            f"The dataset has no image {name!r}. Add it to the dataset first.", field="image"
        )
    return image


class QuestionFilters(django_filters.FilterSet):
    image = django_filters.CharFilter("item__image__name")
    topic = django_filters.CharFilter()

    class Meta:
        model = Question
        fields = ("state", "topic", "image")


class GivenAnswerSerializer(serializers.Serializer):
    id = serializers.UUIDField(source="answer.pk")
    annotator = serializers.CharField(source="pseudonym")
    annotator_name = serializers.SerializerMethodField(help_text=NAME_HELP)
    value = AnyField(source="answer.value")
    revision = serializers.IntegerField(source="answer.revision")
    seconds = serializers.FloatField(allow_null=True)
    late = serializers.BooleanField(
        source="answer.late", help_text="Whether it was given after the question was settled."
    )
    counted = serializers.BooleanField(help_text="Whether the current settlement counts it.")
    replaced = serializers.BooleanField(help_text="Whether the same person changed it later.")
    created_at = serializers.DateTimeField(source="answer.created_at")

    def get_annotator_name(self, row: question_page.QuestionAnswerRow) -> str:
        name: str = self.context["names"].of(row.answer.assignment.annotator)
        return name


class HistorySerializer(serializers.Serializer):
    answers = GivenAnswerSerializer(many=True)
    settlements = SettlementSerializer(many=True)
    decisions = DecisionSerializer(many=True)


# Only these states have a current settlement; others were reopened or are in review.
CURRENT_SETTLEMENTS = Settlement.objects.filter(
    question__state__in=[Question.State.SETTLED, Question.State.DROPPED]
)


class QuestionViewSet(CampaignViewSet):
    queryset = Question.objects.none()
    serializer_class = QuestionSerializer
    filterset_class = QuestionFilters
    max_body_bytes = 16 * MIB

    def _questions(self, *roles: str) -> QuerySet[Question]:
        latest = CURRENT_SETTLEMENTS.filter(question=OuterRef("pk")).order_by("-pk")
        return (
            self.campaign(*roles)
            .questions.exclude(state=Question.State.GOLD)
            .select_related("item__image", "campaign")
            .annotate(
                value=Subquery(latest.values("value")[:1]),
                probability=Subquery(latest.values("probability")[:1]),
            )
        )

    def list(self, request: Request, campaign: str) -> Response:
        """Return the questions, without gold, with their current labels."""
        return self.paged(self._questions(RESEARCHER, REVIEWER), QuestionSerializer, self._support)

    def _support(self, page: Sequence[Question]) -> dict[str, object]:
        rows = CURRENT_SETTLEMENTS.filter(question__in=[row.pk for row in page]).order_by("pk")
        current = {row.question_id: row for row in rows}
        if not current:
            return {}
        campaign = page[0].campaign
        measured = stated_errors.measure(campaign)
        errors = {
            row.pk: measured.error_of(current[row.pk].probability, len(current[row.pk].answers))
            for row in page
            if measured and row.state == Question.State.SETTLED and row.pk in current
        }
        return {"support": settling.support(campaign, current.values()), "errors": errors}

    @extend_schema(request=NewQuestionsSerializer, responses={201: AddedQuestionsSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Add questions about images, all or none. Existing questions are counted and left
        unchanged; a candidate's query is recorded.
        """
        row = self.campaign(RESEARCHER)
        rows = self.read(NewQuestionsSerializer)["questions"]
        added = self._ask(row, rows)
        if added.missing_images:
            raise Refusal(
                count_of(len(added.missing_images), "image is", "images are")
                + f" not in the dataset, the first is {added.missing_images[0]!r}. Add them first. "
                "No questions were added.",
                field="questions",
                code="missing_images",
            )
        return self.answer(AddedQuestionsSerializer, added, 201)

    def _ask(self, row: Campaign, rows: Sequence[Any]) -> AddedQuestions:
        if KINDS[row.kind].asks == IMAGES:
            key = opening.NAMING_TOPIC["key"]
            opening.define_asked(row, [("", key)])
            rows = [{**entry, "topic": entry["topic"] or key} for entry in rows]
        elif missing := [index for index, entry in enumerate(rows) if not entry["topic"]]:
            fault = {"topic": ["This field is required."]}
            raise ValidationError({"questions": [*[{}] * missing[0], fault]})
        if KINDS[row.kind].asks == CANDIDATES:
            return candidate_lists.ask(
                row,
                [
                    candidate_lists.CandidateRow(
                        entry["image"], entry["topic"], entry["query"], f"questions[{index}]"
                    )
                    for index, entry in enumerate(rows)
                ],
            )
        if any(entry["query"] for entry in rows):
            raise ValidationError({"questions": "This campaign stores no queries. Omit them."})
        pairs = [(entry["image"], entry["topic"]) for entry in rows]
        proposals = [
            ProposalRow(
                index, entry["image"], entry["topic"], 1.0, tuple(box), f"questions[{index}]"
            )
            for index, entry in enumerate(rows)
            for box in entry.get("boxes", ())
        ]
        if not proposals:
            return asking.add_questions(row, pairs)
        if KINDS[row.kind].asks != CHAINS:
            raise Refusal(
                f"Boxes are proposed to campaigns of boxes; this one is of the kind {row.kind}.",
                field="questions",
            )
        proposed = box_campaigns.propose(row.dataset, pairs, proposals)
        return box_campaigns.ask(row, pairs, proposed)

    @extend_schema(request=ObjectsSerializer, responses={201: AddedQuestionsSerializer})
    def objects(self, request: Request, campaign: str) -> Response:
        """Ask for the parts of objects of these categories on these images; by default of all.
        Existing questions are counted and left unchanged.
        """
        row = self.campaign(RESEARCHER)
        body = self.read(ObjectsSerializer)
        items = part_campaigns.objects_of(row.dataset, body["categories"], body["images"])
        return self.answer(AddedQuestionsSerializer, part_campaigns.ask(row, items), 201)

    @extend_schema(responses=QuestionSerializer)
    def retrieve(self, request: Request, campaign: str, pk: int) -> Response:
        """Return one question."""
        question = get_or_404(
            self._questions(RESEARCHER, REVIEWER),
            "There is no such question in this campaign.",
            pk=pk,
        )
        return self.answer(QuestionSerializer, question, 200, **self._support([question]))

    @extend_schema(responses=HistorySerializer)
    @action(detail=True, url_name="question-history")
    def history(self, request: Request, campaign: str, pk: int) -> Response:
        """Return the answers, settlements and decisions of a question."""
        row = self.campaign(RESEARCHER, REVIEWER)
        question = get_or_404(
            row.questions.exclude(state=Question.State.GOLD),
            "There is no such question in this campaign.",
            pk=pk,
        )
        history = question_page.question_history(row, question)
        return self.answer(
            HistorySerializer,
            {
                "answers": history.answers,
                "settlements": [entry.settlement for entry in history.settlements],
                "decisions": [entry.decision for entry in history.decisions],
            },
            names=VisibleNames(row),
        )

    @extend_schema(request=WithdrawalSerializer, responses=WithdrawnSerializer)
    @action(["post"], detail=False)
    def withdraw(self, request: Request, campaign: str) -> Response:
        """Withdraw these questions. Their answers are kept. `kept` counts the others by reason."""
        row = self.campaign(RESEARCHER)
        body = self.read(WithdrawalSerializer)
        kept = asking.count_unaffected(row, body["questions"])
        count = asking.withdraw_questions(row, body["questions"], self.user, body["reason"])
        why = [
            {"state": state.value, "count": number, "why": asking.UNAFFECTED_REASONS[state]}
            for state, number in sorted(kept.items())
        ]
        return self.answer(WithdrawnSerializer, {"count": count, "kept": why})

    @extend_schema(request=AskMoreSerializer, responses=AskedMoreSerializer)
    @action(["post"], detail=False, url_path="ask-more")
    def ask_more(self, request: Request, campaign: str) -> Response:
        """Ask more people about these settled questions; all their answers count."""
        row = self.campaign(RESEARCHER)
        body = self.read(AskMoreSerializer)
        outcome = asking_more.ask_more(
            row, body["questions"], body["people"], self.user, body["reason"]
        )
        return self.answer(AskedMoreSerializer, outcome)

    @extend_schema(request=VerdictSerializer, responses=SettlementSerializer)
    @action(["post"], detail=True)
    def review(self, request: Request, campaign: str, pk: int) -> Response:
        """Decide a question that is in review or undecided."""
        row = self.campaign(RESEARCHER, REVIEWER)
        body = self.read(VerdictSerializer)
        settled = reviewing.decide(
            row, pk, self.user, body["value"], body["reason"], seen=body["seen"]
        )
        return self.answer(SettlementSerializer, settled)

    @extend_schema(request=AcceptanceSerializer, responses=SettlementSerializer)
    @action(["post"], detail=True)
    def accept(self, request: Request, campaign: str, pk: int) -> Response:
        """Accept the annotators' result, where a reviewer checks every question."""
        row = self.campaign(RESEARCHER, REVIEWER)
        body = self.read(AcceptanceSerializer)
        settled = reviewing.accept(row, pk, self.user, body["reason"], seen=body["seen"])
        return self.answer(SettlementSerializer, settled)

    @extend_schema(request=SendBackSerializer, responses=SentBackSerializer(many=True))
    @action(["post"], detail=True, url_path="send-back")
    def send_back(self, request: Request, campaign: str, pk: int) -> Response:
        """Send drawings back to their annotators with a note."""
        row = self.campaign(RESEARCHER, REVIEWER)
        body = self.read(SendBackSerializer)
        chosen = body["answers"]
        sent = reviewing.send_back(
            row,
            pk,
            self.user,
            body["note"],
            seen=body["seen"],
            answers=None if chosen is None else [str(answer) for answer in chosen],
        )
        return Response(SentBackSerializer(sent, many=True).data)


class GoldFilters(django_filters.FilterSet):
    topic = django_filters.CharFilter("question__topic")
    retired = django_filters.BooleanFilter("retired_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Gold
        fields = ("topic", "retired")


class GoldViewSet(CampaignViewSet):
    queryset = Gold.objects.none()
    serializer_class = GoldSerializer
    filterset_class = GoldFilters
    max_body_bytes = 4 * MIB

    def _gold(self, campaign: Campaign) -> QuerySet[Gold]:
        rows = Gold.objects.filter(question__campaign=campaign)
        return rows.select_related("question__item__image")

    def list(self, request: Request, campaign: str) -> Response:
        """Return the questions with known answers."""
        return self.paged(self._gold(self.campaign(RESEARCHER)), GoldSerializer)

    @extend_schema(request=NewGoldSerializer, responses={201: CountSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Add or change gold questions, all or none."""
        row = self.campaign(RESEARCHER)
        body = self.read(NewGoldSerializer)
        added = add_gold(row, self.user, body["gold"], replace=body["replace"])
        return self.answer(CountSerializer, {"count": added}, 201)

    @extend_schema(request=RandomGoldSerializer, responses={201: CountSerializer})
    @action(["post"], detail=False, url_path="random")
    def draw(self, request: Request, campaign: str) -> Response:
        """Draw questions that become gold once researchers or reviewers have answered them on the
        audit page.
        """
        row, body = self.campaign(RESEARCHER), self.read(RandomGoldSerializer)
        auditing.draw(row, self.user, body["n"], body.get("seed"), for_gold=True)
        return self.answer(CountSerializer, {"count": body["n"]}, 201)

    @extend_schema(request=QuestionKeysSerializer, responses=CountSerializer)
    @action(["post"], detail=False)
    def promote(self, request: Request, campaign: str) -> Response:
        """Copy settled questions as gold questions."""
        row = self.campaign(RESEARCHER)
        keys = self.read(QuestionKeysSerializer)["questions"]
        return self.answer(CountSerializer, {"count": gold_from_settled(row, self.user, keys)})

    @extend_schema(request=ReasonSerializer, responses=GoldSerializer)
    @action(["post"], detail=True)
    def retire(self, request: Request, campaign: str, pk: int) -> Response:
        """Stop handing out this gold question, given by its id."""
        row = self.campaign(RESEARCHER)
        reason = self.read(ReasonSerializer)["reason"]
        if not self._gold(row).filter(question__pk=pk).exists():
            raise NotYours("There is no such gold in this campaign.")
        return self.answer(GoldSerializer, retire_gold(row, self.user, pk, reason))
