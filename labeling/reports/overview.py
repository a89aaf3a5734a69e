"""What researchers' lists show, each in a few queries however long the list."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from labeling.consensus import settling
from labeling.consensus.votes import votes_on_page
from labeling.db import question_counts
from labeling.db.sql import in_runs
from labeling.kinds import KINDS, policies
from labeling.models import (
    Answer,
    Campaign,
    Decision,
    Gold,
    Image,
    Job,
    Membership,
    Question,
    Release,
    Settlement,
    User,
)
from labeling.plurals import count_of
from labeling.quality import box_overlaps
from labeling.reports import forecasts, progress
from labeling.reports.progress import Annotator, Progress

# Members on the campaign's own page, which is read again every few seconds.
MEMBERS = 20


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as lists show it. role: of the person who looks; share: finished of questions."""

    campaign: Campaign
    role: str
    questions: int
    finished: int
    share: float | None
    review: int
    answers: int


def campaign_rows(campaigns: Sequence[Campaign], user: User) -> list[CampaignRow]:
    pks = [campaign.pk for campaign in campaigns]
    counts = question_counts.of_campaigns(pks)
    members = Membership.objects.filter(campaign__in=pks).order_by()
    answers = dict(members.values_list("campaign").annotate(Sum("answered")))
    roles = dict(members.active().filter(user=user).values_list("campaign", "role"))
    rows = []
    for campaign in campaigns:
        counted = counts[campaign.pk]
        total, finished = counted.questions, counted.settled + counted.dropped
        rows.append(
            CampaignRow(
                campaign=campaign,
                role=roles.get(campaign.pk, "staff"),
                questions=total,
                finished=finished,
                share=finished / total if total else None,
                review=counted.review,
                answers=answers.get(campaign.pk) or 0,
            )
        )
    return rows


@dataclass(frozen=True)
class Decided:
    """A decision, in words that follow the person's name."""

    decision: Decision
    words: str


@dataclass(frozen=True)
class CampaignFacts:
    """All that a campaign's own page shows of its progress, people, jobs and decisions.

    estimate: what it will cost, of a draft alone; else None. without_anybody: open questions that
    all who joined have answered.
    """

    progress: Progress
    without_anybody: int
    estimate: forecasts.Estimate | None
    annotators: list[Annotator]
    more_annotators: bool
    failed_jobs: list[Job]
    running_jobs: list[Job]
    releases: list[Release]
    decisions: list[Decided]


def campaign_facts(campaign: Campaign) -> CampaignFacts:
    counted = progress.count(campaign)
    failed = campaign.jobs.filter(state="failed").order_by("-pk")
    decisions = campaign.decisions.select_related("actor").order_by("-pk")[:8]
    # One more than is shown, to know whether there are more.
    members = list(progress.members(campaign)[: MEMBERS + 1])
    return CampaignFacts(
        progress=progress.progress(campaign, counted),
        without_anybody=progress.without_anybody(campaign, counted.counts),
        estimate=(
            progress.estimate_of(campaign, counted)
            if campaign.state == Campaign.State.DRAFT
            else None
        ),
        annotators=progress.annotators(campaign, members[:MEMBERS]),
        more_annotators=len(members) > MEMBERS,
        failed_jobs=list(failed[:3]),
        running_jobs=list(
            # Watching somebody is over in a moment, and comes again after ten answers.
            campaign.jobs.filter(state__in=["queued", "running"]).exclude(kind="watch")[:3]
        ),
        releases=list(campaign.releases.order_by("-number")[:3]),
        decisions=in_words(decisions),
    )


@dataclass(frozen=True)
class Value:
    """An answer: its tally name, and the words that people see for it."""

    value: str
    words: str


@dataclass(frozen=True)
class Tally(Value):
    count: int


@dataclass(frozen=True)
class Settled(Value):
    share: float | None
    support: settling.Support | None


