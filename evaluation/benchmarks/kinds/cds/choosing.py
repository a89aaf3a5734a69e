"""Settings of a CDS benchmark: chosen, validated and counted. Writes nothing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import RANDOM
from evaluation.metrics.wordnet.similarity import BY, CONVENTIONS
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds.scoring import MEASURES
from evaluation.sequences import part_orders, sequencing
from evaluation.sequences.objects import LeftOutObjects, parts_of
from labeling.errors import Refusal
from labeling.models import Campaign, Release
from labeling.records import to_json
from labeling.release_files.frozen import Frozen

MAX_BOOTSTRAP = 10_000
# Every object has a sequence per order: thousands of orders would overload the site.
MAX_SCHEMES = 50
# Settings of scoring; the other settings of a benchmark say what is revealed.
SCORED_BY = ("measure", "convention", "by", "bootstrap", "seed")
# Most faults that a message lists.
MAX_LISTED = 5

Orders = Mapping[str, Mapping[str, Sequence[str]]]
Classes = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class CdsChoice:
    """The chosen settings.

    orders: scheme → category (wnid) → its parts in order, for every scheme but `random`. mapping:
    category → wnids of the classes that count as right.
    """

    part_schemes: Sequence[str] = (RANDOM,)
    content_schemes: Sequence[str] = CONTENT_SCHEMES
    orders: Orders | None = None
    mapping: Classes | None = None
    seed: int = 0
    include_empty: bool = False
    measure: str = "wup"
    convention: str = "clean"
    by: str = "wnid"
    bootstrap: int = 1000


@dataclass(frozen=True)
class CdsPlan:
    """Counts of a planned benchmark. left_out: objects without a drawn part."""

    release: int
    objects: int
    sequences: int
    frames: int
    left_out: int
    categories: dict[str, str]


def categories_of(frozen: Frozen) -> dict[str, str]:
    """Return category (wnid) → name."""
    categories = frozen.meta["campaign"]["settings"].get("categories", {})
    return {key: category["name"] for key, category in categories.items()}


def parts_asked(campaign: Campaign) -> dict[str, list[str]]:
    """Return category (wnid) → keys of the parts that the campaign asks for; empty for
    other kinds.
    """
    categories = campaign.settings.get("categories", {}).items()
    return {key: [part["key"] for part in category["parts"]] for key, category in categories}


class CountedLines:
    """Iterable of the sequences of a choice that counts them; works once."""

    def __init__(self, frozen: Frozen, choice: CdsChoice) -> None:
        self.choice = choice
        self.names = categories_of(frozen)
        self.orders = _orders(frozen, choice)
        self.left_out = LeftOutObjects()
        self.lines = sequencing.lines_of(
            frozen, self.orders, choice.content_schemes, choice.include_empty, self.left_out
        )
        self.categories: dict[str, str] = {}
        self.sequences = self.frames = 0

    def __iter__(self) -> Iterator[SequenceLine]:
        for line in self.lines:
            self.categories.setdefault(line.category, self.names.get(line.category, ""))
            self.sequences += 1
            # A frame belongs to only one sequence.
            self.frames += len(set(line.frames))
            yield line

    def plan(self, release: Release) -> CdsPlan:
        """Return the counts. Raises Refusal if there are none, or if a class is missing."""
        if not self.sequences:
            raise Refusal(
                f"Release {release.number} has no object with a drawn part. Let people draw some, "
                "or choose another campaign.",
                field="campaign",
            )
        self._check_mapping()
        schemes = len(self.choice.part_schemes) * len(self.choice.content_schemes)
        return CdsPlan(
            release=release.number,
            objects=self.sequences // schemes,
            sequences=self.sequences,
            frames=self.frames,
            left_out=self.left_out.count,
            categories=self.categories,
        )

    def settings(self, release: Release) -> dict[str, object]:
        """Return the benchmark's settings as JSON."""
        made = self.plan(release)
        stated = asdict(self.choice) | {
            "orders": self.orders,
            **{key: getattr(made, key) for key in ("objects", "sequences", "frames", "left_out")},
        }
        plain: dict[str, object] = json.loads(to_json(stated))
        return plain

    def _check_mapping(self) -> None:
        if self.choice.mapping is None:
            return
        lacking = [
            f"{key} ({name})"
            for key, name in self.categories.items()
            if not self.choice.mapping.get(key)
        ]
        if lacking:
            raise Refusal(
                f"The mapping has no class for {', '.join(lacking[:MAX_LISTED])}. "
                "Add a row such as "
                f"{lacking[0].split()[0]},n02084071 for each, or leave the mapping out.",
                field="mapping",
            )


def _orders(frozen: Frozen, choice: CdsChoice) -> part_orders.Orders:
    """Return the orders of the chosen schemes. Raises BadInput if they do not fit."""
    parts = parts_of(frozen)
    orders: dict[str, dict[str, tuple[str, ...]]] = {}
    if choice.orders:
        plain = json.loads(json.dumps(choice.orders))
        orders = part_orders.checked_orders(plain, parts)
    if RANDOM not in orders and RANDOM in choice.part_schemes:
        orders |= part_orders.random_orders(parts, choice.seed)
    return {scheme: orders[scheme] for scheme in choice.part_schemes}


def check(choice: CdsChoice) -> None:
    """Raise Refusal for a choice that is invalid for every release."""
    _check_names("part_schemes", choice.part_schemes, (RANDOM, *(choice.orders or {})))
    _check_names("content_schemes", choice.content_schemes, CONTENT_SCHEMES)
    for field, known in (("measure", MEASURES), ("convention", CONVENTIONS), ("by", BY)):
        if getattr(choice, field) not in known:
            raise Refusal(
                f"{getattr(choice, field)!r} is not one of {', '.join(known)}.", field=field
            )
    if not 0 <= choice.bootstrap <= MAX_BOOTSTRAP:
        raise Refusal(f"Use 0 to {MAX_BOOTSTRAP:,} bootstrap rounds.", field="bootstrap")
    if not 0 <= choice.seed < 2**32:
        raise Refusal("Use a seed from 0 to 4294967295.", field="seed")


def _check_names(field: str, names: Sequence[str], known: Sequence[str]) -> None:
    if not names:
        raise Refusal("Choose at least one.", field=field)
    if len(names) > MAX_SCHEMES:
        raise Refusal(f"Choose at most {MAX_SCHEMES} of them, not {len(names):,}.", field=field)
    for name in names:
        if name not in known:
            cure = ""
            if field == "part_schemes":
                cure = " Upload an order file that has it (manage.py sequences writes orders.json)."
            raise Refusal(f"{name!r} is not one of: {', '.join(known)}.{cure}", field=field)
    if len(set(names)) < len(names):
        raise Refusal("Name each scheme once.", field=field)
