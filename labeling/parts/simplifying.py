"""Converting foreign objects to a vocabulary: parts renamed, pieces of one part merged. Pure.

Source: "Simplified Part Labeling", Sarvadevabhatla et al. 2016, Supplement A §2. A name that the
vocabulary knows becomes its part. Names that it lists as pieces of one instance (the upper and the
lower left leg) become one region by alpha shape. The pieces are kept, so `merged` gives the same
bytes again.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labeling.errors import Refusal
from labeling.geometry.polygons import Polygons, canonical
from labeling.parts.model import (
    REST_BACKGROUND,
    REST_OBJECT,
    Box,
    Merge,
    Part,
    PartedObject,
    merge_fields,
)
from labeling.vocabulary.types import Category, PartName, folded

if TYPE_CHECKING:
    from labeling.geometry.alpha_shapes import MergedPieces

# Largest radius of a merge, as a share of the object's diagonal. An alpha shape of radius r joins
# pieces about 2 r apart: here a fifth of the diagonal, as much as a fence or a neighbour's leg
# hides. With a larger gap, the shape would be mostly gap.
CAP = 0.1
MADE = {REST_OBJECT, REST_BACKGROUND}


@dataclass(frozen=True)
class Simplified:
    """An object in the vocabulary's terms. unknown: names that match none of its category's parts.
    merged: number of instances merged from pieces.
    """

    parted: PartedObject
    unknown: tuple[str, ...]
    merged: int

    def apart(self) -> list[tuple[str, str]]:
        """Return (part, instance) of those whose pieces are too far apart."""
        parts = self.parted.parts
        return [
            (part.key, merge.instance) for part in parts for merge in part.merges if merge.apart
        ]


def simplified(parted: PartedObject, category: Category, cap: float | None = CAP) -> Simplified:
    """Return the object with the vocabulary's category and parts, in the order of its file.

    cap: upper limit of a merge's radius, as a share of the diagonal of the object's box; None for
    no limit. Derived parts (unlabeled-rest) are left out, since they are computed again. Raises
    Refusal for a part that occurs twice if the vocabulary has it once.
    """
    sources: dict[str, dict[str, list[Part]]] = {}
    unknown = []
    for part in parted.parts:
        if part.key in MADE:
            continue
        meant = category.part_of(part.key)
        if meant is None:
            unknown.append(part.key)
        else:
            sources.setdefault(meant[0], {}).setdefault(meant[1], []).append(part)
    longest = None if cap is None else cap_px(parted.box, cap)
    parts = []
    for key, instances in sources.items():
        name = category.by_key[key]
        parts.append(_part(name, _by_instance(name, instances), longest))
    merged = sum(len(merge.pieces) > 1 for part in parts for merge in part.merges)
    changed = replace(
        parted, category=category.key, parts=tuple(parts), name=own_name(parted, category)
    )
    return Simplified(changed, tuple(unknown), merged)


def own_name(parted: PartedObject, category: Category) -> str:
    """Return the file's name of this object; "" if it only names the category."""
    words = {word.casefold() for word in (category.key, category.name, *category.aliases)}
    return "" if parted.name.casefold() in words else parted.name


def cap_px(box: Box, share: float) -> float:
    """Return the share of a box's diagonal, in pixels, to a tenth.

    >>> cap_px((0, 0, 30, 40), 0.1)
    5.0
    """
    return round(share * math.hypot(box[2] - box[0], box[3] - box[1]), 1)


def merged(merge: Merge) -> tuple[Merge, Polygons]:
    """Return the merge with its radius, and the merged region.

    The radius is the one a person chose, else the lowest that joins the pieces, up to the cap. A
    single piece is unchanged.
    """
    if len(merge.pieces) == 1:
        return replace(merge, radius=None, apart=False), merge.pieces[0]
    made = alpha_of(merge)
    return replace(merge, radius=made.radius, apart=made.apart), made.polygons


def alpha_of(merge: Merge) -> "MergedPieces":
    """Return the alpha shape of the raw pieces by the merge's settings, with its areas."""
    # Imported here: a web process needs no triangulation until somebody merges.
    from labeling.geometry import alpha_shapes

    if merge.chosen:
        return alpha_shapes.merge(
            merge.pieces, radius=merge.radius, holes=merge.holes, method=merge.method
        )
    return alpha_shapes.merge(merge.pieces, cap=merge.cap, holes=merge.holes)


def remerged(part: Part, merges: Iterable[Merge]) -> Part:
    """Return the part made of these instances, each merged from its pieces."""
    made = [merged(merge) for merge in merges]
    polygons = _joined([shape for _, shape in made])
    return replace(part, polygons=polygons, **merge_fields(merge for merge, _ in made))


def _joined(shapes: Sequence[Polygons]) -> Polygons:
    """Return the union of several instances; instances clear of each other are unchanged."""
    from labeling.geometry import regions

    if len(shapes) == 1:
        return shapes[0]
    boxes = [regions.box_of(shape) for shape in shapes]
    if all(
        _are_clear(first_box, second_box)
        for first_box, second_box in itertools.combinations(boxes, 2)
    ):
        return canonical(tuple(piece for shape in shapes for piece in shape))
    return regions.union(shapes)


def _are_clear(first_box: Sequence[int], second_box: Sequence[int]) -> bool:
    """Return whether two boxes of whole pixels share no edge."""
    return (
        first_box[2] < second_box[0]
        or second_box[2] < first_box[0]
        or first_box[3] < second_box[1]
        or second_box[3] < first_box[1]
    )


def _by_instance(name: PartName, instances: dict[str, list[Part]]) -> dict[str, list[Part]]:
    """Return the pieces by instance: a repeated name is another instance. Raises Refusal."""
    instances_of_part: dict[str, list[Part]] = {}
    for instance, parts in instances.items():
        seen: Counter[str] = Counter()
        for part in parts:
            seen[folded(part.key)] += 1
            again = seen[folded(part.key)]
            instance_name = instance if again == 1 else f"{instance} {again}".strip()
            instances_of_part.setdefault(instance_name, []).append(part)
    if len(instances_of_part) > 1 and not name.several:
        words = ", ".join(
            dict.fromkeys(part.key for parts in instances_of_part.values() for part in parts)
        )
        raise Refusal(
            f"The part {name.key!r} occurs {len(instances_of_part)} times ({words}), but the "
            "vocabulary allows it once. Merge them, or set several: true for the part in the "
            "vocabulary.",
            field="parts",
        )
    return instances_of_part


def _part(name: PartName, instances: dict[str, list[Part]], cap: float | None) -> Part:
    """Return the part of these instances; merged if any is in pieces."""
    all_parts = [part for parts in instances.values() for part in parts]
    names = tuple(dict.fromkeys(part.key for part in all_parts))
    drawn = {
        instance: pieces
        for instance, parts in instances.items()
        if (pieces := [part for part in parts if part.polygons])
    }
    first = all_parts[0]
    if not drawn:
        return Part(name.key, (), first.state, first.origin, name.name, names=names)
    kept = Part(name.key, (), "drawn", first.origin, name.name, names=names)
    if len(all_parts) == 1:
        # The part as in the file, with its merges.
        return replace(first, key=name.key, name=name.name, names=names)
    if all(len(pieces) == 1 for pieces in drawn.values()):
        return replace(kept, polygons=_joined([piece.polygons for (piece,) in drawn.values()]))
    merges = (
        Merge(
            pieces=tuple(part.polygons for part in pieces),
            cap=cap,
            holes=name.holes,
            instance=instance,
            names=tuple(part.key for part in pieces),
        )
        for instance, pieces in drawn.items()
    )
    return remerged(kept, merges)