@dataclass(frozen=True)
class QuestionRow:
    """A question with its topic's name, the votes by answer, and what it settled as."""

    question: Question
    image: Image
    topic: str
    votes: list[Tally]
    value: Settled | None


def question_rows(campaign: Campaign, questions: Sequence[Question]) -> list[QuestionRow]:
    """Return a row for each question. Five queries."""
    pks = [question.pk for question in questions]
    words = value_words(campaign)
    page_votes = votes_on_page(pks)
    votes = settling.tallied(campaign, page_votes)
    current = {
        settlement.question_id: settlement
        for settlement in Settlement.objects.filter(in_runs("question_id", pks)).order_by("pk")
    }
    names = topic_names(campaign, {question.topic for question in questions})
    support = settling.support(campaign, current.values(), page_votes)
    return [
        QuestionRow(
            question=question,
            image=question.item.image,
            topic=names.get(question.topic, question.topic),
            votes=[
                Tally(value, words.get(value, value), count)
                for value, count in votes.get(question.pk, Counter()).most_common()
            ],
            value=_settled(question, current.get(question.pk), campaign, words, support),
        )
        for question in questions
    ]


def _settled(
    question: Question,
    settlement: Settlement | None,
    campaign: Campaign,
    words: dict[str, str],
    support: dict[int, settling.Support],
) -> Settled | None:
    if question.state != Question.State.SETTLED or settlement is None:
        return None
    name = KINDS[campaign.kind].tally_name(settlement.value)
    return Settled(name, words.get(name, name), settlement.probability, support.get(question.pk))


@dataclass(frozen=True)
class SettlementRow:
    """A settlement, in words."""

    settlement: Settlement
    words: str


def proposal(campaign: Campaign, question: Question) -> SettlementRow | None:
    """What a question in review would settle as, if a reviewer accepts it; None where its answers
    gave nothing."""
    latest = question.settlements.order_by("-pk").first()
    if latest is None or latest.value is None:
        return None
    return SettlementRow(latest, _settled_words(latest, campaign, value_words(campaign)))


@dataclass(frozen=True)
class AnswerRow(Value):
    """An answer with who gave it. counted: in the last settlement; void: of somebody blocked;
    replaced: by a later one of the same seat."""

    answer: Answer
    pseudonym: str
    seconds: float | None
    counted: bool
    void: bool
    replaced: bool


@dataclass(frozen=True)
class History:
    """Every answer to a question, every settlement, and the reviewers' decisions."""

    answers: list[AnswerRow]
    settlements: list[SettlementRow]
    decisions: list[Decided]


def question_history(campaign: Campaign, question: Question) -> History:
    words = value_words(campaign)
    answers = answers_to([question.pk])
    settlements = list(question.settlements.select_related("policy").order_by("pk"))
    counted = set(settlements[-1].answers) if settlements else set()
    decisions = campaign.decisions.filter(
        kind=Decision.Kind.REVIEW, content__question=question.pk
    ).select_related("actor")
    return History(
        answers=answer_rows(campaign, answers, counted),
        settlements=[
            SettlementRow(row, _settled_words(row, campaign, words)) for row in settlements
        ],
        decisions=in_words(decisions),
    )


def answers_to(question_ids: Sequence[int]) -> list[Answer]:
    """Return every answer to these questions, in the order in which they came."""
    return list(
        Answer.objects.filter(assignment__question__in=question_ids)
        .select_related("assignment__annotator")
        .order_by("created_at", "revision", "pk")
    )


def answer_rows(
    campaign: Campaign, answers: Sequence[Answer], counted: Collection[str]
) -> list[AnswerRow]:
    """Return a row for each of these answers. counted: ids of those that settled their question."""
    kind = KINDS[campaign.kind]
    latest = {answer.assignment_id: answer.pk for answer in answers if not answer.late}
    blocked = campaign.memberships.filter(stage=Membership.Stage.BLOCKED)
    void = set(blocked.values_list("user", flat=True))
    return [
        AnswerRow(
            value=kind.tally_name(answer.value),
            words=kind.in_words(answer.value, campaign.settings),
            answer=answer,
            pseudonym=answer.assignment.annotator.pseudonym,
            seconds=None if answer.duration_ms is None else answer.duration_ms / 1000,
            counted=str(answer.pk) in counted,
            void=answer.assignment.annotator_id in void,
            replaced=not answer.late and latest[answer.assignment_id] != answer.pk,
        )
        for answer in answers
    ]


