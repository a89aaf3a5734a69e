"""Finds overlapping boxes for review (Russakovsky et al. 2015, Appendix E).

There are three kinds of findings: two overlapping boxes of one class (SAME); overlapping boxes of
two classes (CLASSES); and boxes of a finer class (dalmatian) in an image where a class above it
(dog) is not complete (FINER).

In the paper, about 1 % of boxes overlap another box of their class by more than half; 60 % of these
are around the same object. 3 % overlap a box of another class; a quarter of these are around the
wrong object.

A reviewer decides each finding. Unless they leave the boxes unchanged, the decision settles a new
question, and the pair's chain continues from it (box_pairs.unrequested_review). A finding whose
boxes were left unchanged is not shown again.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

from django.conf import settings
from django.db.models import Max
from django.utils.module_loading import import_string

from labeling.boxes.chain import ABSENT, COMPLETE, DROPPED, FLAGS, LOOK, REVIEW, AcceptedBox
from labeling.boxes.consensus import PRIOR_SIGMA, merge
from labeling.db import question_counts
from labeling.db.sql import lock_questions, retried, writing
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import chaining
from labeling.geometry.boxes import Box, iou
from labeling.jobs import queue
from labeling.kinds import KINDS, box_pairs
from labeling.kinds.base import CHAINS
from labeling.kinds.box_pairs import ReplayedPair
from labeling.models import Campaign, Decision, Question, Settlement, User
from labeling.quality.box_audit import sigmas

# Two boxes with a higher IoU are a finding.
OVERLAP = 0.5
# Most images read for one page of findings, and the number of findings that ends a page.
SCAN_IMAGES, PAGE_FINDINGS = 300, 20
SAME, CLASSES, FINER = ("same", "classes", "finer")
# Possible actions for each kind of finding.
MERGE, MEAN, FIRST, SECOND, LEAVE, TAKE = ("merge", "mean", "first", "second", "leave", "take")
ACTIONS = {
    SAME: (MERGE, MEAN, FIRST, SECOND, LEAVE),
    CLASSES: (FIRST, SECOND, LEAVE),
    FINER: (TAKE, LEAVE),
}
DONE = {
    MERGE: "merged two boxes, weighted",
    MEAN: "merged two boxes",
    FIRST: "removed a box",
    SECOND: "removed a box",
    LEAVE: "left two boxes as they are",
    TAKE: "took the boxes of a finer class",
}
CHANGED = "The boxes changed: somebody else decided, or there is a new answer. Check them again."
# Class → the classes above it.
Ancestors = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Finding:
    """Boxes in one image that a reviewer should decide.

    kind: SAME, CLASSES or FINER. item, image: id and name of the image. question: id of the pair's
    first question; its page shows the pair. topics: classes of the first and the second box; for
    FINER the incomplete class and the finer class. boxes: the two boxes; for FINER those boxes of
    the finer class that the incomplete class lacks. iou: of the two boxes; None for FINER.
    """

    kind: str
    item: int
    image: str
    width: int
    height: int
    question: int
    topics: tuple[str, str]
    boxes: tuple[Box, ...]
    iou: float | None = None

    @property
    def key(self) -> str:
        """Return the id of this finding, which changes when the boxes change."""
        content = json.dumps([self.kind, self.item, self.topics, self.boxes])
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @property
    def actions(self) -> tuple[str, ...]:
        return ACTIONS[self.kind]


class FindingsPage(NamedTuple):
    """Findings sorted by image. after: item after which the next page begins; None at the end."""

    findings: list[Finding]
    after: int | None


def find(campaign: Campaign, after: int = 0, images_read: int | None = None) -> FindingsPage:
    """Return a page of findings in the images after the item `after`.

    A page ends after the image that brings it to PAGE_FINDINGS, and at most after images_read
    images, by default SCAN_IMAGES. Pairs of class and image in progress are skipped, except as the
    incomplete class of a FINER finding. The number of queries is fixed.
    """
    items = list(
        campaign.questions.filter(item__gt=after, round=0)
        .exclude(state=Question.State.GOLD)
        .order_by("item_id")
        .values_list("item_id", flat=True)
        .distinct()[: images_read or SCAN_IMAGES]
    )
    ancestors = _ancestors(list(campaign.topics.values_list("key", flat=True)))
    images = {
        row[0]: row[1:]
        for row in campaign.questions.filter(item__in=items).values_list(
            "item_id", "item__image__name", "item__image__width", "item__image__height"
        )
    }
    replayed = chaining.replay_pairs(campaign, items)
    by_item = {
        item: [
            Finding(kind, item, *images[item], pair.path[0].id, topics, boxes, overlap)
            for kind, topics, boxes, overlap, pair in _rows(replayed[item], ancestors)
        ]
        for item in items
        if item in replayed
    }
    keys = [finding.key for findings in by_item.values() for finding in findings]
    left_unchanged = set(
        campaign.decisions.filter(
            kind=Decision.Kind.REVIEW, content__finding__in=keys, content__overlap=LEAVE
        ).values_list("content__finding", flat=True)
        if keys
        else ()
    )
    page: list[Finding] = []
    for item in items:
        page += [finding for finding in by_item.get(item, ()) if finding.key not in left_unchanged]
        if len(page) >= PAGE_FINDINGS:
            return FindingsPage(page, item)
    return FindingsPage(page, items[-1] if len(items) == SCAN_IMAGES else None)


Row = tuple[str, tuple[str, str], tuple[Box, ...], float | None, ReplayedPair]


def _rows(pairs: Mapping[str, ReplayedPair], ancestors: Ancestors) -> Iterator[Row]:
    """Yield the findings in one image: kind, topics, boxes, IoU and the pair to decide."""
    complete = {topic: pair for topic, pair in pairs.items() if pair.chain.step == COMPLETE}
    for topic, pair in complete.items():
        for a, b in combinations([boxed.box for boxed in pair.chain.boxes], 2):
            if (overlap := iou(a, b)) > OVERLAP:
                yield SAME, (topic, topic), (a, b), overlap, pair
    for first, second in combinations(complete, 2):
        # An object of the finer class is also one of the coarse class.
        if first in ancestors.get(second, ()) or second in ancestors.get(first, ()):
            continue
        first_boxes, second_boxes = (
            [accepted.box for accepted in complete[topic].chain.boxes] for topic in (first, second)
        )
        for a, b in product(first_boxes, second_boxes):
            if (overlap := iou(a, b)) > OVERLAP:
                yield CLASSES, (first, second), (a, b), overlap, complete[first]
    for coarse, pair in pairs.items():
        if pair.chain.step in (COMPLETE, DROPPED):
            continue
        coarse_boxes = [accepted.box for accepted in pair.chain.boxes]
        for finer in complete:
            if coarse not in ancestors.get(finer, ()):
                continue
            boxes = [accepted.box for accepted in complete[finer].chain.boxes]
            new = [box for box in boxes if all(iou(box, old) <= OVERLAP for old in coarse_boxes)]
            if new:
                yield FINER, (coarse, finer), tuple(new), None, pair


def _ancestors(keys: Sequence[str]) -> Ancestors:
    """Return each class's ancestors among these classes; {} without the setting ASSAY_ANCESTORS."""
    path = getattr(settings, "ASSAY_ANCESTORS", "")
    if not path:
        return {}
    look_up: Callable[[Sequence[str]], Ancestors] = import_string(path)
    return look_up(keys)


