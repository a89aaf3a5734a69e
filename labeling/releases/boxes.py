"""Extra files of a release with boxes: every box, coverage by image and class, box errors."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labeling.boxes.chain import ABSENT, FLAGS, UNKNOWN, AcceptedBox
from labeling.boxes.cleaning import as_box
from labeling.boxes.consensus import PRIOR_SIGMA, merge, same_object
from labeling.boxes.rules import BoxRules
from labeling.consensus.calibration_store import CalibrationContent
from labeling.kinds import box_pairs, policies
from labeling.kinds.boxes import NONE
from labeling.models import Calibration, Campaign, Policy, Question
from labeling.release_files import frozen
from labeling.release_files.frozen_boxes import (
    DIGITS,
    BoxLine,
    CoverageLine,
    Drawer,
    ErrorTally,
    merged_coverage,
)
from labeling.releases import stored
from labeling.releases.frozen_questions import FrozenQuestion, FrozenSettlement
from labeling.releases.votes import FrozenVote

# A release with this file states a label for every class of every image.
GRAPH_FILE = "graph.json"


class Lines(NamedTuple):
    boxes: list[BoxLine]
    coverage: list[CoverageLine]


class FrozenBoxes:
    """Writes the (image, class) pairs of a campaign as release lines and counts them.

    calibration: id of the calibration that states the drawing errors of people.
    """

    def __init__(self, calibration: int | None, by_policy: Mapping[int, Policy]) -> None:
        self.tally = ErrorTally()
        self.rules = {
            pk: BoxRules.of(policies.whole(policy.content)) for pk, policy in by_policy.items()
        }
        self.people: dict[int, Drawer] = {}
        row = Calibration.objects.filter(pk=calibration or 0).first()
        known = CalibrationContent.from_json(row.content).annotators if row else None
        for person, skill in (known or {}).items():
            if skill.sigma is not None:
                self.people[int(person)] = Drawer(skill.sigma, skill.sides or 0)
        self.sigmas = {person: drawer.sigma for person, drawer in self.people.items()}

    def lines(
        self,
        asked_questions: Iterable[FrozenQuestion],
        settled: Mapping[int, FrozenSettlement],
        votes: Mapping[int, Sequence[FrozenVote]],
    ) -> Lines:
        """Return the lines of these questions' pairs. asked_questions: all of their images."""
        by_pair: dict[tuple[str, str], list[FrozenQuestion]] = defaultdict(list)
        for question in asked_questions:
            by_pair[question.image, question.topic].append(question)
        lines = Lines([], [])
        for (image, topic), questions in sorted(by_pair.items()):
            if all(question.number for question in questions):
                # Its first question is open again, so nothing is settled.
                lines.coverage.append({"image": image, "wnid": topic, "state": UNKNOWN})
                continue
            pair = box_pairs.replay(
                f"{image} {topic}", [self._asked(question, settled) for question in questions]
            )
            state = pair.chain.coverage
            lines.coverage.append({"image": image, "wnid": topic, "state": state})
            for boxed in pair.chain.boxes:
                drawn = self._drawn(boxed, pair, settled, votes)
                lines.boxes.append(self._line(image, topic, boxed, drawn))
        return lines

    def _asked(
        self, question: FrozenQuestion, settled: Mapping[int, FrozenSettlement]
    ) -> box_pairs.PairQuestion:
        settlement = settled.get(question.pk)
        content: box_pairs.PairContent = question.content or {}  # type: ignore[assignment]
        return box_pairs.PairQuestion(
            question.pk,
            question.step,
            question.state,
            content,
            self.rules[question.policy],
            settlement.value if settlement else None,
        )

    def _drawn(
        self,
        boxed: AcceptedBox,
        pair: box_pairs.ReplayedPair,
        settled: Mapping[int, FrozenSettlement],
        votes: Mapping[int, Sequence[FrozenVote]],
    ) -> list[tuple[int, Any]]:
        """Return (person, box) of each drawing of the box; [] if a model proposed or a reviewer
        drew it.
        """
        if boxed.drawing is None:
            return []
        question = pair.path[boxed.drawing].id
        counted = set(settled[question].answers)
        drawn = {
            vote.annotator: as_box(vote.value["box"])
            for vote in sorted(votes.get(question, ()), key=lambda vote: vote.revision)
            if vote.pk in counted and vote.value != NONE
        }
        groups = same_object([*drawn.values(), boxed.box])
        group_of_box = next(group for group in groups if len(drawn) in group)
        people = list(drawn)
        return [
            (people[index], drawn[people[index]]) for index in group_of_box if index < len(drawn)
        ]

    def _line(
        self, image: str, wnid: str, boxed: AcceptedBox, drawn: Sequence[tuple[int, Any]]
    ) -> BoxLine:
        merged = merge(drawn, self.sigmas) if drawn else None
        box = boxed.box if merged is None else merged.box
        error = None if merged is None else merged.error()
        line: BoxLine = {
            "image": image,
            "wnid": wnid,
            "box": [round(side, 1) for side in box],
            **{flag: flag in boxed.flags for flag in FLAGS},  # type: ignore[typeddict-item]
            "came": boxed.origin,
            "drawings": len(drawn),
            "iou_error": None if error is None else round(error.mean, DIGITS),
        }
        unknown = Drawer(PRIOR_SIGMA, 0)
        drawers = {person: self.people.get(person, unknown).sides for person, _ in drawn}
        self.tally.add(line, 0.0 if error is None else error.deviation, drawers)
        return line


