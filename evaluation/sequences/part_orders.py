"""Part orders of a release's categories: by eye fixations, at random, from a file. No Django."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluation.metrics.frames.part_order import (
    FIXATION_SCHEMES,
    RANDOM,
    SeenObject,
    ShareSums,
    random_order,
)
from evaluation.metrics.frames.sequences import PartsError, checked_order
from evaluation.readers.fixations import Gazes
from evaluation.sequences.objects import DrawnObject, drawn_objects, parts_of
from labeling.files import BadInput, StrPath, require_file, text_lines
from labeling.json_text import parse_json
from labeling.release_files.frozen import Frozen

# Part scheme → category → its parts in the order of revealing.
Orders = Mapping[str, Mapping[str, tuple[str, ...]]]
Parts = Mapping[str, Sequence[str]]
SCHEME_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
IMAGE_ENDINGS = (".jpg", ".png", ".jpeg")
_FORM = 'write {"orders": {"scheme": {"category": ["part", …]}}}'


@dataclass(frozen=True)
class OrdersByFixations:
    """Part orders by eye fixations.

    orders: the four schemes. shares: scheme → category → part → importance, summing to 1. settings:
    how the orders were made, for orders.json.
    """

    orders: dict[str, dict[str, tuple[str, ...]]]
    shares: dict[str, dict[str, dict[str, float]]]
    settings: dict[str, object]


def random_orders(parts: Parts, seed: int) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the scheme "random": each category's parts shuffled by seed and category."""
    orders = {category: random_order(keys, seed, category) for category, keys in parts.items()}
    return {RANDOM: {category: order.parts for category, order in orders.items()}}


def orders_by_fixations(
    frozen: Frozen,
    gazes: Sequence[Gazes],
    numbers: Mapping[str, int],
    drop_first: bool = False,
    fallback: str | None = None,
    seed: int = 0,
) -> OrdersByFixations:
    """Return E_U, E_US, E_A and E_AS of every category that has objects in the release.

    numbers: image name → its index in gazes; other images of the release add nothing. An object's
    area is that of its outline, or of its parts together where it has none. fallback: "random"
    orders the parts of a category without fixations by seed; settings record it. One image is held
    at a time. Raises BadInput for a category without a fixation on any of its parts, and for
    fixations of another size than the image's.
    """
    totals = _FixationSums({}, parts_of(frozen), drop_first)
    for photo, image_objects in drawn_objects(frozen):
        index = numbers.get(photo.name)
        for drawn_object in image_objects:
            totals.of(drawn_object.thing.category)
        if index is None or not gazes[index].people:
            continue
        _check_size(photo.name, (photo.height, photo.width), gazes[index], index)
        totals.images += 1
        for drawn_object in image_objects:
            totals.add(drawn_object, gazes[index])
    return totals.ordered(fallback, seed)


def numbers_of(frozen: Frozen, count: int, names_file: StrPath | None = None) -> dict[str, int]:
    """Return image name → index from 0 among this many images with fixations.

    names_file: line i names the release's image for image i, empty for none; without it image i is
    `i.jpg`, `i.png` or `i.jpeg`. Raises BadInput for more lines than images, a name that is
    repeated or not in the release, and for no images.
    """
    known = {row["name"] for row in frozen.images()}
    if names_file is None:
        usual_names = {f"{i + 1}{ending}": i for i in range(count) for ending in IMAGE_ENDINGS}
        numbers = {name: index for name, index in usual_names.items() if name in known}
        file, cure = frozen.folder, "say which image is which: --fixation-images FILE"
    else:
        file, cure = Path(names_file), "let line i name the release's image for image i"
        numbers = _listed(file, known, count)
    if not numbers:
        raise BadInput("none of the release's images has fixations", file=file, cure=cure)
    return numbers


def read_orders(path: StrPath, parts: Parts) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the orders in a file that as_text wrote, of the categories in `parts`.

    parts: category → its parts. A scheme may leave categories out. Raises BadInput with the file,
    scheme and category: another format, a part that is unknown, repeated or missing.
    """
    file = Path(path)
    require_file(file, "check the path")
    try:
        content = parse_json(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput("is not JSON", file=file, cure=_FORM) from None
    return checked_orders(content.get("orders") if isinstance(content, dict) else None, parts, file)


def checked_orders(
    value: object, parts: Parts, file: StrPath | None = None
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return orders from JSON, checked as in read_orders."""
    if not isinstance(value, dict) or not value:
        raise BadInput("has no orders", file=file, cure=_FORM)
    orders: dict[str, dict[str, tuple[str, ...]]] = {}
    for scheme, categories in value.items():
        if not SCHEME_NAME.fullmatch(scheme):
            raise BadInput(
                f"the part scheme is named {scheme[:60]!r}",
                file=file,
                cure="take 1 to 40 of the letters, digits and _ . -",
            )
        if not isinstance(categories, dict):
            raise BadInput(f"the part scheme {scheme} has no categories", file=file, cure=_FORM)
        orders[scheme] = {
            category: _checked(order, parts[category], scheme, category, file)
            for category, order in categories.items()
            if category in parts
        }
    return orders


