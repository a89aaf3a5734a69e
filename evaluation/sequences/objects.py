"""Objects of a release: drawn parts, crops and masks. No Django."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.frames.sequences import REST_NAMES
from labeling.files import BadInput
from labeling.geometry import crops, regions
from labeling.geometry.crops import Crop
from labeling.geometry.polygons import Polygons, as_json
from labeling.json_text import canonical_sha256
from labeling.parts.model import PartedObject, Photograph
from labeling.release_files.frozen import Frozen

# Number of left-out objects that are named.
MAX_LISTED = 5
TIGHT = "intra-object"


@dataclass(frozen=True)
class DrawnObject:
    """An object of a release that has parts. parts: key → polygons of the drawn parts."""

    photo: Photograph
    thing: PartedObject
    parts: Mapping[str, Polygons]

    @property
    def title(self) -> str:
        """Return the object's name in messages."""
        return f"{self.thing.name or 'the object'} in {self.photo.name}"

    @property
    def sha256(self) -> str:
        """Return the hash of everything that the object's frames are made of, except the orders."""
        return canonical_sha256(
            {
                "category": self.thing.category,
                "box": self.thing.box,
                "crop": self.thing.crop,
                "parts": {key: as_json(polygons) for key, polygons in self.parts.items()},
            }
        )

    def crop(self, content: str) -> Crop:
        """Return the crop of a content scheme: intra-object the tight one, the others the widened
        one.

        In whole pixels of the image. Raises BadInput for an empty crop.
        """
        size = self.photo.width, self.photo.height
        box = self.thing.box
        if content == TIGHT:
            crop = crops.tight(box, *size)
        elif self.thing.crop is not None:
            crop = crops.tight(self.thing.crop, *size)
        else:
            crop, _ = crops.widened(box, *size)
        if crop[0] >= crop[2] or crop[1] >= crop[3]:
            raise BadInput(
                f"the box of {self.title} lies outside the image",
                cure="correct its box and freeze the release again",
            )
        return crop

    def masks(self, crop: Crop) -> dict[str, NDArray[np.bool_]]:
        """Return part → (H, W) of the crop, True where the centre of a pixel lies in the part."""
        return {key: regions.mask_of(polygons, crop) for key, polygons in self.parts.items()}

    def whole_mask(self, polygons: Polygons) -> NDArray[np.bool_]:
        """Return the (H, W) mask of the whole image."""
        return regions.mask_of(polygons, (0, 0, self.photo.width, self.photo.height))


@dataclass
class LeftOutObjects:
    """The number of objects without a drawn part, and the first few names."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, thing: PartedObject) -> None:
        self.count += 1
        if len(self.first) < MAX_LISTED:
            self.first.append(f"{thing.image}/{thing.name}")


def drawn_objects(
    frozen: Frozen, left_out: LeftOutObjects | None = None
) -> Iterator[tuple[Photograph, list[DrawnObject]]]:
    """Yield every image of the release that has objects with drawn parts, and these objects.

    left_out counts objects without a drawn part. Images are read one by one, so memory stays
    constant. Raises BadInput for a release without parts, and for a drawn part that the category
    does not have.
    """
    vocabulary = parts_of(frozen)
    for photo, parted_objects in frozen.objects(rest=False):
        image_objects = []
        for thing in parted_objects:
            drawn_object = drawn(photo, thing, vocabulary)
            if drawn_object.parts:
                image_objects.append(drawn_object)
            elif left_out is not None:
                left_out.add(thing)
        if image_objects:
            yield photo, image_objects


def drawn(
    photo: Photograph, thing: PartedObject, vocabulary: Mapping[str, tuple[str, ...]]
) -> DrawnObject:
    """Return the object with its drawn parts. Raises BadInput for a part that its category
    lacks.
    """
    parts = {
        part.key: part.polygons
        for part in thing.parts
        if part.state == "drawn" and part.origin != "made" and part.polygons
    }
    drawn_object = DrawnObject(photo, thing, parts)
    known = vocabulary.get(thing.category, ())
    for key in parts:
        if key not in known:
            raise BadInput(
                f"{drawn_object.title} has the part {key}, which its category {thing.category}"
                f" does not have ({', '.join(known) or 'it has none'})",
                cure="add the part to the vocabulary or take it from the object, and freeze again",
            )
    return drawn_object


def parts_of(frozen: Frozen) -> dict[str, tuple[str, ...]]:
    """Return category → keys of its parts, in the vocabulary's order, without categories that have
    none.

    Raises BadInput for a release of a campaign that is not about parts.
    """
    if "objects.jsonl" not in frozen.meta["files"]:
        raise BadInput(
            "the release has no objects with parts",
            file=frozen.folder,
            cure="give a release of a campaign of kind parts",
        )
    by_category = {
        category: tuple(key for key in names if key not in REST_NAMES)
        for category, names in frozen.parts().items()
    }
    return {category: parts for category, parts in by_category.items() if parts}