def unasked(campaign: Campaign, order: Sequence[Any]) -> Iterator[CoverageLine]:
    """Yield the pairs without any settled question, by image and class."""
    rows = (
        Question.objects.filter(campaign=campaign, round=0)
        .exclude(state__in=[Question.State.SETTLED, Question.State.DROPPED, Question.State.GOLD])
        .order_by(*order)
        .values_list("item__image__name", "topic")
    )
    for image, topic in rows.iterator(chunk_size=2_000):
        yield {"image": image, "wnid": topic, "state": UNKNOWN}


def coverage(
    campaign: Campaign, images: Path, made: Path, waiting: Path
) -> tuple[Iterator[CoverageLine], str]:
    """Return the coverage lines and the state of pairs without a line.

    That state is ABSENT where the campaign's initial labels name every class of every image,
    else UNKNOWN. images: images.jsonl. made: lines of settled pairs; waiting: of the others.
    """
    labels, unlisted = _labels(campaign)
    sources = [frozen.lines_of(made), frozen.lines_of(waiting), labels]
    names = (line["name"] for line in frozen.lines_of(images))
    return merged_coverage(names, *sources), unlisted


def images_of_source(campaign: Campaign) -> Iterator[frozen.ImageLine]:
    """Return all images, by name, of the release that supplied the campaign's labels.

    This includes images without any class of the campaign.
    """
    source = _source(campaign)
    return source.images() if source else iter(())


def _source(campaign: Campaign) -> frozen.Frozen | None:
    """Return the release that supplied the campaign's labels."""
    label_source = campaign.settings.get("labels")
    if not label_source:
        return None
    release = Campaign.objects.get(name=label_source["campaign"]).releases.get(
        number=label_source["number"]
    )
    return stored.read(release)


def _labels(campaign: Campaign) -> tuple[Iterator[CoverageLine], str]:
    """Return coverage by labels of the source release, and the state of pairs without a line.

    If the release states every class, the lines are its classes that are unknown here, and other
    pairs are absent. Else the lines are its absent classes, and other pairs are unknown.
    """
    source = _source(campaign)
    if source is None:
        return iter(()), ABSENT if campaign.settings.get("complete") else UNKNOWN
    whole = GRAPH_FILE in source.meta["files"]
    # A class that is present but not asked about here is unknown too.
    values, state = (("unknown", "yes"), UNKNOWN) if whole else (("no",), ABSENT)
    topics = set(campaign.topics.values_list("key", flat=True))
    lines: Iterator[CoverageLine] = (
        {"image": line["image"], "wnid": line["wnid"], "state": state}
        for line in source.labels()
        if line["value"] in values and line["wnid"] in topics
    )
    return lines, ABSENT if whole else UNKNOWN