@retried
def decide(
    campaign: Campaign, actor: User, item: int, key: str, action: str, reason: str = ""
) -> Decision:
    """Decide the finding with this key in the image `item`; return the Decision.

    action: one of Finding.actions. MERGE replaces the two boxes by one with the mean of each side,
    weighted by the precision of the people who drew them; MEAN takes the plain mean. FIRST removes
    the first box, SECOND the second. TAKE adds the boxes of the finer class to the incomplete one
    and asks people to look for more. LEAVE changes nothing. Raises Conflict if the finding no
    longer exists.
    """
    if KINDS[campaign.kind].asks != CHAINS:
        raise Refusal("Overlaps exist only in box campaigns.")
    with writing():
        # Concurrent answers and decisions on this image commit before we read or after we commit.
        lock_questions(campaign.questions.filter(item=item).values_list("pk", flat=True))
        finding = _current_finding(campaign, item, key)
        if action not in finding.actions:
            raise Refusal(f"Choose one of: {', '.join(finding.actions)}.", field="action")
        if action == TAKE and campaign.state == Campaign.State.CLOSED:
            raise Conflict("The campaign is closed, so no further questions can be asked.")
        content: dict[str, object] = {"finding": finding.key, "overlap": action, "item": item}
        content |= {"topics": list(finding.topics), "boxes": [list(box) for box in finding.boxes]}
        if action != LEAVE:
            content["question"] = _change(campaign, finding, action)
        return Decision.objects.record(campaign, Decision.Kind.REVIEW, actor, content, reason)