def _settled_words(settlement: Settlement, campaign: Campaign, words: dict[str, str]) -> str:
    if settlement.value is None:
        return "no majority: to a reviewer"
    if settlement.value == "dropped":
        return "dropped"
    name = KINDS[campaign.kind].tally_name(settlement.value)
    return words.get(name, name)


def value_words(campaign: Campaign) -> dict[str, str]:
    """Tally name → the words that people see for it."""
    return KINDS[campaign.kind].words(campaign.settings)


def asked_words(campaign: Campaign, topic: str) -> str:
    """What people are asked, as a heading: the topic's name as a question."""
    return KINDS[campaign.kind].question(topic, campaign.settings)


def answer_keys(campaign: Campaign) -> list[str]:
    """Return the key of each answer in the order of forms.answer_choices; "" for a class."""
    return [key for _, _, key in KINDS[campaign.kind].answers(campaign.settings)]


def topic_names(campaign: Campaign, keys: Iterable[str]) -> dict[str, str]:
    return dict(campaign.topics.filter(key__in=set(keys)).values_list("key", "name"))


def topic_rows(campaign: Campaign, search: str = "") -> QuerySet[Any]:
    """Return the campaign's topics by name, each with its number of examples."""
    topics = campaign.topics.annotate(example_count=Count("examples"))
    if search:
        topics = topics.filter(Q(name__icontains=search) | Q(key__icontains=search))
    return topics.order_by("name", "pk")


@dataclass(frozen=True)
class GoldRow(Value):
    """A gold question with its answer, how many met it and how many of them failed."""

    question: Question
    image: Image
    gold: Gold
    topic: str
    met: int
    failed: int


def gold_rows(campaign: Campaign, questions: Sequence[Question]) -> list[GoldRow]:
    kind, policy = KINDS[campaign.kind], policies.of(campaign)
    words = value_words(campaign)
    latest: dict[tuple[int, int], Any] = {}
    rows = Answer.objects.filter(
        assignment__question__in=[question.pk for question in questions]
    ).order_by("revision")
    for question_id, seat, value in rows.values_list("assignment__question", "assignment", "value"):
        latest[question_id, seat] = value
    answers_by_question: dict[int, list[Any]] = defaultdict(list)
    for (question_id, _), value in latest.items():
        answers_by_question[question_id].append(value)
    names = topic_names(campaign, {question.topic for question in questions})
    gold_question_rows = []
    for question in questions:
        answers = answers_by_question[question.pk]
        right = sum(kind.is_right(value, question.gold.answer, policy) for value in answers)
        name = kind.tally_name(question.gold.answer)
        gold_question_rows.append(
            GoldRow(
                value=name,
                words=words.get(name, name),
                question=question,
                image=question.item.image,
                gold=question.gold,
                topic=names.get(question.topic, question.topic),
                met=len(answers),
                failed=len(answers) - right,
            )
        )
    return gold_question_rows


ACTIONS = {
    "invited": "invited {role}s",
    "joined": "joined as {role}",
    "revoked": "withdrew an invitation",
    "role": "made a member {role}",
    "removed": "removed a member",
}


def _quota_words(decision: Decision) -> str:
    quotas = decision.content.get("quotas", {})
    sentence = ", ".join(f"{images} of {topic}" for topic, images in sorted(quotas.items()))
    return f"set the quotas: {sentence}" if sentence else "lifted all quotas"


def _stage_words(decision: Decision) -> str:
    return {
        "training": "sent somebody to training",
        "test": "sent somebody to the test",
        "failed": "let nobody in: the test was not passed",
        "working": "let somebody work",
        "paused": "paused somebody",
    }.get(decision.content.get("stage", ""), "changed where somebody stands")


