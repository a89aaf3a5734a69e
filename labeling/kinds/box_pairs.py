"""Replays a pair of image and class from its settlements, which alone determine the next question.
Pure.

The first question of a pair has number 0, and its content holds the proposed boxes. The content of
each later question holds its number and what it shows. If a settlement changes (somebody is
blocked or unblocked), questions whose content no longer holds are withdrawn with their answers, and
reopen if it holds again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from labeling.boxes import chain as chains
from labeling.boxes.chain import CHECK, COVER, DRAW, PROPOSED, REVIEW, Chain
from labeling.boxes.cleaning import as_box
from labeling.boxes.rules import BoxRules
from labeling.geometry.boxes import Box
from labeling.kinds.boxes import STEPS

# Marks the content of a question that replay withdrew and may reopen. A question that a researcher
# withdrew has no mark.
ASIDE = "aside"
# Keys of the content besides what is shown, which identifies the question.
UNSHOWN = (ASIDE, "proposals", "unshown")
SETTLED, DROPPED, WITHDRAWN = ("settled", "dropped", "withdrawn")


class PairContent(TypedDict, total=False):
    """The content of a question and its number in the pair; see kinds/boxes.py."""

    number: int
    boxes: list[list[float]]
    box: list[float]
    came: str
    flags: list[str]
    at: list[float]
    rejected: "RejectedBox"
    # Of the first question: the proposed boxes, and those that it hides.
    proposals: list[list[float]]
    unshown: list[list[float]]
    # Whether a reviewer decides unasked, about overlapping boxes.
    again: bool
    aside: bool


class RejectedBox(TypedDict):
    box: list[float]
    reason: str
    sides: list[str]


@dataclass(frozen=True)
class PairQuestion:
    """An existing question of the pair.

    state: of its row. value: of its latest settlement. people: ids of those who answered; once it
    is settled, of those who count. barred: of those who must not answer. rules: of its policy.
    """

    id: int
    step: str
    state: str
    content: PairContent
    rules: BoxRules
    value: Any = None
    people: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()

    @property
    def number(self) -> int:
        return self.content.get("number", 0)

    @property
    def is_aside(self) -> bool:
        return self.content.get("aside", False)


@dataclass(frozen=True)
class Wanted:
    """A question to open. barred: ids of people who must not answer it."""

    step: str
    content: PairContent
    barred: frozenset[int] = frozenset()


@dataclass
class ReplayedPair:
    """The state of a pair. path: its valid questions in order. open: question to open. reopen,
    withdraw: ids.
    """

    chain: Chain
    path: list[PairQuestion] = field(default_factory=list)
    open: Wanted | None = None
    reopen: list[int] = field(default_factory=list)
    withdraw: list[int] = field(default_factory=list)


def replay(pair: str, questions: Sequence[PairQuestion]) -> ReplayedPair:
    """Return the state of the pair of that name from its questions, at least the first, in any
    order.
    """
    by_number: dict[int, list[PairQuestion]] = {}
    for question in sorted(questions, key=lambda row: row.id):
        by_number.setdefault(question.number, []).append(question)
    first = by_number[0][0]
    proposals = [as_box(box) for box in first.content.get("proposals", ())]
    replayed = ReplayedPair(chains.begin(pair, first.rules, proposals))
    current: PairQuestion | None = _decided(replayed.chain, by_number) or first
    while current is not None:
        replayed.path.append(current)
        if current.state not in (SETTLED, DROPPED):
            if current.state == WITHDRAWN and current.is_aside:
                replayed.reopen.append(current.id)
            break
        replayed.chain = chains.after(replayed.chain, _answer_event(current), current.rules)
        current = _decided(replayed.chain, by_number)
        if current is not None:
            continue
        if replayed.chain.step in (chains.COMPLETE, chains.DROPPED):
            break
        next_content = content_of(replayed.chain)
        barred = _barred(replayed.chain, replayed.path)
        after = by_number.get(replayed.chain.number, ())
        current = next((row for row in after if _matches(row, next_content, barred)), None)
        if current is None:
            replayed.open = Wanted(replayed.chain.step, next_content, barred)
    kept = {question.id for question in replayed.path}
    replayed.withdraw = [
        question.id
        for question in questions
        if question.id not in kept and question.state != WITHDRAWN
    ]
    return replayed


def unrequested_review(chain: Chain) -> PairContent:
    """Return the content of a question for a reviewer's unrequested decision."""
    return {
        "number": chain.number,
        "boxes": [list(boxed.box) for boxed in chain.boxes],
        "again": True,
    }


