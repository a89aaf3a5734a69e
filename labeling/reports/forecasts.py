"""The expected number of questions of a campaign and their cost.

Exact for listed questions; a range for graphs and boxes, whose questions follow from answers.
"""

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.core.cache import caches
from django.db.models import Count, Q

from labeling.boxes.chain import CHECK, COVER, DRAW
from labeling.boxes.rules import answers_per_question
from labeling.campaigns import lifecycle
from labeling.db.question_counts import StateCounts
from labeling.graphs import learned_order, store
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS
from labeling.models import Campaign, Job, Question
from labeling.question_graph.graph import QuestionGraph
from labeling.simulation import simulating_queries
from labeling.simulation.expected_votes import expected_votes

# Mean classes per image, as on the detection set of ILSVRC. A small graph: half of its classes.
PRESENT = 2.8
# The range: half and twice as many.
FEWER, MORE = 0.5, 2.0
# Instances per (image, class) pair: fewest, mean (ILSVRC's validation images) and many.
# Drawings per accepted box: fewest, mean and many.
INSTANCES = (1.0, 1.61, 4.0)
DRAWN = (1.0, 1.1, 1.3)
# Finished images for a forecast: minimum and maximum.
MIN_MEASURED, MEASURED = 20, 400
MEASURED_SECONDS = 300
STEPS = (DRAW, CHECK, COVER)


class Forecast(NamedTuple):
    """Low, likely and high estimate of the total number of questions; equal if it is known."""

    low: int
    likely: int
    high: int

    def minus(self, already_asked: int) -> "Forecast":
        """Return the forecast of the remaining questions."""
        return Forecast(*(max(0, number - already_asked) for number in self))


def known_number(questions: int) -> Forecast:
    """Return the forecast of a known number of questions."""
    return Forecast(questions, questions, questions)


@functools.lru_cache(maxsize=64)
def per_image(
    graph: QuestionGraph, mode: str = "safe", order: str = "breadth", present: float | None = None
) -> tuple[float, float, float]:
    """Return (low, likely, high) questions per image if every answer is right.

    low and high assume half and twice as many classes per image as `present`, whose default is
    ILSVRC's mean. The learned order is forecast as breadth-first, which needs as many or slightly
    more. Exact, except in strict mode if a question has more than QUICK_PARENTS parents: then a
    mean over simulated images, off by a few hundredths.
    """
    leaves = len(graph.leaves)
    present = min(present or min(PRESENT, leaves / 2), leaves)
    order = "breadth" if order == "learned" else order
    low, likely, high = (
        simulating_queries.expected_questions(
            graph, min(present * factor, leaves), mode, order, quick=True
        )
        for factor in (FEWER, 1, MORE)
    )
    return low, likely, high


def of_images(
    graph: QuestionGraph,
    images: int,
    mode: str = "safe",
    order: str = "breadth",
    present: float | None = None,
) -> Forecast:
    """Return the number of questions for these images. present: mean classes per image."""
    return Forecast(*(round(images * each) for each in per_image(graph, mode, order, present)))


def of_pairs(pairs: int, second_looks: float) -> Forecast:
    """Return the number of questions that box every instance of these pairs.

    Each box needs a drawing, a check and a look for more; some pairs a second look
    (boxes/chain.py).
    """
    return Forecast(
        *(
            round(pairs * (instances * drawn * len(STEPS) + second_looks))
            for instances, drawn in zip(INSTANCES, DRAWN, strict=True)
        )
    )


def answers_each(policy: policies.WholePolicy) -> float:
    """Return the expected answers per question; for boxes, the mean over the three steps."""
    if "checks" in policy:
        return answers_per_question(policy)
    return expected_votes(policy)


