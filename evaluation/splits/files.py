"""The folder of a split: split.json and a list of images for each part."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.splits.assigning import Assignment, LabeledImage, assign
from evaluation.splits.rules import NAME, SplitRule, parse
from evaluation.splits.sources import SplitSource
from labeling.csv_rows import nfc
from labeling.files import BadInput, atomic_write, file_sha256
from labeling.records import Record

FORMAT = "assay-split"
HEAD = "split.json"
SPLIT_AGAIN = "give the folder that split wrote, or split again"


@dataclass(kw_only=True)
class PartCounts(Record):
    images: int
    classes: dict[str, int]


@dataclass(kw_only=True)
class SplitHead(Record):
    """The content of split.json.

    method: the rule as --by states it. sha256: of the input. lists: SHA-256 of the list of each
    part. class_parts: the part of each class, where classes are split. together: number of groups
    of several images that were kept together. left_out: images that fit no part. sealed: the part
    whose truth is hidden on the site. extends: the SHA-256 of the split.json that this one extends.
    """

    format: str = FORMAT
    seed: int
    method: str
    sha256: str
    counts: dict[str, PartCounts]
    lists: dict[str, str]
    together: int
    left_out: list[str]
    class_parts: dict[str, str] | None = None
    sealed: str | None = None
    extends: str | None = None
    notes: list[str] = field(default_factory=list)

    def rule(self) -> SplitRule:
        return parse_names(self.method, tuple(self.counts))


def parse_names(method: str, names: tuple[str, ...]) -> SplitRule:
    """Return the rule with these part names. parse refuses names for wsol, which has its own."""
    rule = parse(method)
    return rule if rule.names == names else parse(method, names)


@dataclass(frozen=True)
class EarlierSplit:
    """A split that is extended."""

    head: SplitHead
    assignment: Assignment
    sha256: str


def make(
    source: SplitSource,
    rule: SplitRule,
    seed: int,
    seal: bool = False,
    earlier: EarlierSplit | None = None,
) -> tuple[SplitHead, dict[str, str]]:
    """Return split.json and the text of each part's list.

    Raises BadInput if the split to extend has another rule or seed.
    """
    if earlier and (earlier.head.method, earlier.head.seed) != (rule.text, seed):
        fault = f"was made by {earlier.head.method} with seed {earlier.head.seed}"
        raise BadInput(fault, HEAD, None, "extend it by the same rule and seed")
    split = assign(source.images, rule, seed, earlier.assignment if earlier else None)
    counts = _counts(source.images, rule, split)
    notes = [*source.notes, *_notes(source.images, rule, split, counts)]
    lists = dict.fromkeys(rule.names, "")
    names: dict[int, list[str]] = {part: [] for part in range(len(rule.names))}
    for name, part in split.part_of.items():
        names[part].append(name)
    for part, part_names in names.items():
        lists[rule.names[part]] = "".join(f"{name}\n" for name in sorted(part_names))
    head = SplitHead(
        seed=seed,
        method=rule.text,
        sha256=source.sha256,
        counts=counts,
        lists={name: hashlib.sha256(text.encode()).hexdigest() for name, text in lists.items()},
        together=split.together,
        left_out=sorted(split.left_out),
        class_parts={name: rule.names[part] for name, part in split.class_parts.items()} or None,
        sealed=rule.names[-1] if seal else None,
        extends=earlier.sha256 if earlier else None,
        notes=notes,
    )
    return head, lists


def write(folder: Path, head: SplitHead, lists: dict[str, str]) -> None:
    """Write the lists, then split.json. Raises BadInput for a folder that has a split."""
    if (folder / HEAD).exists():
        raise BadInput("there is a split here", folder, None, "give another folder as --out")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in lists.items():
        with atomic_write(folder / f"{name}.txt") as file:
            file.write(text)
    with atomic_write(folder / HEAD) as file:
        file.write(json.dumps(head.to_json(), ensure_ascii=False, indent=1) + "\n")


def read(path: Path) -> EarlierSplit:
    """Return a split from its split.json, after checking the lists beside it. Raises BadInput."""
    head = _head(path)
    try:
        rule = head.rule()
        class_parts = head.class_parts or {}
        split = Assignment(
            class_parts={name: rule.names.index(part) for name, part in class_parts.items()}
        )
    except (ValueError, AttributeError):
        raise BadInput("was not written by split", path, None, SPLIT_AGAIN) from None
    for number, name in enumerate(rule.names):
        split.part_of |= dict.fromkeys(_images(path.parent, head, name), number)
    return EarlierSplit(head, split, file_sha256(path))


def read_part(text: str) -> frozenset[str]:
    """Return the images of DIR:PART, normalized to NFC. Raises BadInput."""
    folder, colon, name = text.rpartition(":")
    if not colon:
        raise BadInput(f"{text!r} is not DIR:PART", None, None, "give a split's folder and a part")
    head = _head(Path(folder, HEAD))
    if name not in head.lists:
        cure = f"its parts are {', '.join(head.lists)}"
        raise BadInput(f"has no part {name!r}", folder, None, cure)
    return frozenset(map(nfc, _images(Path(folder), head, name)))


def _head(path: Path) -> SplitHead:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or not all(map(NAME.fullmatch, content["lists"])):
            raise ValueError
        return SplitHead.from_json(content)
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput("there is no split here", path, None, SPLIT_AGAIN) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadInput("was not written by split", path, None, SPLIT_AGAIN) from None


def _images(folder: Path, head: SplitHead, name: str) -> list[str]:
    path = folder / f"{name}.txt"
    if not path.is_file():
        raise BadInput("the list of this part is missing", path, None, SPLIT_AGAIN)
    if file_sha256(path) != head.lists.get(name):
        raise BadInput("was changed after the split was made", path, None, SPLIT_AGAIN)
    # A name may hold what splitlines() takes for the end of a line, or begin with U+FEFF.
    return path.read_bytes().decode(errors="replace").split("\n")[:-1]


def _counts(
    images: Iterable[LabeledImage], rule: SplitRule, split: Assignment
) -> dict[str, PartCounts]:
    by_part: dict[int, Counter[str]] = {part: Counter() for part in range(len(rule.names))}
    total = Counter(split.part_of.values())
    for image in images:
        if image.name in split.part_of:
            by_part[split.part_of[image.name]].update(image.classes)
    return {
        name: PartCounts(images=total[part], classes=dict(sorted(by_part[part].items())))
        for part, name in enumerate(rule.names)
    }


def _notes(
    images: Iterable[LabeledImage],
    rule: SplitRule,
    split: Assignment,
    counts: Mapping[str, PartCounts],
) -> Iterable[str]:
    names = {image.name for image in images}
    if gone := sum(name not in names for name in split.part_of):
        yield f"images of the earlier split that are missing here: {gone}; they keep their part"
    if split.bridges:
        yield (
            f"new images whose near-duplicates or sources are in several parts: "
            f"{split.bridges}; each is in the part of the first"
        )
    if split.left_out:
        yield f"images left out because their classes are in several parts: {len(split.left_out)}"
    if rule.rest is not None:
        classes = {wnid for part in counts.values() for wnid in part.classes}
        for number, name in zip(rule.numbers, rule.names, strict=False):
            few = sum(counts[name].classes.get(wnid, 0) < number for wnid in classes)
            if few:
                yield f"classes with fewer than {number} images in {name}: {few} of {len(classes)}"