def as_text(
    parts: Parts,
    orders: Orders,
    shares: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> str:
    """Return the text of orders.json, which read_orders reads: equal for equal orders."""
    content = {
        "parts": parts,
        "orders": orders,
        "shares": shares or {},
        "settings": settings or {},
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


@dataclass
class _FixationSums:
    """Sums of the fixations on each category so far."""

    sums: dict[str, ShareSums]
    parts: dict[str, tuple[str, ...]]
    drop_first: bool
    images: int = 0
    areas: dict[str, int] = field(default_factory=lambda: {"outline": 0, "parts": 0})

    def of(self, category: str) -> ShareSums:
        """Return the category's sums; from now on it must have fixations."""
        if category not in self.sums:
            self.sums[category] = ShareSums(self.parts[category], self.drop_first)
        return self.sums[category]

    def add(self, drawn_object: DrawnObject, gazes: Gazes) -> None:
        masks = {
            key: drawn_object.whole_mask(polygons) for key, polygons in drawn_object.parts.items()
        }
        known = drawn_object.thing.outline
        if known:
            area = int(drawn_object.whole_mask(known).sum())
        else:
            area = int(np.logical_or.reduce(list(masks.values())).sum())
        if not area:
            return
        self.areas["outline" if known else "parts"] += 1
        try:
            self.of(drawn_object.thing.category).add(
                SeenObject(masks, area, gazes.people, drawn_object.title)
            )
        except PartsError as error:
            raise BadInput(error.message, cure=error.cure) from None

    def ordered(self, fallback: str | None, seed: int) -> OrdersByFixations:
        orders: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in FIXATION_SCHEMES}
        shares: dict[str, dict[str, dict[str, float]]] = {name: {} for name in FIXATION_SCHEMES}
        without = [category for category, sums in self.sums.items() if not sums.seen]
        if without and fallback != RANDOM:
            raise BadInput(
                f"no fixation lies on a part of {', '.join(without)}",
                cure="give images of it with fixations, or order its parts at random",
            )
        for category, sums in self.sums.items():
            if category in without:
                parts = random_order(self.parts[category], seed, category).parts
                for scheme in FIXATION_SCHEMES:
                    orders[scheme][category] = parts
                continue
            for scheme, order in sums.orders().items():
                orders[scheme][category] = order.parts
                shares[scheme][category] = order.shares
        return OrdersByFixations(orders, shares, self._settings(without, seed))

    def _settings(self, without: list[str], seed: int) -> dict[str, object]:
        stated: dict[str, object] = {
            "images": self.images,
            "objects": {category: sums.seen for category, sums in self.sums.items()},
            "drop_first": self.drop_first,
            # Number of objects whose area came from the outline, and from the parts.
            "areas": self.areas,
        }
        return stated | ({"random_for_lack_of_fixations": without, "seed": seed} if without else {})


def _check_size(name: str, size: tuple[int, int], gazes: Gazes, index: int) -> None:
    if gazes.size is not None and gazes.size != size:
        raise BadInput(
            f"{name} has {size[1]} × {size[0]} pixels, image {index + 1} of the fixations "
            f"{gazes.size[1]} × {gazes.size[0]}",
            cure="let line i of --fixation-images name the release's image for image i",
        )


def _listed(file: Path, known: set[str], count: int) -> dict[str, int]:
    require_file(file, "check the path")
    numbers: dict[str, int] = {}
    for number, name in enumerate(map(str.strip, text_lines(file)), 1):
        if not name:
            continue
        wrong = None
        if number > count:
            wrong = f"there are {count} images with fixations, this is one more"
        elif name not in known:
            wrong = f"{name} is not in the release"
        elif name in numbers:
            wrong = f"{name} stands here twice"
        if wrong:
            raise BadInput(
                wrong, file=file, line=number, cure="let line i name the image for image i, or none"
            )
        numbers[name] = number - 1
    return numbers


def _checked(
    order: object, parts: Sequence[str], scheme: str, category: str, file: StrPath | None
) -> tuple[str, ...]:
    where = f"the part scheme {scheme}, category {category}"
    if not isinstance(order, list) or not all(isinstance(part, str) for part in order):
        raise BadInput(f"{where}: is not a list of parts", file=file, cure=_FORM)
    twice = sorted(part for part, count in Counter(order).items() if count > 1)
    if twice:
        raise BadInput(
            f"{where}: names {', '.join(twice)} twice", file=file, cure="name each part once"
        )
    try:
        return tuple(checked_order(order, parts))
    except PartsError as error:
        raise BadInput(f"{where}: {error.message}", file=file, cure=error.cure) from None