def _decided(chain: Chain, by_number: Mapping[int, Sequence[PairQuestion]]) -> PairQuestion | None:
    """Return a reviewer's first decision on the chain in its current state."""
    review_content = unrequested_review(chain)
    rows = by_number.get(chain.number, ())
    return next(
        (row for row in rows if row.step == REVIEW and _shown(row.content) == review_content), None
    )


def first_question(pair: str, rules: BoxRules, proposals: Sequence[Box] = ()) -> Wanted:
    """Return the first question of a pair. Its content is {} without proposals."""
    chain = chains.begin(pair, rules, proposals)
    if not proposals:
        return Wanted(chain.step, {})
    first_content = content_of(chain)
    first_content["proposals"] = [list(box) for box in proposals]
    return Wanted(chain.step, first_content)


def content_of(chain: Chain) -> PairContent:
    """Return the content of the chain's next question, which also identifies it."""
    content: PairContent = {
        "number": chain.number,
        "boxes": [list(boxed.box) for boxed in chain.boxes],
    }
    if chain.step == CHECK and chain.box is not None:
        content["box"], content["came"] = list(chain.box), chain.origin
        if chain.flags:
            content["flags"] = list(chain.flags)
    if chain.step == DRAW and chain.missing:
        content["at"] = list(chain.missing[0])
    if chain.step == DRAW and chain.rejected is not None:
        rejected = chain.rejected
        content["rejected"] = {
            "box": list(rejected.box),
            "reason": rejected.reason,
            "sides": list(rejected.sides),
        }
    return content


def _matches(question: PairQuestion, content: PairContent, barred: frozenset[int]) -> bool:
    """Return whether this question has that content and is barred for these people.

    More people may be barred than when it was opened: for example a person who checked a box that
    was withdrawn, and then drew the same one.
    """
    if _shown(question.content) != content or question.people & barred:
        return False
    return question.state in (SETTLED, DROPPED) or barred <= question.barred


def _shown(content: PairContent) -> object:
    return {key: value for key, value in content.items() if key not in UNSHOWN}


def _answer_event(question: PairQuestion) -> chains.Answer:
    if question.state == DROPPED:
        return chains.DroppedImage()
    return STEPS[question.step].answer(question.value)


def _barred(chain: Chain, path: Sequence[PairQuestion]) -> frozenset[int]:
    """Return the people who must not answer the next question.

    A box is checked, redrawn, and its coverage judged by others than its author; a second look
    needs a second person.
    """
    last = path[-1]
    if chain.step == CHECK:
        return last.people if chain.origin != PROPOSED else frozenset()
    if chain.step == DRAW and chain.rejected is not None:
        return _people(row for row in path[-2:] if row.step == DRAW)
    if chain.step == DRAW:
        return last.people if last.step == DRAW else frozenset()
    if chain.step == COVER:
        since: list[PairQuestion] = []
        for row in reversed(path):
            if row.step != COVER:
                break
            since.append(row)
        before = path[: len(path) - len(since)]
        drawn = [row for row in before[-2:] if row.step == DRAW]
        return _people([*since, *drawn])
    return frozenset()


def _people(rows: Iterable[PairQuestion]) -> frozenset[int]:
    return frozenset().union(*(row.people for row in rows))
