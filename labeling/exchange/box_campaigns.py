"""Box campaigns: their (image, class) pairs and a detector's proposals, checked before any
write.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from labeling.boxes.acceptance import is_unassisted
from labeling.campaigns import lifecycle
from labeling.campaigns.lifecycle import TopicFields
from labeling.datasets.image_names import ImageNames
from labeling.errors import Refusal
from labeling.exchange.lists import ProposalRow
from labeling.files import BadInput
from labeling.follow_ups import asking, opening
from labeling.follow_ups.asking import AddedQuestions
from labeling.follow_ups.chaining import Tick
from labeling.geometry.boxes import Box, iou
from labeling.models import Campaign, Dataset, Release, User
from labeling.plurals import count_of
from labeling.release_files.frozen import Frozen

Pairs = Sequence[tuple[str, str]]
# Detectors repeat boxes and return uncertain ones. Of boxes that overlap by half, only the most
# confident is shown; each pair shows at most MAX_PER_PAIR.
SAME_IOU = 0.5
MAX_PER_PAIR = 10
# Files count pixels from 0 or 1 and round: boxes this far outside are clipped.
EDGE_PX = 1.0


@dataclass
class ProposedBoxes:
    """Result of proposing boxes.

    boxes by (image, class), the most confident first. unasked: boxes of pairs outside the campaign.
    repeated: boxes dropped beside more confident ones.
    """

    boxes: dict[tuple[str, str], list[Box]] = field(default_factory=dict)
    unasked: int = 0
    repeated: int = 0


def pairs_of(release: Frozen, classes: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Return (image, class) of every class that the release has in an image.

    classes: restricts them. Raises BadInput if there are none.
    """
    chosen_classes = set(classes) if classes is not None else None
    pairs = [
        (line["image"], line["wnid"])
        for line in release.labels()
        if line["value"] == "yes" and (chosen_classes is None or line["wnid"] in chosen_classes)
    ]
    if not pairs:
        raise BadInput(
            "has no image with a class",
            file=release.folder,
            cure="freeze the campaign once its questions are settled, or name other classes",
        )
    return pairs


def record_source_release(campaign: Campaign, release: Release) -> None:
    """Record the release that supplied the campaign's labels.

    Classes that are absent in the release are absent here, even if nobody is asked about them.
    Raises Refusal for a release on another dataset.
    """
    release_dataset = release.campaign.dataset
    if release_dataset != campaign.dataset:
        raise Refusal(
            f"The labels are of images of the dataset {release_dataset.name}. Choose that dataset.",
            field="dataset",
        )
    labels = {"campaign": release.campaign.name, "number": release.number, "sha256": release.sha256}
    campaign.settings = {**campaign.settings, "labels": labels}
    campaign.save(update_fields=["settings"])


def propose(dataset: Dataset, pairs: Pairs, rows: Sequence[ProposalRow]) -> ProposedBoxes:
    """Return the proposals to show.

    Raises Refusal, which names the line, for a box outside its image, empty or inverted; for images
    of another dataset; and for classes of no pair.
    """
    proposed = ProposedBoxes()
    if not rows:
        return proposed
    sizes = _sizes(dataset, {row.image for row in rows})
    _check_images(dataset, rows, sizes)
    _check_classes(pairs, rows)
    known_pairs = set(pairs)
    by_pair: dict[tuple[str, str], list[ProposalRow]] = defaultdict(list)
    for row in rows:
        box = _clean(row, *sizes[row.image])
        if (row.image, row.topic) in known_pairs:
            by_pair[row.image, row.topic].append(row._replace(box=box))
        else:
            proposed.unasked += 1
    for pair, boxes in by_pair.items():
        kept: list[Box] = []
        for row in sorted(boxes, key=lambda proposal: (-proposal.confidence, proposal.line)):
            same = any(iou(row.box, kept_box) >= SAME_IOU for kept_box in kept)
            if same or len(kept) >= MAX_PER_PAIR:
                proposed.repeated += 1
            else:
                kept.append(row.box)
        proposed.boxes[pair] = kept
    return proposed


