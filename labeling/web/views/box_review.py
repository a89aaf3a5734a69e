"""The review of a box step: the current state of the pair, and the possible verdicts."""

import json
from dataclasses import dataclass
from typing import Any

from labeling.boxes.chain import COVER, DRAW, REVIEW
from labeling.kinds import KINDS
from labeling.kinds.boxes import NONE, REASON_WORDS, STEPS
from labeling.models import Campaign, Question
from labeling.reports import boxes_picture, pair_history, question_page

# Keyboard keys of a reviewer's verdicts, in order.
STATE_KEYS = {"complete": "y", "look": "l", "partial": "p", "absent": "n"}
ASKED = {
    DRAW: "Draw a box around one {topic}",
    "check": "Is this box around {topic} good?",
    COVER: "Does every {topic} have a box?",
    REVIEW: "Draw every {topic}",
}


@dataclass(frozen=True)
class VerdictButton:
    """A button for a verdict.

    value: sent if no script runs. drawn: the button sends the drawing, with `state`.
    """

    value: str
    words: str
    key: str
    drawn: bool = False
    state: str = ""


def context(
    campaign: Campaign, question: Question, topic: str, refused: Any = None
) -> dict[str, object]:
    """Return the context of review_boxes.html. refused: a rejected verdict to continue with."""
    pair = pair_history.for_question(campaign, question)
    mode = question.step if question.step in (DRAW, COVER, REVIEW) else ""
    proposal = question_page.proposal(campaign, question)
    value = proposal.settlement.value if proposal else None
    labels = KINDS[campaign.kind].words(campaign.settings)
    answers = [
        row.answer.value for row in question_page.question_history(campaign, question).answers
    ]
    shows = boxes_picture.shows(question)
    page: dict[str, object] = {
        "pair": pair,
        "boxes": pair_history.picture(question, answers, _stands(pair, question, value)),
        "mode": mode,
        "asked": ASKED[question.step].format(topic=topic),
        "proposal": proposal,
        "accepts": "" if value is None else boxes_picture.words_of(value, labels),
        "seen": proposal.settlement.pk if proposal else "",
        "verdicts": _verdicts(question.step, pair),
        "flags": boxes_picture.flag_rows(),
    }
    if mode:
        begin: Any = pair.boxes if mode == REVIEW else value
        if isinstance(refused, dict):
            begin = refused.get("boxes", refused) if mode == REVIEW else refused
        page["setup"] = {
            "mode": mode,
            "shows": {**shows, "boxes": [] if mode == REVIEW else shows["boxes"]},
            "value": begin,
            "fresh": refused is not None,
            "reasons": labels,
            "keep": f"boxes:{question.pk}:{proposal.settlement.pk if proposal else 0}",
        }
    return page


def _stands(pair: pair_history.PairHistory, question: Question, value: object) -> object:
    return {"boxes": pair.boxes, "state": pair.coverage} if question.step == REVIEW else value


def _verdicts(step: str, pair: pair_history.PairHistory) -> list[VerdictButton]:
    kind = STEPS[step]
    if step == REVIEW:
        words = {word: label for word, label, _ in kind.options}
        return [
            VerdictButton(
                json.dumps({"boxes": [] if state == "absent" else pair.boxes, "state": state}),
                words[state],
                key,
                drawn=True,
                state=state,
            )
            for state, key in STATE_KEYS.items()
        ]
    if step == DRAW:
        return [
            VerdictButton("", "Take this box", "y", drawn=True),
            VerdictButton(NONE, "Nothing is left", "n"),
        ]
    if step == COVER:
        return [
            VerdictButton("complete", "Every one has a box", "y"),
            VerdictButton("", "These have none", "n", drawn=True),
        ]
    return [
        VerdictButton(word, label, key)
        for word, label, key in kind.options
        if word == "good" or word in REASON_WORDS
    ]
