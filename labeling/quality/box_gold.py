"""Gold for boxes: questions of every step, made from pairs of image and class with all instances
known.

Each pair gives one question to draw, one to check and, with enough instances, one to look for more;
a person gets at most one of them. They look like the questions around them
(assignment/gold_mixing.py): good boxes have realistic errors, bad ones errors in all directions.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Min

from labeling.boxes import shaking
from labeling.boxes.chain import CHECK, CLICKED, COMPLETE, COVER, DRAW, DRAWN, PROPOSED, TRUNCATED
from labeling.boxes.cleaning import clean_box, is_small
from labeling.boxes.rules import GOOD
from labeling.datasets.image_names import ImageNames
from labeling.db import question_counts
from labeling.db.sql import batches
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking, chaining
from labeling.geometry.boxes import Box
from labeling.kinds.box_pairs import PairContent
from labeling.kinds.boxes import BAD, NONE
from labeling.models import Campaign, Decision, Gold, Image, Question, Seat, User

BATCH = 500
# Shares of drawing gold with nothing left to draw, and with a rejected attempt.
NOTHING_LEFT, REJECTED = 0.1, 0.15
# Share of rejected attempts with a marked side.
POINTED = 0.5
# A box that ends this close to the image's edge is truncated.
EDGE_PX = 1.0
# Sources of known answers.
GIVEN, SETTLED = "given as boxes", "settled by the campaign"


@dataclass(frozen=True)
class KnownPair:
    """A pair with the boxes of all its instances."""

    item: int
    image: str
    topic: str
    width: int
    height: int
    boxes: tuple[Box, ...]
    # Flags that people set on some of them.
    flags: Mapping[Box, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.image} {self.topic}"

    def flags_of(self, box: Box) -> tuple[str, ...]:
        """Return the flags that a drawer would have set: the known ones, or else truncated if the
        box touches the image's edge.
        """
        x0, y0, x1, y1 = box
        ends = min(x0, y0) < EDGE_PX or self.width - x1 < EDGE_PX or self.height - y1 < EDGE_PX
        return self.flags.get(box, (TRUNCATED,) if ends else ())


@dataclass(frozen=True)
class GoldStep:
    """A gold question: its step, its content and the known answer."""

    step: str
    content: PairContent
    answer: Any
    explanation: str = ""


def add(campaign: Campaign, actor: User | None, rows: Sequence[Mapping[str, object]]) -> int:
    """Make gold questions from these pairs; return how many.

    rows: {"image": name, "topic": key, "answer": boxes of every instance, [[x0, y0, x1, y1], …] in
    upright pixels}. Raises Refusal with the row (1-based) for an unknown image or class and for an
    invalid box, Conflict for a pair that is open or gold already; then nothing is made.
    """
    known = _read(campaign, rows)
    asking.check_topics(campaign, {pair.topic for pair in known})
    with transaction.atomic():
        _check_new(campaign, known)
        count = sum(_make(campaign, pair, GIVEN) for pair in known)
        Decision.objects.record(campaign, Decision.Kind.GOLD, actor, {"added": count})
    return count


def promote(campaign: Campaign, actor: User | None, question_ids: Sequence[int]) -> int:
    """Make gold questions from the pairs of these questions; return how many.

    Skips pairs with an instance without a box, and pairs that have gold already. Nobody who worked
    on a pair gets its gold.
    """
    rows = campaign.questions.filter(pk__in=question_ids, round__gte=0)
    pairs = sorted(set(rows.values_list("item_id", "topic")))
    replayed = chaining.replay_pairs(campaign, {item for item, _ in pairs})
    made = 0
    with transaction.atomic():
        for item, topic in pairs:
            pair = replayed[item][topic]
            has = campaign.questions.filter(item=item, topic=topic, round__lt=0).exists()
            if pair.chain.coverage != COMPLETE or has:
                continue
            image = Image.objects.get(items=item)
            boxes = tuple(boxed.box for boxed in pair.chain.boxes)
            flags = {boxed.box: boxed.flags for boxed in pair.chain.boxes}
            known = KnownPair(item, image.name, topic, image.width, image.height, boxes, flags)
            made += _make(campaign, known, SETTLED)
        if made:
            Decision.objects.record(campaign, Decision.Kind.GOLD, actor, {"promoted": made})
    return made


def _read(campaign: Campaign, rows: Sequence[Mapping[str, object]]) -> list[KnownPair]:
    names = sorted({str(row.get("image", "")) for row in rows})
    items, missing = asking.whole_items(campaign, names)
    if missing:
        number = next(n for n, row in enumerate(rows, 1) if row.get("image") == missing[0])
        raise Refusal(
            f"Row {number}: {campaign.dataset.name} has no image {missing[0]!r}. Add it first.",
            field="image",
        )
    sizes = {name: image.size for name, image in ImageNames(campaign.dataset).exact(names).items()}
    pairs: dict[tuple[str, str], KnownPair] = {}
    for number, row in enumerate(rows, 1):
        image, topic = str(row.get("image", "")), str(row.get("topic", ""))
        if (image, topic) in pairs:
            raise Refusal(
                f"Row {number}: {topic!r} of {image!r} occurs twice. Give all its boxes in one "
                "row.",
                field="image",
            )
        width, height = sizes[image]
        boxes = _boxes(row.get("answer"), width, height, number)
        pairs[image, topic] = KnownPair(items[image], image, topic, width, height, boxes)
    return list(pairs.values())


def _boxes(value: object, width: int, height: int, number: int) -> tuple[Box, ...]:
    if not isinstance(value, list) or not value:
        raise Refusal(
            f"Row {number}: give the boxes of all instances, [[x0, y0, x1, y1], …].", field="answer"
        )
    try:
        return tuple(clean_box(box, width, height) for box in value)
    except Refusal as refusal:
        raise Refusal(f"Row {number}: {refusal.message}", field="answer") from refusal


def _check_new(campaign: Campaign, known: Sequence[KnownPair]) -> None:
    for part in batches(known, BATCH):
        rows = campaign.questions.filter(item__in=[pair.item for pair in part])
        existing = {row[:2]: row[2] for row in rows.values_list("item_id", "topic", "state")}
        for pair in part:
            state = existing.get((pair.item, pair.topic))
            if state is not None:
                reason = "gold already" if state == Question.State.GOLD else "being asked"
                raise Conflict(
                    f"{pair.topic!r} of {pair.image!r} is {reason}. Gold needs a pair without "
                    "questions. A finished pair can become gold on the page of its question.",
                    field="image",
                )


def _make(campaign: Campaign, known: KnownPair, source: str) -> int:
    """Make the pair's gold questions, each in a round of its own; return how many."""
    with_proposals = campaign.questions.filter(round=0, content__proposals__isnull=False)
    made = make(known, proposals=with_proposals.exists())
    rounds = campaign.questions.filter(item=known.item, topic=known.topic)
    lowest = min(rounds.aggregate(low=Min("round"))["low"] or 0, 0)
    first = asking.take_tickets(campaign, len(made))
    policy = campaign.policies.latest("version")
    subject = 0
    for index, step in enumerate(made):
        question = Question.objects.create(
            campaign=campaign,
            item_id=known.item,
            topic=known.topic,
            round=lowest - 1 - index,
            subject=subject or None,
            lane=Question.Lane.GOLD,
            ticket=first + index,
            seats_free=1,
            state=Question.State.GOLD,
            policy=policy,
            step=step.step,
            content=step.content or None,
        )
        # A person gets one of them: the same image twice would reveal gold.
        subject = subject or question.pk
        Gold.objects.create(
            question=question, answer=step.answer, explanation=step.explanation, source=source
        )
    _bar(campaign, known, subject)
    question_counts.add(campaign.pk, {"gold": len(made)})
    return len(made)