def _sizes(dataset: Dataset, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    images = ImageNames(dataset).exact(set(names))
    return {name: image.size for name, image in images.items()}


def _check_images(
    dataset: Dataset, rows: Sequence[ProposalRow], sizes: Mapping[str, object]
) -> None:
    unknown = next((row for row in rows if row.image not in sizes), None)
    if unknown is not None:
        raise Refusal(
            f"{unknown.prefix}: {dataset.name} has no image {unknown.image!r}. Are these the "
            "proposals of another dataset? Remove images that this dataset lacks.",
            field="proposals",
        )


def _check_classes(pairs: Pairs, rows: Sequence[ProposalRow]) -> None:
    classes = {topic for _, topic in pairs}
    unknown = sorted({row.topic for row in rows} - classes)
    if unknown:
        prefix = next(row.prefix for row in rows if row.topic == unknown[0])
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise Refusal(
            f"{prefix}: the campaign does not ask for {unknown[0]!r}{more}. Leave out such lines, "
            "or name the classes that are asked for.",
            field="proposals",
        )


def _clean(row: ProposalRow, width: int, height: int) -> Box:
    x0, y0, x1, y1 = row.box
    if min(x0, y0) < -EDGE_PX or x1 > width + EDGE_PX or y1 > height + EDGE_PX:
        raise Refusal(
            f"{row.prefix}: the box extends beyond its upright image of {width} × {height} pixels. "
            "Give boxes in pixels of the upright image, clipped at its edges.",
            field="proposals",
        )
    x0, y0, x1, y1 = max(0.0, x0), max(0.0, y0), min(x1, width), min(y1, height)
    if x1 - x0 < 1 or y1 - y0 < 1:
        raise Refusal(
            f"{row.prefix}: the box has no area of a pixel. Its columns are x0,y0,x1,y1: left, "
            "top, right, bottom.",
            field="proposals",
        )
    left, top, right, bottom = (round(side, 1) for side in (x0, y0, x1, y1))
    return left, top, right, bottom


@transaction.atomic
def draft(
    owner: User,
    dataset: Dataset,
    *,
    pairs: Pairs,
    proposed: ProposedBoxes | None = None,
    topics: Iterable[TopicFields] = (),
    release: Release | None = None,
    **fields: Any,
) -> Campaign:
    """Create a draft box campaign with a first question per pair; fields as in lifecycle.create.

    release: the source of the pairs. All or nothing. Raises Refusal.
    """
    campaign = lifecycle.create(owner, dataset=dataset, **fields)
    if release is not None:
        record_source_release(campaign, release)
    opening.define_asked(campaign, pairs, topics)
    ask(campaign, pairs, proposed)
    return campaign


def check(campaign: Campaign, pairs: Pairs) -> None:
    """Raise Refusal for images missing in the campaign's dataset, before anything is asked."""
    sizes = _sizes(campaign.dataset, {image for image, _ in pairs})
    missing = [image for image in dict.fromkeys(image for image, _ in pairs) if image not in sizes]
    opening.refuse_missing(campaign, missing)


def ask(
    campaign: Campaign,
    pairs: Pairs,
    proposed: ProposedBoxes | None = None,
    tick: Tick | None = None,
) -> AddedQuestions:
    """Add the first question of these pairs; with proposals it checks the first one.

    One pair in ten, by its hash, shows none, for comparison. Raises Refusal for images missing in
    the dataset and classes missing in the campaign.
    """
    asking.check_topics(campaign, {topic for _, topic in pairs})
    items, missing = asking.whole_items(campaign, sorted({image for image, _ in pairs}))
    opening.refuse_missing(campaign, missing)
    boxes = {
        (items[image], topic): proposals
        for (image, topic), proposals in (proposed.boxes if proposed else {}).items()
        if not is_unassisted(f"{image} {topic}")
    }
    keys = [(items[image], topic) for image, topic in dict.fromkeys(pairs)]
    return asking.add_pairs(campaign, keys, boxes, tick)


def describe_proposed(proposed: ProposedBoxes) -> str:
    """Return the result of the proposals in words."""
    count = sum(len(boxes) for boxes in proposed.boxes.values())
    left = []
    if proposed.unasked:
        left.append(f"{proposed.unasked:,} of classes that were not asked for in their image")
    if proposed.repeated:
        left.append(f"{proposed.repeated:,} that overlap with more confident ones")
    summary = count_of(count, "proposed box", "proposed boxes")
    return f"{summary} kept" + (f"; left out: {', '.join(left)}." if left else ".")
