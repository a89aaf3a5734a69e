"""A vocabulary's raw content made into the checked one: every fault with its place. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from labeling.vocabulary.types import Category, Fault, PartName, Vocabulary, VocabularyError, folded

KEY = re.compile(r"[a-z0-9_-]{1,64}")
RESERVED = "unlabeled-rest"
MOST_CATEGORIES, MOST_PARTS, MOST_NAMES = 1_000, 200, 200
MOST_PARTS_IN_ALL = 5_000
MOST_FAULTS = 200
LONGEST_NAME, LONGEST_GUIDANCE = 200, 4_000
ABOUT = ("title", "source", "categories")
OF_CATEGORY = ("key", "name", "aliases", "guidance", "like", "parts")
OF_PART = ("key", "name", "several", "holes", "guidance", "aliases", "merge", "mirror", "holds")
Path = tuple[str | int, ...]


def build(raw: Any) -> Vocabulary:
    """The vocabulary of a file's content. Raises VocabularyError with every fault and its place."""
    if not isinstance(raw, Mapping):
        raise VocabularyError("holds no keys; write title: and categories:")
    check = _Check()
    check.known(raw, ABOUT, ())
    title = check.text(raw, "title", ()) or "Parts"
    source = check.text(raw, "source", (), LONGEST_GUIDANCE)
    categories = _categories(check, raw)
    check.end()
    return Vocabulary(title, tuple(category for _, category in categories), source)


def _order(path: Path) -> list[int]:
    """Faults in the order of the categories and parts of the file."""
    return [step for step in path if isinstance(step, int)]


