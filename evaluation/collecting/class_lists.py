"""Check lists of classes for overlaps, classes that cover the image, and classes below the basic
level; suggest replacements. No Django.

Source: Russakovsky et al. (2015), §3.1.1 and §3.3.1.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.basic_level import DEPTH, USES, basic_level, listed_level
from evaluation.metrics.wordnet.information_content import sense_counts
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from labeling.files import BadInput, require_file, text_lines
from labeling.records import Record

# Mean share of the image; a class with a larger share leaves hardly anything else in it.
LARGE = 0.5
# Replacements suggested for a class that goes out.
CANDIDATES = 5
ABOVE, COVERS, MERGED, WITHIN = (
    "above other classes",
    "covers the image",
    "merged into its basic level",
    "within a class of the list",
)
Basic = Callable[[int], int]


@dataclass(frozen=True)
class ClassList:
    """A list of classes from a file. synsets: in its order; lines: of each synset."""

    path: Path
    synsets: list[int]
    lines: dict[int, int]


@dataclass(kw_only=True)
class NamedClass(Record):
    """A class of the list with its line."""

    wnid: str
    name: str
    line: int


@dataclass(kw_only=True)
class Overlap(Record):
    """Two classes of the list of which one is above the other."""

    above: NamedClass
    below: NamedClass
    cure: str


@dataclass(kw_only=True)
class Large(NamedClass):
    """scale: the mean share of the image that an object of the class takes."""

    scale: float


@dataclass(kw_only=True)
class BelowBasic(NamedClass):
    """basic, basic_name: the class to merge it into."""

    basic: str
    basic_name: str


@dataclass(kw_only=True)
class CheckedClasses(Record):
    """The faults of a list. measured: number of classes with a known scale, None without boxes;
    rule: how the basic level is defined.
    """

    classes: int
    ok: bool
    overlaps: list[Overlap]
    large: list[Large]
    below_basic: list[BelowBasic]
    measured: int | None
    rule: str


@dataclass(kw_only=True)
class ClassChange(NamedClass):
    """becomes: the wnid that replaces it, None where it is removed."""

    becomes: str | None
    why: str


@dataclass(kw_only=True)
class SuggestedClass(Record):
    wnid: str
    name: str
    gloss: str
    uses: int


@dataclass(kw_only=True)
class Replaced(NamedClass):
    """Classes that could replace a removed one, the most common first."""

    candidates: list[SuggestedClass]


@dataclass(kw_only=True)
class Suggested(Record):
    """classes: the new list, in the order of the old one."""

    classes: list[str]
    changes: list[ClassChange]
    replacements: list[Replaced]
    rule: str


def read(path: Path, wordnet: WordNet) -> ClassList:
    """Return the classes of a file with one a line: a wnid, dog.n.01 or a lemma of one sense.

    Empty lines, lines that begin with # and anything after a wnid and a blank are ignored. Raises
    BadInput with the line for an unknown or ambiguous label, an instance, and a repeated class.
    """
    require_file(path, "list a class a line")
    lines: dict[int, int] = {}
    for line, text in enumerate(text_lines(path), 1):
        label = text.strip()
        if not label or label.startswith("#"):
            continue
        head = label.split()[0]
        try:
            synset = wordnet.index(head) if head[1:].isdecimal() else wordnet.find(label)
        except UnknownLabel as error:
            cure = "give one of these wnids" if error.candidates else "give a wnid: n02084071"
            raise BadInput(str(error), path, line, cure) from error
        if wordnet.depth[synset] < 0:
            fault = f"{label!r} is an instance, which has nothing below it"
            raise BadInput(fault, path, line, "name a class")
        if synset in lines:
            fault = f"{label!r} is the class of line {lines[synset]}"
            raise BadInput(fault, path, line, "list each class once")
        lines[synset] = line
    if not lines:
        raise BadInput("there are no classes", path, None, "list a class a line")
    return ClassList(path, [*lines], lines)


def rule_of(wordnet: WordNet, basic: ClassList | None) -> tuple[Basic, str]:
    """Return a function that finds the basic level of a class, and the rule in words.

    basic: a list of basic classes; without one they are guessed from WordNet.
    """
    if basic is None:
        words = (
            f"of a class and those above it, from {DEPTH} edges below entity on, the one most used "
            f"in WordNet's tagged texts, {USES} times at least"
        )
        return lambda index: basic_level(wordnet, index), words
    known = frozenset(basic.synsets)
    words = f"the nearest class of {basic.path.name} above it"
    return lambda index: listed_level(wordnet, index, known), words


def check(
    class_list: ClassList,
    wordnet: WordNet,
    rule: tuple[Basic, str],
    scales: Mapping[str, float] | None = None,
    largest: float = LARGE,
) -> CheckedClasses:
    """Return the faults of the list. scales: by wnid, of the classes with boxes; None without
    boxes.
    """
    describe = _namer(class_list, wordnet)
    overlaps = [
        Overlap(above=describe(above), below=describe(below), cure=_cure(wordnet, above))
        for above, below in overlapping(class_list.synsets, wordnet)
    ]
    large = [
        Large(**describe(synset).to_json(), scale=scale)
        for synset, scale in _large(class_list, wordnet, scales, largest)
    ]
    below = []
    for synset in class_list.synsets:
        if (basic := rule[0](synset)) != synset:
            fields = describe(synset).to_json()
            fields |= {"basic": wordnet.wnid(basic), "basic_name": wordnet.name(basic)}
            below.append(BelowBasic(**fields))
    known = {wordnet.wnid(synset) for synset in class_list.synsets}
    return CheckedClasses(
        classes=len(class_list.synsets),
        ok=not (overlaps or large or below),
        overlaps=overlaps,
        large=large,
        below_basic=below,
        measured=None if scales is None else len(known & scales.keys()),
        rule=rule[1],
    )


def overlapping(synsets: Sequence[int], wordnet: WordNet) -> Iterator[tuple[int, int]]:
    """Yield the pairs (above, below) of overlapping classes, in the order of the list."""
    known = set(synsets)
    for below in synsets:
        above = (wordnet.ancestors(below) & known) - {below}
        yield from ((ancestor, below) for ancestor in sorted(above))


def suggest(
    class_list: ClassList,
    wordnet: WordNet,
    rule: tuple[Basic, str],
    scales: Mapping[str, float] | None = None,
    largest: float = LARGE,
) -> Suggested:
    """Return a list without overlaps, classes that cover the image, and classes below the basic
    level.

    Of two overlapping classes, the upper one stays and absorbs the lower if the upper one is deep
    enough to be basic; otherwise the upper one is removed.
    """
    describe = _namer(class_list, wordnet)
    becomes: dict[int, tuple[int | None, str]] = {}
    for synset, _ in _large(class_list, wordnet, scales, largest):
        becomes[synset] = None, COVERS
    for synset in class_list.synsets:
        if synset not in becomes and (basic := rule[0](synset)) != synset:
            becomes[synset] = basic, MERGED
    left = _left(class_list, becomes)
    for above, below in list(overlapping(left, wordnet)):
        if wordnet.depth[above] < DEPTH:
            _go(becomes, above, None, ABOVE)
        else:
            _go(becomes, below, above, WITHIN)
    left = _left(class_list, becomes)
    changes = [
        ClassChange(
            **describe(synset).to_json(),
            becomes=None if goal is None else wordnet.wnid(goal),
            why=why,
        )
        for synset, (goal, why) in sorted(becomes.items(), key=lambda row: class_list.lines[row[0]])
    ]
    gone = {change.wnid for change in changes}
    return Suggested(
        classes=[wordnet.wnid(synset) for synset in left],
        changes=changes,
        replacements=[
            Replaced(
                **{key: getattr(change, key) for key in ("wnid", "name", "line")},
                candidates=_candidates(change, left, wordnet, gone)[:CANDIDATES],
            )
            for change in changes
            if change.becomes is None
        ],
        rule=rule[1],
    )


def _candidates(
    change: ClassChange, left: Sequence[int], wordnet: WordNet, gone: set[str]
) -> list[SuggestedClass]:
    counts = sense_counts(wordnet)
    return [
        SuggestedClass(
            wnid=wordnet.wnid(candidate),
            name=wordnet.name(candidate),
            gloss=wordnet.gloss(candidate),
            uses=int(counts[candidate]),
        )
        for candidate in _in_place(wordnet.index(change.wnid), change.why, left, wordnet, gone)
    ]


def _in_place(
    synset: int, why: str, left: Sequence[int], wordnet: WordNet, gone: set[str]
) -> list[int]:
    """Return synsets that could replace a removed one, the most common first.

    They are its siblings or, for a removed class that is too wide, the basic classes below it. None
    overlaps with a remaining class.
    """
    counts = sense_counts(wordnet)
    if why == ABOVE:
        near = {
            candidate
            for candidate in _below(synset, wordnet)
            if counts[candidate] >= USES
            and wordnet.depth[candidate] >= DEPTH
            and basic_level(wordnet, candidate) == candidate
        }
    else:
        near = {candidate for up in wordnet.hypernyms(synset) for candidate in wordnet.hyponyms(up)}
    known = set(left)
    above_left = {candidate for kept in left for candidate in wordnet.ancestors(kept)}
    fit = [
        candidate
        for candidate in near
        if candidate not in above_left
        and not wordnet.ancestors(candidate) & known
        and wordnet.wnid(candidate) not in gone
        and not wordnet.is_instance(candidate)
    ]
    return sorted(fit, key=lambda candidate: (-counts[candidate], candidate))


def _below(synset: int, wordnet: WordNet) -> set[int]:
    """Return everything below a synset."""
    reached: set[int] = set()
    waiting = [synset]
    while waiting:
        new = [child for child in wordnet.hyponyms(waiting.pop()) if child not in reached]
        reached.update(new)
        waiting += new
    return reached


def _large(
    class_list: ClassList, wordnet: WordNet, scales: Mapping[str, float] | None, largest: float
) -> Iterator[tuple[int, float]]:
    for synset in class_list.synsets:
        scale = (scales or {}).get(wordnet.wnid(synset))
        if scale is not None and scale > largest:
            yield synset, scale


def _left(class_list: ClassList, becomes: Mapping[int, tuple[int | None, str]]) -> list[int]:
    """Return the distinct classes after the changes, in the order of the list.

    A class is at the position of the first one that is merged into it.
    """
    remaining = (becomes.get(synset, (synset, ""))[0] for synset in class_list.synsets)
    return list(dict.fromkeys(synset for synset in remaining if synset is not None))


def _go(
    becomes: dict[int, tuple[int | None, str]], synset: int, goal: int | None, why: str
) -> None:
    """Replace the class, and all classes that became it, by the goal."""
    for earlier, (now, _) in list(becomes.items()):
        if now == synset:
            becomes[earlier] = goal, why
    becomes.setdefault(synset, (goal, why))


def _namer(class_list: ClassList, wordnet: WordNet) -> Callable[[int], NamedClass]:
    def describe(synset: int) -> NamedClass:
        name, line = wordnet.name(synset), class_list.lines[synset]
        return NamedClass(wnid=wordnet.wnid(synset), name=name, line=line)

    return describe


def _cure(wordnet: WordNet, above: int) -> str:
    if wordnet.depth[above] < DEPTH:
        return f"remove {wordnet.name(above)}, which is wide"
    return f"remove the lower one, or {wordnet.name(above)}"