def _bar(campaign: Campaign, known: KnownPair, subject: int) -> None:
    """Keep those who worked on the pair from its gold."""
    people = (
        Seat.objects.filter(
            question__campaign=campaign,
            question__item=known.item,
            question__topic=known.topic,
            question__round__gte=0,
        )
        .order_by("annotator")
        .values_list("annotator", flat=True)
        .distinct()
    )
    chaining.bar([(subject, people)])


def make(known: KnownPair, proposals: bool = False) -> list[GoldStep]:
    """Return the gold questions of a pair.

    The pair's name is the random seed, so the result is stable.
    """
    chance = random.Random(f"gold of {known.name}")
    made = [_draw(known, chance), _check(known, chance, proposals)]
    return [*made, *_cover(known, chance)]


def _draw(known: KnownPair, chance: random.Random) -> GoldStep:
    """Return a drawing question in which some instances have a box.

    As in real questions, a point marks another instance if there are boxes; sometimes nothing is
    left, or a first attempt was rejected.
    """
    order = chance.sample(known.boxes, len(known.boxes))
    if chance.random() < NOTHING_LEFT:
        at = _elsewhere(known, chance)
        content: PairContent = {"boxes": _drawn(known, order, chance), "at": at}
        return GoldStep(DRAW, content, NONE, "Every one has a box.")
    boxed = chance.randrange(len(order))
    left = order[boxed:]
    content = {}
    if boxed:
        content = {
            "boxes": _drawn(known, order[:boxed], chance),
            "at": shaking.point(left[0], chance),
        }
    if chance.random() < REJECTED and (off := _bad(known, left[0], chance)):
        content.setdefault("boxes", [])
        sides = [shaking.worst_side(off, left[0])] if chance.random() < POINTED else []
        reason = shaking.reason(off, left[0])
        content["rejected"] = {"box": list(off), "reason": reason, "sides": sides}
    small = [is_small(box, known.width, known.height) for box in left]
    return GoldStep(DRAW, content, {"boxes": [list(box) for box in left], "small": small})


