"""A campaign's page: progress, people, jobs and decisions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from labeling.models import Campaign, Decision, Job, Release
from labeling.plurals import count_of
from labeling.quality import box_overlaps
from labeling.reports import forecasts, progress
from labeling.reports.progress import Annotator, CampaignProgress

# Members on the campaign's own page, which is read again every few seconds.
MEMBERS = 20


@dataclass(frozen=True)
class DecisionWords:
    """A decision, with a predicate to follow the actor's name."""

    decision: Decision
    words: str


@dataclass(frozen=True)
class CampaignFacts:
    """Contents of a campaign's page.

    estimate: the expected cost of a draft, else None. without_anybody: open questions that every
    annotator has answered.
    """

    progress: CampaignProgress
    without_anybody: int
    estimate: forecasts.CostEstimate | None
    annotators: list[Annotator]
    more_annotators: bool
    failed_jobs: list[Job]
    running_jobs: list[Job]
    releases: list[Release]
    decisions: list[DecisionWords]


def campaign_facts(campaign: Campaign) -> CampaignFacts:
    counted = progress.count(campaign)
    failed = campaign.jobs.filter(state="failed").order_by("-pk")
    decisions = campaign.decisions.select_related("actor").order_by("-pk")[:8]
    # Fetch one more to know whether there are more.
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
            # Omit watch jobs: they take a moment and come every ten answers.
            campaign.jobs.filter(state__in=["queued", "running"]).exclude(kind="watch")[:3]
        ),
        releases=list(campaign.releases.order_by("-number")[:3]),
        decisions=in_words(decisions),
    )


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
        "failed": "failed somebody's test",
        "working": "let somebody work",
        "paused": "paused somebody",
    }.get(decision.content.get("stage", ""), "changed a member's stage")


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
        f"switched to version {decision.content.get('version')} of the vocabulary"
    ),
}


def in_words(decisions: Iterable[Decision]) -> list[DecisionWords]:
    return [DecisionWords(decision, decision_words(decision)) for decision in decisions]


def decision_words(decision: Decision) -> str:
    """Return a predicate to follow the actor's name."""
    content = decision.content
    if decision.kind == Decision.Kind.STATE:
        if "state" in content:
            return {
                "draft": "created the campaign",
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
            "drawn": f"drew {count_of(content.get('drawn', 0), 'question')} to become gold",
            "promoted": f"copied {count_of(content.get('promoted', 0), 'settled question')} as "
            "gold",
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
    verb = "removed" if content.get("deed") == "left" else "added"
    return f"{verb} {content['image']} for {' and '.join(content.get('pair', []))}"