def _review_words(decision: Decision) -> str:
    if "overlap" in decision.content:
        return box_overlaps.DONE[decision.content["overlap"]]
    if "sent_back" in decision.content:
        count = len(decision.content["sent_back"])
        drawings = "a drawing" if count == 1 else f"{count} drawings"
        return f"sent back {drawings} of question {decision.content.get('question')}"
    value = decision.content.get("value")
    value = value.get("key") if isinstance(value, dict) else value
    action = "accepted" if decision.content.get("accepted") else "decided"
    return f"{action} question {decision.content.get('question')}: {value}"


def _blocked_words(decision: Decision) -> str:
    reopened = decision.content.get("reopened", 0)
    return f"blocked somebody; their answers are void, {count_of(reopened, 'question')} reopened"


WORDS: dict[str, Callable[[Decision], str]] = {
    Decision.Kind.BLOCK: _blocked_words,
    Decision.Kind.UNBLOCK: lambda decision: "lifted a block; the answers count again",
    Decision.Kind.STAGE: _stage_words,
    Decision.Kind.GRAPH: lambda decision: (
        f"wrote version {decision.content.get('version')} of the graph"
    ),
    Decision.Kind.AUDIT: lambda decision: f"drew audit sample {decision.content.get('sample')}",
    Decision.Kind.QUOTA: _quota_words,
    Decision.Kind.CLASS: lambda decision: (
        f"{'stopped' if 'stopped' in decision.content else 'resumed'} the class "
        f"{decision.content.get('name')}"
    ),
    Decision.Kind.VOCABULARY: lambda decision: (
        f"took version {decision.content.get('version')} of the vocabulary"
    ),
}


def in_words(decisions: Iterable[Decision]) -> list[Decided]:
    return [Decided(decision, decision_words(decision)) for decision in decisions]


def decision_words(decision: Decision) -> str:
    """What was decided, in words that follow the person's name."""
    content = decision.content
    if decision.kind == Decision.Kind.STATE:
        if "state" in content:
            return {
                "draft": "made the campaign",
                "open": "opened the campaign",
                "paused": "paused the campaign",
                "closed": "closed the campaign",
            }.get(content["state"], f"set the state to {content['state']}")
        changed = ", ".join(content.get("changed", []))
        return f"changed {changed}" + (f" of {content['topic']}" if "topic" in content else "")
    if decision.kind == Decision.Kind.POLICY:
        if "pilot" in content:
            return f"asked for a pilot of {count_of(content['pilot'], 'question')}"
        if "more" in content:
            people = count_of(content["more"], "more person", "more people")
            return f"asked {people} about {count_of(len(content['questions']), 'question')}"
        if "applied" in content:
            questions = count_of(content["applied"], "open question")
            return f"applied version {content['version']} of the rules to {questions}"
        return f"wrote version {content.get('version')} of the rules"
    if decision.kind == Decision.Kind.MEMBER:
        return ACTIONS.get(content.get("deed", ""), "changed the members").format(
            role=content.get("role", "")
        )
    if decision.kind == Decision.Kind.GOLD:
        action = next(iter(content), "changed")
        return {
            "added": f"added {count_of(content.get('added', 0), 'gold question')}",
            "promoted": f"made gold of {count_of(content.get('promoted', 0), 'settled question')}",
            "retired": "retired a gold question",
        }.get(action, "changed the gold")
    if decision.kind == Decision.Kind.REVIEW:
        return _review_words(decision)
    if decision.kind in WORDS:
        return WORDS[decision.kind](decision)
    if "withdrawn" in content:
        return f"withdrew {count_of(len(content['withdrawn']), 'question')}"
    if "image" not in content:
        return "replaced a dropped image"
    verb = "took out" if content.get("deed") == "left" else "put in"
    return f"{verb} {content['image']} for {' and '.join(content.get('pair', []))}"