def _check(known: KnownPair, chance: random.Random, proposals: bool) -> GoldStep:
    order = chance.sample(known.boxes, len(known.boxes))
    boxed = chance.randrange(len(order))
    box, is_good = order[boxed], chance.random() < 0.5
    off = None if is_good else _bad(known, box, chance)
    box_to_check = off or shaking.good(box, known.width, known.height, chance)
    ways = (DRAWN, CLICKED, PROPOSED) if proposals else (DRAWN, CLICKED)
    content: PairContent = {
        "boxes": _drawn(known, order[:boxed], chance),
        "box": list(box_to_check),
        "came": chance.choice(ways),
    }
    if content["came"] != PROPOSED and (flags := known.flags_of(box)):
        content["flags"] = list(flags)
    return GoldStep(CHECK, content, BAD if off else GOOD)


def _cover(known: KnownPair, chance: random.Random) -> list[GoldStep]:
    """Return a question in which all instances have a box or one is withheld; without boxes there
    is none.
    """
    order = chance.sample(known.boxes, len(known.boxes))
    whole = len(order) == 1 or chance.random() < 0.5
    boxes = order if whole else order[:-1]
    content: PairContent = {"boxes": _drawn(known, boxes, chance)}
    if whole:
        return [GoldStep(COVER, content, COMPLETE)]
    return [GoldStep(COVER, content, {"missing": [list(order[-1])]})]


def _drawn(known: KnownPair, boxes: Sequence[Box], chance: random.Random) -> list[list[float]]:
    return [list(shaking.good(box, known.width, known.height, chance)) for box in boxes]


def _bad(known: KnownPair, box: Box, chance: random.Random) -> Box | None:
    return shaking.bad(box, known.width, known.height, chance)


def _elsewhere(known: KnownPair, chance: random.Random) -> list[float]:
    return [round(chance.uniform(0, known.width), 1), round(chance.uniform(0, known.height), 1)]
