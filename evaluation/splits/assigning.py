"""Assigns images to the parts of a split: balanced by class, with groups of images kept together.

Images of one group (near-duplicates, images of one source) go to one part. Groups are assigned
class by class, the rarest class first; within a class the largest groups first, then in the order
of a hash of the seed and the group's first image. Time is linear in the images.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.splits.rules import Method, SplitRule


@dataclass(frozen=True)
class LabeledImage:
    """An image with its classes. ties: keys that it shares with images of the same group."""

    name: str
    classes: frozenset[str] = frozenset()
    ties: tuple[str, ...] = ()


@dataclass
class Assignment:
    """part_of: index of each image's part. class_parts: index of each class's part, if classes
    are split. left_out: images that fit no part. together: number of groups of several images.
    bridges: new images whose group already has images in several parts.
    """

    part_of: dict[str, int] = field(default_factory=dict)
    class_parts: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    together: int = 0
    bridges: int = 0


def assign(
    images: Sequence[LabeledImage],
    rule: SplitRule,
    seed: int,
    earlier: Assignment | None = None,
) -> Assignment:
    """Return the parts of the images. earlier: a split whose assignments stay as they are."""
    earlier = earlier or Assignment()
    split = Assignment(dict(earlier.part_of), dict(earlier.class_parts))
    groups = _groups(images)
    split.together = sum(len(group) > 1 for group in groups)
    totals = Counter(name for image in images for name in _classes(image))
    tally = _Tally(rule, totals)
    waiting = []
    for group in groups:
        parts = [split.part_of[image.name] for image in group if image.name in split.part_of]
        new = [image for image in group if image.name not in split.part_of]
        for image in group:
            if image.name in split.part_of:
                tally.add([image], split.part_of[image.name])
        if not parts:
            waiting.append(new)
            continue
        split.bridges += len(new) if len(set(parts)) > 1 else 0
        for image in new:
            split.part_of[image.name] = parts[0]
            tally.add([image], parts[0])
    if rule.method == Method.CLASSES:
        _split_classes(split, totals, rule, seed)
    for group in sorted(waiting, key=lambda group: _order(group, totals, seed)):
        part = _part_by_classes(group, split) if split.class_parts else tally.part(group)
        if part is None:
            split.left_out += [image.name for image in group]
            continue
        tally.add(group, part)
        split.part_of |= dict.fromkeys((image.name for image in group), part)
    return split


class _Tally:
    """Counts of images in each part so far, by class and in total."""

    def __init__(self, rule: SplitRule, totals: Counter[str]) -> None:
        self.rule, self.totals = rule, totals
        self.by_class: dict[str, list[int]] = defaultdict(lambda: [0] * len(rule.names))
        self.images = [0] * len(rule.names)

    def add(self, group: Sequence[LabeledImage], part: int) -> None:
        self.images[part] += len(group)
        for image in group:
            for name in _classes(image):
                self.by_class[name][part] += 1

    def part(self, group: Sequence[LabeledImage]) -> int:
        shares = self.rule.numbers
        if self.rule.rest is not None:
            sizes = Counter(name for image in group for name in image.classes)
            # Fill the last count first: a class with few images fills the test part first.
            for part in reversed(range(len(shares))):
                if sizes and all(
                    self.by_class[name][part] + size <= shares[part] for name, size in sizes.items()
                ):
                    return part
            return self.rule.rest
        name = _rarest(group, self.totals)
        size = sum(name in _classes(image) for image in group)
        whole, total, counts = sum(shares), self.totals[name], self.by_class[name]
        left = total - sum(counts)
        # A part gets at most its share, rounded up, and leaves the others theirs, rounded down.
        lacking = [
            max(0, share * total // whole - count)
            for share, count in zip(shares, counts, strict=True)
        ]
        allowed = [
            part
            for part, share in enumerate(shares)
            if counts[part] + size <= -(-share * total // whole)
            and left - size >= sum(lacking) - min(size, lacking[part])
        ]
        done = sum(self.images) + len(group)
        lacks = [share * total - whole * count for share, count in zip(shares, counts, strict=True)]
        neediest = [part for part, lack in enumerate(lacks) if lack == max(lacks)]
        return max(allowed or neediest, key=lambda at: shares[at] * done - whole * self.images[at])


def _split_classes(split: Assignment, totals: Counter[str], rule: SplitRule, seed: int) -> None:
    """Assign each new class to the part that has the fewest classes for its share."""
    counts = Counter(split.class_parts.values())
    new = {name for name in totals if name} - split.class_parts.keys()
    for done, name in enumerate(
        sorted(new, key=lambda name: _hash(seed, name)), counts.total() + 1
    ):
        shares, whole = rule.numbers, sum(rule.numbers)
        part = max(range(len(shares)), key=lambda at: shares[at] * done - whole * counts[at])
        split.class_parts[name] = part
        counts[part] += 1


def _part_by_classes(group: Sequence[LabeledImage], split: Assignment) -> int | None:
    """Return the part of the group's classes; None if they are in several or an image has none."""
    parts = {split.class_parts[name] for image in group for name in image.classes}
    return parts.pop() if len(parts) == 1 and all(image.classes for image in group) else None


def _groups(images: Sequence[LabeledImage]) -> list[list[LabeledImage]]:
    """Return the groups that shared ties join, each in the order of its images' names."""
    parent = list(range(len(images)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[str, int] = {}
    for index, image in enumerate(images):
        for tie in image.ties:
            parent[root(index)] = root(first.setdefault(tie, index))
    groups: dict[int, list[LabeledImage]] = defaultdict(list)
    for index in sorted(range(len(images)), key=lambda index: images[index].name):
        groups[root(index)].append(images[index])
    return list(groups.values())


def _classes(image: LabeledImage) -> frozenset[str]:
    return image.classes or frozenset(("",))


def _rarest(group: Sequence[LabeledImage], totals: Mapping[str, int]) -> str:
    names = {name for image in group for name in _classes(image)}
    return min(names, key=lambda name: (totals[name], name))


def _order(
    group: Sequence[LabeledImage], totals: Mapping[str, int], seed: int
) -> tuple[int, str, int, str]:
    name = _rarest(group, totals)
    # Large groups first: small ones fill what is left.
    return totals[name], name, -len(group), _hash(seed, group[0].name)


def _hash(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()
