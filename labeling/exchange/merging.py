"""Previews and saves another radius or method for merged pieces. The raw pieces are kept.

A merge is one instance of a given part (objects.py); simplifying.py computes it.
"""

import logging
import math
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import timezone

from labeling.datasets import objects
from labeling.datasets.datasets import check_may_add
from labeling.errors import NotYours, Refusal
from labeling.geometry import regions
from labeling.geometry.alpha_shapes import METHODS
from labeling.geometry.polygons import Polygons
from labeling.models import GivenLabel, Item, User
from labeling.parts import simplifying
from labeling.parts.model import Merge, Part

logger = logging.getLogger(__name__)

# The circumcircle of a pixel: with a smaller radius no corners are joined.
MIN_PX = math.sqrt(0.5)
# More than any photograph's diagonal; beyond, every alpha shape is the convex hull.
MAX_PX = 1_000_000.0


@dataclass(frozen=True)
class MergePreview:
    """A merge on its page.

    polygons, hull: of all its pieces. area, union_area, hull_area: in pixels. joins_at: the
    smallest radius that gives a single contour.
    """

    merge: Merge
    polygons: Polygons
    hull: Polygons
    area: int
    union_area: int
    hull_area: int
    joins_at: float


def preview(merge: Merge) -> MergePreview:
    """Recompute the merge from its raw pieces."""
    made = simplifying.alpha_of(merge)
    return MergePreview(
        merge=replace(merge, radius=made.radius, apart=made.apart),
        polygons=made.polygons,
        hull=regions.convex_hull(regions.union(merge.pieces)),
        area=made.area,
        union_area=made.union_area,
        hull_area=made.hull_area,
        joins_at=made.joins_at,
    )


def with_radius(merge: Merge, radius: float | None, method: str = "radius") -> Merge:
    """Return the merge with another radius in pixels, None for automatic, and one of METHODS.

    Methods other than the first need a radius. Raises Refusal.
    """
    if method not in METHODS:
        raise Refusal(f"{method!r} is not a method; use {' or '.join(METHODS)}.", field="method")
    if radius is None and method != "radius":
        raise Refusal(f"The method {method} needs a radius.", field="radius")
    if radius is None:
        return replace(merge, chosen=False, method=method)
    if not MIN_PX <= radius <= MAX_PX:
        raise Refusal(
            f"The radius is {radius:g}; give {MIN_PX:.2f} to {MAX_PX:,.0f} pixels.", field="radius"
        )
    return replace(merge, radius=radius, chosen=True, method=method)


def choose(
    item: Item, key: str, instance: str, radius: float | None, actor: User, method: str = "radius"
) -> tuple[Part, Merge]:
    """Save the method and radius in pixels of a merge; return the given part and the merge.

    A radius of None is automatic. The raw pieces are kept, so every choice can be reverted. Raises
    NotAllowed for users who may not import labels, NotYours for a missing merge, and Refusal.
    """
    check_may_add(actor, item.image.dataset)
    with transaction.atomic():
        label = _label(item, key)
        part = objects.part_of(key, label.geometry or {})
        at = place_of(part, instance)
        changed = with_radius(part.merges[at], radius, method)
        # Merge all instances of the part again, since they may lie apart.
        merges = [changed if nth == at else merge for nth, merge in enumerate(part.merges)]
        part = simplifying.remerged(part, merges)
        label.geometry = objects.content_of(part)
        # Releases and runs detect changes of given labels by this time.
        label.created_at = timezone.now()
        label.save(update_fields=["geometry", "created_at"])
    choice = "the automatic radius" if radius is None else f"the radius {radius:g} by {method}"
    logger.info("%s gave %s of %s %s", actor.pseudonym, key, item, choice)
    return part, part.merges[at]


def place_of(part: Part, instance: str) -> int:
    """Return the index of the part's merge of this instance with several pieces. Raises
    NotYours.
    """
    for at, merge in enumerate(part.merges):
        if merge.instance == instance and len(merge.pieces) > 1:
            return at
    raise NotYours("This part has no merged pieces.")


def _label(item: Item, key: str) -> GivenLabel:
    """Return the latest given label of the part, locked. Raises NotYours."""
    rows = GivenLabel.objects.select_for_update().filter(item=item, key=key)
    label = rows.exclude(geometry=None).order_by("created_at", "pk").last()
    if label is None:
        raise NotYours("The object has no such given part.")
    return label