class _Check:
    """Reads fields one by one and gathers what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.names: dict[Path, str] = {}

    def fault(self, path: Path, said: str) -> None:
        """Raises VocabularyError where there are so many already that more help nobody."""
        self.faults.append(Fault(path, said, place=self._place(path)))
        if len(self.faults) == MOST_FAULTS:
            self.end()

    def end(self) -> None:
        """Raises VocabularyError where there is a fault."""
        if self.faults:
            raise VocabularyError(sorted(self.faults, key=lambda fault: _order(fault.path)))

    def _place(self, path: Path) -> str:
        words = []
        for n, what in ((2, "category"), (4, "part")):
            if len(path) >= n:
                name = self.names.get(path[:n])
                words.append(f"{what} {int(path[n - 1]) + 1}" + (f" ({name})" if name else ""))
        return ", ".join(words)

    def name(self, path: Path, row: Mapping[Any, Any]) -> None:
        """What to call a category or a part where it is at fault."""
        said = next((row[k] for k in ("name", "key") if isinstance(row.get(k), str)), "")
        self.names[path] = " ".join(said.split())[:80]

    def known(self, raw: Mapping[Any, Any], keys: Iterable[str], path: Path) -> None:
        for key in raw:
            if key not in keys:
                said = f"{_shown(key)} is no key here; write one of {', '.join(keys)}"
                self.fault((*path, str(key)), said)

    def text(
        self, raw: Mapping[Any, Any], key: str, path: Path, longest: int = LONGEST_NAME
    ) -> str:
        """One line of text, "" where there is none."""
        return self.line(raw.get(key), (*path, key), key, longest)

    def line(self, value: Any, path: Path, what: str, longest: int = LONGEST_NAME) -> str:
        if value is None:
            return ""
        # YAML reads `no` as false and 1e3 as a number.
        if isinstance(value, bool | float) or not isinstance(value, str | int):
            self.fault(path, f"{what} is {_shown(value)}, no text; put it in quotes")
            return ""
        said = str(value).replace("\0", "").encode("utf-8", "replace").decode()
        said = " ".join(said.split())
        if len(said) > longest:
            self.fault(path, f"{what} has {len(said):,} characters; at most {longest:,} fit")
            return ""
        return said

    def key(self, raw: Mapping[Any, Any], path: Path, cure: str) -> str:
        key = self.text(raw, "key", path)
        if not key:
            if not any(fault.path == (*path, "key") for fault in self.faults):
                self.fault((*path, "key"), f"has no key; {cure}")
        elif not KEY.fullmatch(key):
            said = f"the key {_shown(key)} has other characters than a-z, 0-9, - and _, or over 64"
            self.fault((*path, "key"), f"{said}; {cure}")
            return ""
        return key

    def yes(self, raw: Mapping[Any, Any], key: str, path: Path) -> bool:
        value = raw.get(key)
        if value is not None and not isinstance(value, bool):
            self.fault((*path, key), f"{key} is {_shown(value)}; write true or false")
        return value is True

    def rows(self, raw: Mapping[Any, Any], key: str, path: Path, most: int) -> list[Any]:
        value = raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.fault((*path, key), f"{key} is {_shown(value)}, no list; write [one, two]")
            return []
        if len(value) > most:
            self.fault((*path, key), f"{key} lists {len(value):,}; at most {most:,} fit")
        return list(value[:most])

    def lines(self, raw: Mapping[Any, Any], key: str, path: Path) -> tuple[str, ...]:
        """A list of names, each once."""
        found: dict[str, str] = {}
        for n, value in enumerate(self.rows(raw, key, path, MOST_NAMES)):
            at = (*path, key, n)
            name = self.line(value, at, key)
            if folded(name) in found:
                self.fault(at, f"{key} names {_shown(name)} twice; name it once")
            elif name:
                found[folded(name)] = name
            elif value is None or not str(value).strip():
                self.fault(at, f"{key} holds an empty name; take it out")
        return tuple(found.values())


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "keys and values"
    if isinstance(value, list | tuple | set):
        return "a list"
    said = repr(value)
    return said if len(said) <= 80 else f"{said[:79]}…"


def _categories(check: _Check, raw: Mapping[str, Any]) -> list[tuple[Path, Category]]:
    rows = check.rows(raw, "categories", (), MOST_CATEGORIES)
    if not rows and not check.faults:
        check.fault(("categories",), "has no categories; write categories: and a list")
    _check_size(check, [row.get("parts") for row in rows if isinstance(row, Mapping)])
    found: list[tuple[Path, Category]] = []
    like: dict[Path, str] = {}
    for n, row in enumerate(rows):
        path: Path = ("categories", n)
        if not isinstance(row, Mapping):
            check.fault(path, f"is {_shown(row)}; write key:, name: and parts:")
            continue
        check.name(path, row)
        found.append((path, _category(check, row, path)))
        said = check.text(row, "like", path)
        if said and not row.get("parts"):
            like[path] = said
    _check_categories(check, found)
    _check_keys_apart(check, found)
    made = _borrow(check, found, like)
    _check_size(check, [category.parts for _, category in made])
    return made


def _check_size(check: _Check, parts: list[Any]) -> None:
    count = sum(len(rows) for rows in parts if isinstance(rows, list | tuple))
    if count > MOST_PARTS_IN_ALL:
        said = f"has {count:,} parts in all; at most {MOST_PARTS_IN_ALL:,} fit"
        check.fault(("categories",), said)
        # Reading all the same would take a web process seconds.
        check.end()


def _category(check: _Check, row: Mapping[str, Any], path: Path) -> Category:
    check.known(row, OF_CATEGORY, path)
    key = check.key(row, path, "give the wnid, such as n02084071")
    parts = []
    for n, part in enumerate(check.rows(row, "parts", path, MOST_PARTS)):
        at = (*path, "parts", n)
        if not isinstance(part, Mapping):
            check.fault(at, f"is {_shown(part)}; write key: head")
            continue
        check.name(at, part)
        parts.append((at, _part(check, part, at)))
    _check_parts(check, parts)
    if not row.get("parts") and not row.get("like"):
        check.fault((*path, "parts"), "has no parts; list them, or name a category it is like")
    elif row.get("parts") and row.get("like"):
        check.fault((*path, "like"), "says both like and parts; keep one of them")
    return Category(
        key=key,
        name=check.text(row, "name", path) or key,
        parts=tuple(part for _, part in parts),
        aliases=check.lines(row, "aliases", path),
        guidance=check.text(row, "guidance", path, LONGEST_GUIDANCE),
    )


def _check_categories(check: _Check, found: list[tuple[Path, Category]]) -> None:
    """One name means one category."""
    meant: dict[str, Category] = {}
    for field in ("key", "name", "aliases"):
        for path, category in found:
            names = getattr(category, field)
            for name in (names,) if isinstance(names, str) else names:
                other = meant.setdefault(folded(name), category) if name else category
                if other is not category and (field == "key" or category.key != other.key):
                    said = f"the name {name} means the category {other.name} already"
                    check.fault((*path, field), f"{said}; rename one of them")


def _check_keys_apart(check: _Check, found: list[tuple[Path, Category]]) -> None:
    """An object's labels are told by their keys alone: its category's from those of its parts."""
    keys = {category.key for _, category in found}
    for path, category in found:
        for n, part in enumerate(category.parts):
            if part.key and part.key in keys:
                said = f"the key {part.key} is that of a category; take another key"
                check.fault((*path, "parts", n, "key"), said)


def _borrow(
    check: _Check, found: list[tuple[Path, Category]], like: dict[Path, str]
) -> list[tuple[Path, Category]]:
    """The categories, with the parts of another where they say that they are like it."""
    named = {
        folded(name): (path, category)
        for path, category in reversed(found)
        for name in (category.key, category.name, *category.aliases)
    }
    made = []
    for path, category in found:
        if path in like:
            other_path, other = named.get(folded(like[path]), (None, None))
            if other is None:
                said = f"is like {_shown(like[path])}, an unknown category; name one of this file"
                check.fault((*path, "like"), said)
            elif other_path in like:
                said = f"is like {other.name}, which lists no parts itself; name one that does"
                check.fault((*path, "like"), said)
            else:
                category = replace(category, parts=other.parts)
        made.append((path, category))
    return made


def _part(check: _Check, row: Mapping[str, Any], path: Path) -> PartName:
    check.known(row, OF_PART, path)
    key = check.key(row, path, "give one such as left-wing")
    if key == "object" or key.startswith(RESERVED):
        check.fault((*path, "key"), f"{key} is kept for what Assay makes itself; take another key")
    return PartName(
        key=key,
        name=check.text(row, "name", path) or key.replace("-", " ").replace("_", " "),
        several=check.yes(row, "several", path),
        holes=check.yes(row, "holes", path),
        guidance=check.text(row, "guidance", path, LONGEST_GUIDANCE),
        aliases=check.lines(row, "aliases", path),
        merge=_merge(check, row, path),
        mirror=check.text(row, "mirror", path),
        holds=check.lines(row, "holds", path),
    )


def _merge(check: _Check, row: Mapping[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    raw = row.get("merge")
    at = (*path, "merge")
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        check.fault(at, f"merge is {_shown(raw)}; write left: [luleg, llleg]")
        return {}
    if len(raw) > MOST_NAMES:
        check.fault(at, f"merge has {len(raw):,} instances; at most {MOST_NAMES} fit")
        return {}
    merge = {}
    for key in raw:
        instance = check.line(key, at, "an instance of merge")
        names = check.lines(raw, key, at)
        if not instance:
            check.fault(at, "merge has an instance without a name; call it left, say")
        elif not names and isinstance(raw[key], list | tuple | None):
            check.fault((*at, str(key)), f"merge has no pieces for {instance}; name them")
        merge[instance] = names
    if len(merge) > 1 and not row.get("several"):
        said = f"merge makes {len(merge)} instances; say several: true, or make one of them"
        check.fault(at, said)
    return merge


def _check_parts(check: _Check, parts: list[tuple[Path, PartName]]) -> None:
    """What is wrong between the parts of one category."""
    keys: dict[str, PartName] = {}
    for path, part in parts:
        if part.key and part.key in keys:
            check.fault((*path, "key"), f"the key {part.key} is there twice; rename one of them")
        keys.setdefault(part.key, part)
        _check_itself(check, path, part)
    _check_sources(check, parts)
    _check_mirrors(check, parts, keys)
    _check_holds(check, parts, keys)


def _check_itself(check: _Check, path: Path, part: PartName) -> None:
    for instance, names in part.merge.items():
        for name in names:
            if folded(name) in (folded(part.key), folded(part.name)):
                said = f"merges into itself: {name} is a piece of {instance}; name the pieces only"
                check.fault((*path, "merge", instance), said)


def _check_sources(check: _Check, parts: list[tuple[Path, PartName]]) -> None:
    """One name means one part, and one instance of it."""
    # First what the parts are called: another's alias is then what is at fault.
    meant = {
        folded(name): (part, "")
        for _, part in reversed(parts)
        for name in (part.name, part.key)
        if name
    }
    for path, part in parts:
        for name, instance in part.sources():
            if not name:
                continue
            other, also = meant.setdefault(folded(name), (part, instance))
            if other is not part:
                _at_odds(check, path, part, name, other)
            elif instance != also and folded(name) not in (folded(part.key), folded(part.name)):
                said = (
                    f"the name {name} is both {_meaning(part, also)} and {_meaning(part, instance)}"
                )
                check.fault((*path, "merge", instance), f"{said}; keep one")


def _at_odds(check: _Check, path: Path, part: PartName, name: str, other: PartName) -> None:
    if part.key and part.key == other.key:
        return  # The key is there twice, which is said already.
    field = "aliases" if name in part.aliases else "merge"
    field = "name" if name in (part.key, part.name) else field
    said = f"the name {name} means the part {other.key} already; give it to one of the two"
    if not any(fault.path == (*path, field) and fault.said == said for fault in check.faults):
        check.fault((*path, field), said)


def _meaning(part: PartName, instance: str) -> str:
    return f"a piece of {instance}" if instance else f"another name of {part.key}"


def _check_mirrors(
    check: _Check, parts: list[tuple[Path, PartName]], keys: dict[str, PartName]
) -> None:
    for path, part in parts:
        if not part.mirror:
            continue
        other = keys.get(part.mirror)
        if other is None:
            said = f"its mirror {part.mirror} is no part of this category; name a part's key"
            check.fault((*path, "mirror"), said)
        elif other.mirror not in ("", part.key):
            said = f"mirrors {other.key}, which mirrors {other.mirror}; make the two agree"
            check.fault((*path, "mirror"), said)


def _check_holds(
    check: _Check, parts: list[tuple[Path, PartName]], keys: dict[str, PartName]
) -> None:
    for path, part in parts:
        for key in part.holds:
            if key == part.key:
                said = f"holds itself; name the parts that may lie on the {part.name}"
                check.fault((*path, "holds"), said)
            elif key not in keys:
                said = f"it holds {key}, no part of this category; name a part's key"
                check.fault((*path, "holds"), said)
