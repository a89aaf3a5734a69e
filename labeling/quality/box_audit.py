"""Auditing boxes: trusted people draw randomly chosen objects again without seeing the finished
box.

The difference between two drawings includes the error of both. It is reported next to the expected
error of both drawings, by the skills of the drawer and the auditor in the calibration.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from labeling.boxes.chain import DRAW
from labeling.boxes.cleaning import as_box
from labeling.boxes.consensus import PRIOR_SIGMA, expected_error
from labeling.consensus.calibration_store import CalibrationContent
from labeling.db.sql import batches
from labeling.estimators.intervals import mean_interval
from labeling.follow_ups import chaining
from labeling.geometry.boxes import Box, iou
from labeling.kinds import DrawingContext
from labeling.kinds.boxes import NONE
from labeling.models import Answer, Audit, Calibration, Campaign, Question

BATCH = 200


def draw(campaign: Campaign, n: int, seed: int | None) -> tuple[list[int], int]:
    """Return ids of `n` drawings with an accepted box, each with the same probability, or all if
    there are fewer, and an upper bound of the number of candidates. The same seed draws the same.
    """
    drawn = np.fromiter(
        campaign.questions.filter(step=DRAW, state=Question.State.SETTLED)
        .order_by("pk")
        .values_list("pk", flat=True),
        np.int64,
    )
    order = np.random.default_rng(seed).permutation(drawn).tolist()
    chosen: list[int] = []
    for part in batches(order, BATCH):
        boxes = _accepted_boxes(campaign, part)
        chosen += [pk for pk in part if pk in boxes]
        if len(chosen) >= n:
            break
    return chosen[:n], len(drawn)


def _accepted_boxes(campaign: Campaign, pks: Sequence[int]) -> dict[int, tuple[Box, list[Box]]]:
    """Return, for drawings with an accepted box, the box and the other boxes of the pair."""
    items = Question.objects.filter(pk__in=pks).values_list("item_id", flat=True)
    drawing_ids, boxes_by_id = set(pks), {}
    for pairs in chaining.replay_pairs(campaign, set(items)).values():
        for pair in pairs.values():
            boxes = [boxed.box for boxed in pair.chain.boxes]
            for index, boxed in enumerate(pair.chain.boxes):
                if boxed.drawing is not None and pair.path[boxed.drawing].id in drawing_ids:
                    others = boxes[:index] + boxes[index + 1 :]
                    boxes_by_id[pair.path[boxed.drawing].id] = boxed.box, others
    return boxes_by_id


def question_context(audit: Audit) -> DrawingContext:
    """Return what the auditor sees: a point in the middle of the object's box, which is hidden, and
    the other boxes of the pair.
    """
    question = audit.question
    image = question.item.image
    boxes = _accepted_boxes(audit.campaign, [question.pk]).get(question.pk)
    content: dict[str, Any] = {"boxes": []}
    if boxes is not None:
        box, others = boxes
        middle = [round((box[0] + box[2]) / 2, 1), round((box[1] + box[3]) / 2, 1)]
        content = {"boxes": [list(neighbour) for neighbour in others], "at": middle}
    return DrawingContext(question.topic, image.width, image.height, DRAW, content)


@dataclass(frozen=True)
class RedrawnError:
    """Redrawn objects of one class, or of all. error: mean of 1 − IoU of the two drawings.
    interval: 95 %, by Student's t, None for fewer than two. stated: mean expected error of both
    drawings. missed: auditors who found nothing to draw, counted as an error of 1.
    """

    words: str
    audited: int
    missed: int
    error: float
    interval: tuple[float, float] | None
    stated: float
    good_at_0_5: float
    good_at_0_7: float

    @property
    def stated_holds(self) -> bool | None:
        """Return whether the stated error is in the interval or above it."""
        return None if self.interval is None else self.interval[0] <= self.stated


def measure(campaign: Campaign, sample: int) -> list[RedrawnError]:
    """Return the sample's results: of all classes together under "", then by class; [] before any
    answer.
    """
    audits = list(
        campaign.audits.filter(sample=sample, answered_at__isnull=False)
        .select_related("settlement", "question")
        .order_by("pk")
    )
    known = sigmas(campaign)
    people = _drawers([audit.label.answers for audit in audits])
    by_class: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    for audit in audits:
        drawn: Any = audit.label.value
        again: Any = audit.value
        settled = as_box(drawn["box"])
        drawer = known.get(people.get(str(audit.label.answers[0]), 0), PRIOR_SIGMA)
        auditor = known.get(audit.auditor_id or 0, PRIOR_SIGMA)
        longer = max(settled[2] - settled[0], settled[3] - settled[1])
        stated = expected_error(settled, math.hypot(drawer, auditor) * longer).mean
        missed = again == NONE
        error = 1.0 if missed else 1 - iou(as_box(again["box"]), settled)
        by_class[audit.question.topic].append((error, stated, missed))
    if not by_class:
        return []
    every = [row for rows in by_class.values() for row in rows]
    names = dict(campaign.topics.filter(key__in=by_class).values_list("key", "name"))
    classes = sorted(by_class, key=lambda topic: (-len(by_class[topic]), topic))
    return [
        _measured("", every),
        *(_measured(names.get(topic, topic), by_class[topic]) for topic in classes),
    ]


def _measured(words: str, rows: Sequence[tuple[float, float, bool]]) -> RedrawnError:
    errors = [error for error, *_ in rows]
    interval = mean_interval(errors)
    return RedrawnError(
        words=words,
        audited=len(rows),
        missed=sum(missed for *_, missed in rows),
        error=fmean(errors),
        interval=interval and (max(0.0, interval[0]), min(1.0, interval[1])),
        stated=fmean(stated for _, stated, _ in rows),
        good_at_0_5=fmean(error <= 0.5 for error in errors),
        good_at_0_7=fmean(error <= 0.3 + 1e-9 for error in errors),
    )


def sigmas(campaign: Campaign) -> dict[int, float]:
    """Return each person's deviation (consensus.py) by id from the campaign's calibration."""
    row = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
    known = CalibrationContent.from_json(row.content).annotators if row else None
    return {
        int(person): skill.sigma
        for person, skill in (known or {}).items()
        if skill.sigma is not None
    }


def _drawers(answers: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return who gave the first answer of each list."""
    firsts = [pks[0] for pks in answers if pks]
    rows = Answer.objects.filter(pk__in=firsts)
    return {str(pk): person for pk, person in rows.values_list("pk", "assignment__annotator")}