def of_campaign(campaign: Campaign, counts: StateCounts) -> Forecast:
    """Return the total number of questions, including those that will follow from answers.

    counts: of the campaign's current questions.
    """
    total = counts.questions
    known = known_number(total)
    follows = KINDS[campaign.kind].asks == CHAINS or campaign.graph_id is not None
    if not follows or campaign.state == Campaign.State.CLOSED:
        return known
    jobs = campaign.jobs.filter(kind="open images", state__in=[Job.State.QUEUED, Job.State.RUNNING])
    opening = list(jobs.values_list("payload__images", "progress_done"))
    if not opening and not counts.open and not counts.review:
        return known
    if campaign.graph_id is None:
        estimate = of_pairs(counts.images, policies.for_campaign(campaign)["second_looks"])
        return Forecast(*(max(total, number) for number in estimate))
    images = _images(campaign, opening, counts.images)
    if (each := _learned_per_image(campaign)) is not None:
        return known_number(max(total, round(images * each)))
    settings = {"mode": "safe", "order": "breadth"} | campaign.settings
    if counts.decided >= MIN_MEASURED and (measured := _measured(campaign)) is not None:
        mean, error = measured
        bounds = (mean - error, mean, mean + error)
        return Forecast(*(max(total, round(images * questions)) for questions in bounds))
    estimate = of_images(
        store.load_graph(campaign),
        images,
        settings["mode"],
        settings["order"],
        settings.get("present"),
    )
    return Forecast(*(max(total, number) for number in estimate))


def _measured(campaign: Campaign) -> tuple[float, float] | None:
    """Return the mean number of questions of the first finished images, and two standard errors.

    None before enough images are finished. Cached, since pages reload often.
    """
    cache = caches["local"]
    key = f"questions-per-image-{campaign.pk}-{campaign.created_at.timestamp()}"
    if (known := cache.get(key)) is not None:
        return known or None
    states = Question.State
    waiting = Count("pk", filter=Q(state__in=[states.OPEN, states.REVIEW]))
    question_counts = list(
        campaign.questions.exclude(state__in=[states.WITHDRAWN, states.GOLD])
        .order_by("item")
        .values("item")
        .annotate(asked=Count("pk"), waiting=waiting)
        .filter(waiting=0)
        .values_list("asked", flat=True)[:MEASURED]
    )
    mean_and_error = None
    if len(question_counts) >= MIN_MEASURED:
        mean_and_error = (
            statistics.fmean(question_counts),
            2 * statistics.stdev(question_counts) / math.sqrt(len(question_counts)),
        )
    cache.set(key, mean_and_error or (), MEASURED_SECONDS)
    return mean_and_error


def _learned_per_image(campaign: Campaign) -> float | None:
    """Return the questions per image at the campaign's price by its calibration, or None."""
    price = campaign.settings.get("price")
    learned = learned_order.scenes_of(campaign.calibration_id) if price is not None else None
    curve = learned.curve if learned is not None else []
    return next((point.questions for point in curve if point.price == price), None)


def _images(
    campaign: Campaign, opening: Sequence[tuple[int | None, int]], opened_images: int
) -> int:
    """Return the number of images with a question now or after the running jobs.

    opening: (images of the job, opened so far) of each. opened_images: with a question now.
    """
    if not opening:
        return opened_images
    every = campaign.dataset.images.count()
    # Jobs of earlier versions lack the number of images; assume all.
    images_to_open = sum(every if images is None else images - done for images, done in opening)
    return max(opened_images, min(every, opened_images + images_to_open))


@dataclass(frozen=True)
class CostEstimate(lifecycle.AskingCost):
    """The cost of the likely, fewest and most questions.

    answers: including those to gold. hours: of people's time. cost: in currency. low, high: equal
    if the number of questions is known.
    """

    low: lifecycle.AskingCost
    high: lifecycle.AskingCost


def estimate(forecast: Forecast, policy: Mapping[str, object]) -> CostEstimate:
    """Return the cost of these questions under the policy."""
    rules = policies.whole(policy)
    each = answers_each(rules)
    low, likely, high = (lifecycle.estimate(number, rules, each) for number in forecast)
    return CostEstimate(**vars(likely), low=low, high=high)
