"""Finding a dataset's images by the names that files use for them."""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from labeling.csv_rows import nfc
from labeling.db.sql import batches
from labeling.errors import Refusal
from labeling.models import Dataset

BATCH = 2_000
MAX_CANDIDATES = 5


class NamedImage(NamedTuple):
    """An image of a dataset. size: (width, height) in pixels."""

    pk: int
    name: str
    size: tuple[int, int]


class ImageNames:
    """Lookup of images by their whole name, or else by the name without folder or extension.

    Names are compared in NFC. A name that matches several images is refused, and so are two names
    for one image.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._short: dict[str, list[str]] | None = None
        # The requested name by image.
        self._names: dict[str, str] = {}

    def find(self, names: Collection[str]) -> dict[str, NamedImage]:
        """Return the images by requested name; unknown names are left out. Raises Refusal.

        The number of queries is constant if all names are whole; otherwise all names are read once.
        """
        exact = self.exact(names)
        short = {name: self._by_short(name) for name in names if name not in exact}
        images = self.exact({full for full in short.values() if full})
        images_by_name = exact | {
            name: images[full] for name, full in short.items() if full in images
        }
        for name, image in images_by_name.items():
            earlier = self._names.setdefault(image.name, nfc(name))
            if earlier != nfc(name):
                raise Refusal(
                    f"{earlier!r} and {name!r} both mean the image {image.name!r}. "
                    "Write the whole name of each image.",
                    field="image",
                )
        return images_by_name

    def exact(self, names: Collection[str]) -> dict[str, NamedImage]:
        """Return the images by whole name, in any Unicode normal form. Raises Refusal."""
        forms = {
            form: None
            for name in names
            for form in (name, nfc(name), unicodedata.normalize("NFD", name))
        }
        images: dict[str, list[NamedImage]] = defaultdict(list)
        for part in batches(list(forms), BATCH):
            rows = self.dataset.images.filter(name__in=part)
            for pk, name, width, height in rows.values_list("pk", "name", "width", "height"):
                images[nfc(name)].append(NamedImage(pk, name, (width, height)))
        return {name: self._one(name, images[nfc(name)]) for name in names if nfc(name) in images}

    def _one(self, name: str, images: list[NamedImage]) -> NamedImage:
        if len(images) > 1:
            raise _ambiguous(name, [image.name for image in images])
        return images[0]

    def _by_short(self, name: str) -> str:
        """Return the whole name of the only image with this file name or stem; else ""."""
        if self._short is None:
            self._short = defaultdict(list)
            for full in self.dataset.images.values_list("name", flat=True).iterator():
                for short in _short_names(full):
                    self._short[short].append(full)
        for short in _short_names(name):
            if images := self._short.get(short):
                if len(images) > 1:
                    raise _ambiguous(name, images)
                return images[0]
        return ""


def _short_names(name: str) -> Iterable[str]:
    path = PurePosixPath(nfc(name).replace("\\", "/"))
    return dict.fromkeys((path.name, path.stem))


def _ambiguous(name: str, images: list[str]) -> Refusal:
    more = " …" if len(images) > MAX_CANDIDATES else ""
    return Refusal(
        f"The image {name!r} may be {', '.join(sorted(images)[:MAX_CANDIDATES])}{more}. "
        "Write its whole name.",
        field="image",
    )