def _current_finding(campaign: Campaign, item: int, key: str) -> Finding:
    """Return the finding with this key. Raises Conflict if the boxes have changed."""
    findings = find(campaign, item - 1, images_read=1).findings
    finding = next((candidate for candidate in findings if candidate.key == key), None)
    if finding is None or finding.item != item:
        raise Conflict(CHANGED)
    return finding


def _change(campaign: Campaign, finding: Finding, action: str) -> int:
    """Settle the pair with the boxes after this action; return the id of the new question."""
    pairs = chaining.replay_pairs(campaign, [finding.item])[finding.item]
    topic = finding.topics[1 if action == SECOND and finding.kind == CLASSES else 0]
    pair = pairs[topic]
    boxes, state = list(pair.chain.boxes), pair.chain.coverage
    if action == TAKE:
        finer = pairs[finding.topics[1]].chain.boxes
        boxes += [boxed for boxed in finer if boxed.box in finding.boxes]
        state = LOOK
    elif action in (MERGE, MEAN):
        boxes = _merged(campaign, pair, finding, weighted=action == MERGE)
    else:
        if finding.kind == SAME:
            removed = _places(pair, finding)[action == SECOND]
        else:
            removed = [boxed.box for boxed in boxes].index(finding.boxes[action == SECOND])
        del boxes[removed]
        state = state if boxes else ABSENT
    return _settle(campaign, finding.item, topic, pair, boxes, state)


def _merged(
    campaign: Campaign, pair: ReplayedPair, finding: Finding, *, weighted: bool
) -> list[AcceptedBox]:
    """Return the pair's boxes, with the first box of the finding merged with the second."""
    deviations = sigmas(campaign) if weighted else {0: PRIOR_SIGMA}
    first, second = _places(pair, finding)
    old = [pair.chain.boxes[first], pair.chain.boxes[second]]
    drawn: list[tuple[int, Box]] = []
    for boxed in old:
        people = pair.path[boxed.drawing].people if boxed.drawing is not None and weighted else ()
        drawn += [(person, boxed.box) for person in people] or [(0, boxed.box)]
    box = merge(drawn, deviations).box
    x0, y0, x1, y1 = (round(side, 1) for side in box)
    flags = tuple(flag for flag in FLAGS if any(flag in boxed.flags for boxed in old))
    combined = replace(old[0], box=(x0, y0, x1, y1), flags=flags, drawing=None)
    boxes = [*pair.chain.boxes]
    boxes[first] = combined
    del boxes[second]
    return boxes


def _places(pair: ReplayedPair, finding: Finding) -> tuple[int, int]:
    """Return the positions of both boxes of a SAME finding; they may have the same sides."""
    boxes = [boxed.box for boxed in pair.chain.boxes]
    first = boxes.index(finding.boxes[0])
    return first, boxes.index(finding.boxes[1], first + 1)


def _settle(
    campaign: Campaign,
    item: int,
    topic: str,
    pair: ReplayedPair,
    boxes: Sequence[AcceptedBox],
    state: str,
) -> int:
    """Create a question at the end of the chain, settled by a reviewer; return its id."""
    policy = Campaign.objects.values_list("policy", flat=True).get(pk=campaign.pk)
    rounds = campaign.questions.filter(item=item, topic=topic).aggregate(last=Max("round"))
    question = Question.objects.create(
        campaign=campaign,
        item_id=item,
        topic=topic,
        round=rounds["last"] + 1,
        ticket=0,
        state=Question.State.SETTLED,
        policy_id=policy,
        step=REVIEW,
        content=box_pairs.unrequested_review(pair.chain),
        follow_up=True,
    )
    rows = [
        {"box": list(boxed.box), "flags": list(boxed.flags), "came": boxed.origin}
        for boxed in boxes
    ]
    Settlement.objects.create(
        question=question,
        policy_id=policy,
        value={"boxes": rows, "state": state},
        answers=[],
        reviewed=True,
    )
    question_counts.add(campaign.pk, {"settled": 1})
    queue.enqueue("advance", str(campaign.pk), campaign=campaign)
    return question.pk
