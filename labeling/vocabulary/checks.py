"""Validates the raw content of a vocabulary and reports every fault with its position. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from labeling.vocabulary.types import (
    Category,
    PartName,
    PartVocabulary,
    VocabularyError,
    VocabularyFault,
    folded,
)

KEY = re.compile(r"[a-z0-9_-]{1,64}")
RESERVED = "unlabeled-rest"
MAX_CATEGORIES, MAX_PARTS, MAX_NAMES = 1_000, 200, 200
MAX_TOTAL_PARTS = 5_000
MAX_FAULTS = 200
MAX_NAME_LENGTH, LONGEST_GUIDANCE = 200, 4_000
ABOUT = ("title", "source", "categories")
OF_CATEGORY = ("key", "name", "aliases", "guidance", "like", "parts")
OF_PART = ("key", "name", "several", "holes", "guidance", "aliases", "merge", "mirror", "holds")
Path = tuple[str | int, ...]


def build(raw: Any) -> PartVocabulary:
    """Return the vocabulary of a file's content. Raises VocabularyError with every fault."""
    if not isinstance(raw, Mapping):
        raise VocabularyError("has no keys; write title: and categories:")
    check = _VocabularyCheck()
    check.known(raw, ABOUT, ())
    title = check.text(raw, "title", ()) or "Parts"
    source = check.text(raw, "source", (), LONGEST_GUIDANCE)
    categories = _categories(check, raw)
    check.end()
    return PartVocabulary(title, tuple(category for _, category in categories), source)


def _order(path: Path) -> list[int]:
    """Return the sort key of a fault: the positions of its category and part in the file."""
    return [step for step in path if isinstance(step, int)]


class _VocabularyCheck:
    """Reads fields one by one and collects their faults."""

    def __init__(self) -> None:
        self.faults: list[VocabularyFault] = []
        self.names: dict[Path, str] = {}

    def fault(self, path: Path, message: str) -> None:
        """Add a fault. Raises VocabularyError if there are too many."""
        self.faults.append(VocabularyFault(path, message, position=self._place(path)))
        if len(self.faults) == MAX_FAULTS:
            self.end()

    def end(self) -> None:
        """Raise VocabularyError if there are faults."""
        if self.faults:
            raise VocabularyError(sorted(self.faults, key=lambda fault: _order(fault.path)))

    def _place(self, path: Path) -> str:
        words = []
        for n, noun in ((2, "category"), (4, "part")):
            if len(path) >= n:
                name = self.names.get(path[:n])
                words.append(f"{noun} {int(path[n - 1]) + 1}" + (f" ({name})" if name else ""))
        return ", ".join(words)

    def name(self, path: Path, row: Mapping[Any, Any]) -> None:
        """Store the name of a category or part for messages."""
        title = next((row[k] for k in ("name", "key") if isinstance(row.get(k), str)), "")
        self.names[path] = " ".join(title.split())[:80]

    def known(self, raw: Mapping[Any, Any], keys: Iterable[str], path: Path) -> None:
        for key in raw:
            if key not in keys:
                message = f"{_shown(key)} is not an allowed key; use one of {', '.join(keys)}"
                self.fault((*path, str(key)), message)

    def text(
        self, raw: Mapping[Any, Any], key: str, path: Path, longest: int = MAX_NAME_LENGTH
    ) -> str:
        """Return one line of text, "" if it is missing."""
        return self.line(raw.get(key), (*path, key), key, longest)

    def line(self, value: Any, path: Path, subject: str, longest: int = MAX_NAME_LENGTH) -> str:
        if value is None:
            return ""
        # YAML reads `no` as false and 1e3 as a number.
        if isinstance(value, bool | float) or not isinstance(value, str | int):
            self.fault(path, f"{subject} is {_shown(value)}, no text; put it in quotes")
            return ""
        text = str(value).replace("\0", "").encode("utf-8", "replace").decode()
        text = " ".join(text.split())
        if len(text) > longest:
            self.fault(path, f"{subject} has {len(text):,} characters; at most {longest:,} fit")
            return ""
        return text

    def key(self, raw: Mapping[Any, Any], path: Path, cure: str) -> str:
        key = self.text(raw, "key", path)
        if not key:
            if not any(fault.path == (*path, "key") for fault in self.faults):
                self.fault((*path, "key"), f"has no key; {cure}")
        elif not KEY.fullmatch(key):
            message = (
                f"the key {_shown(key)} has other characters than a-z, 0-9, - and _, or over 64"
            )
            self.fault((*path, "key"), f"{message}; {cure}")
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
        """Return a list of names without duplicates."""
        names_by_folded: dict[str, str] = {}
        for n, value in enumerate(self.rows(raw, key, path, MAX_NAMES)):
            at = (*path, key, n)
            name = self.line(value, at, key)
            if folded(name) in names_by_folded:
                self.fault(at, f"{key} names {_shown(name)} twice; name it once")
            elif name:
                names_by_folded[folded(name)] = name
            elif value is None or not str(value).strip():
                self.fault(at, f"{key} has an empty name; remove it")
        return tuple(names_by_folded.values())


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "keys and values"
    if isinstance(value, list | tuple | set):
        return "a list"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _categories(check: _VocabularyCheck, raw: Mapping[str, Any]) -> list[tuple[Path, Category]]:
    rows = check.rows(raw, "categories", (), MAX_CATEGORIES)
    if not rows and not check.faults:
        check.fault(("categories",), "has no categories; write categories: and a list")
    _check_size(check, [row.get("parts") for row in rows if isinstance(row, Mapping)])
    categories: list[tuple[Path, Category]] = []
    like: dict[Path, str] = {}
    for n, row in enumerate(rows):
        path: Path = ("categories", n)
        if not isinstance(row, Mapping):
            check.fault(path, f"is {_shown(row)}; write key:, name: and parts:")
            continue
        check.name(path, row)
        categories.append((path, _category(check, row, path)))
        like_name = check.text(row, "like", path)
        if like_name and not row.get("parts"):
            like[path] = like_name
    _check_categories(check, categories)
    _check_keys_apart(check, categories)
    made = _borrow(check, categories, like)
    _check_size(check, [category.parts for _, category in made])
    return made


def _check_size(check: _VocabularyCheck, parts: list[Any]) -> None:
    count = sum(len(rows) for rows in parts if isinstance(rows, list | tuple))
    if count > MAX_TOTAL_PARTS:
        message = f"has {count:,} parts in all; at most {MAX_TOTAL_PARTS:,} fit"
        check.fault(("categories",), message)
        # Reading all the same would take a web process seconds.
        check.end()


def _category(check: _VocabularyCheck, row: Mapping[str, Any], path: Path) -> Category:
    check.known(row, OF_CATEGORY, path)
    key = check.key(row, path, "use the wnid, such as n02084071")
    parts = []
    for n, part in enumerate(check.rows(row, "parts", path, MAX_PARTS)):
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
        check.fault((*path, "like"), "has both like and parts; remove one of them")
    return Category(
        key=key,
        name=check.text(row, "name", path) or key,
        parts=tuple(part for _, part in parts),
        aliases=check.lines(row, "aliases", path),
        guidance=check.text(row, "guidance", path, LONGEST_GUIDANCE),
    )


def _check_categories(check: _VocabularyCheck, categories: list[tuple[Path, Category]]) -> None:
    """Check that each name belongs to one category."""
    meant: dict[str, Category] = {}
    for field in ("key", "name", "aliases"):
        for path, category in categories:
            names = getattr(category, field)
            for name in (names,) if isinstance(names, str) else names:
                namesake = meant.setdefault(folded(name), category) if name else category
                if namesake is not category and (field == "key" or category.key != namesake.key):
                    message = f"the name {name} means the category {namesake.name} already"
                    check.fault((*path, field), f"{message}; rename one of them")


def _check_keys_apart(check: _VocabularyCheck, categories: list[tuple[Path, Category]]) -> None:
    """Check that keys of categories and parts differ: a label of an object stores only the key."""
    keys = {category.key for _, category in categories}
    for path, category in categories:
        for n, part in enumerate(category.parts):
            if part.key and part.key in keys:
                message = f"the key {part.key} is also the key of a category; use another key"
                check.fault((*path, "parts", n, "key"), message)


def _borrow(
    check: _VocabularyCheck, categories: list[tuple[Path, Category]], like: dict[Path, str]
) -> list[tuple[Path, Category]]:
    """Return the categories with the parts of the category that they refer to."""
    by_name = {
        folded(name): (path, category)
        for path, category in reversed(categories)
        for name in (category.key, category.name, *category.aliases)
    }
    made = []
    for path, category in categories:
        if path in like:
            other_path, model = by_name.get(folded(like[path]), (None, None))
            if model is None:
                message = (
                    f"is like {_shown(like[path])}, an unknown category; name one of this file"
                )
                check.fault((*path, "like"), message)
            elif other_path in like:
                message = f"is like {model.name}, which lists no parts itself; name one that does"
                check.fault((*path, "like"), message)
            else:
                category = replace(category, parts=model.parts)
        made.append((path, category))
    return made


def _part(check: _VocabularyCheck, row: Mapping[str, Any], path: Path) -> PartName:
    check.known(row, OF_PART, path)
    key = check.key(row, path, "use one such as left-wing")
    if key == "object" or key.startswith(RESERVED):
        check.fault(
            (*path, "key"), f"{key} is reserved for parts that Assay creates; use another key"
        )
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


def _merge(
    check: _VocabularyCheck, row: Mapping[str, Any], path: Path
) -> dict[str, tuple[str, ...]]:
    raw = row.get("merge")
    at = (*path, "merge")
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        check.fault(at, f"merge is {_shown(raw)}; write left: [luleg, llleg]")
        return {}
    if len(raw) > MAX_NAMES:
        check.fault(at, f"merge has {len(raw):,} instances; at most {MAX_NAMES} fit")
        return {}
    merge = {}
    for key in raw:
        instance = check.line(key, at, "an instance of merge")
        names = check.lines(raw, key, at)
        if not instance:
            check.fault(at, "merge has an instance without a name; name it, such as left")
        elif not names and isinstance(raw[key], list | tuple | None):
            check.fault((*at, str(key)), f"merge has no pieces for {instance}; name them")
        merge[instance] = names
    if len(merge) > 1 and not row.get("several"):
        message = f"merge makes {len(merge)} instances; set several: true, or merge them into one"
        check.fault(at, message)
    return merge


def _check_parts(check: _VocabularyCheck, parts: list[tuple[Path, PartName]]) -> None:
    """Check references between the parts of one category."""
    keys: dict[str, PartName] = {}
    for path, part in parts:
        if part.key and part.key in keys:
            check.fault((*path, "key"), f"the key {part.key} occurs twice; rename one of them")
        keys.setdefault(part.key, part)
        _check_itself(check, path, part)
    _check_sources(check, parts)
    _check_mirrors(check, parts, keys)
    _check_holds(check, parts, keys)


def _check_itself(check: _VocabularyCheck, path: Path, part: PartName) -> None:
    for instance, names in part.merge.items():
        for name in names:
            if folded(name) in (folded(part.key), folded(part.name)):
                message = (
                    f"merges into itself: {name} is a piece of {instance}; name the pieces only"
                )
                check.fault((*path, "merge", instance), message)


def _check_sources(check: _VocabularyCheck, parts: list[tuple[Path, PartName]]) -> None:
    """Check that each name belongs to one instance of one part."""
    # Names and keys first, so that a clash is reported at the alias.
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
            namesake, also = meant.setdefault(folded(name), (part, instance))
            if namesake is not part:
                _at_odds(check, path, part, name, namesake)
            elif instance != also and folded(name) not in (folded(part.key), folded(part.name)):
                message = (
                    f"the name {name} is both {_meaning(part, also)} and {_meaning(part, instance)}"
                )
                check.fault((*path, "merge", instance), f"{message}; keep one")


def _at_odds(
    check: _VocabularyCheck, path: Path, part: PartName, name: str, namesake: PartName
) -> None:
    if part.key and part.key == namesake.key:
        return  # The key is there twice, which is reported already.
    field = "aliases" if name in part.aliases else "merge"
    field = "name" if name in (part.key, part.name) else field
    message = f"the name {name} is also a name of the part {namesake.key}; remove it from one of "
    "the two"
    if not any(fault.path == (*path, field) and fault.message == message for fault in check.faults):
        check.fault((*path, field), message)


def _meaning(part: PartName, instance: str) -> str:
    return f"a piece of {instance}" if instance else f"another name of {part.key}"


def _check_mirrors(
    check: _VocabularyCheck, parts: list[tuple[Path, PartName]], keys: dict[str, PartName]
) -> None:
    for path, part in parts:
        if not part.mirror:
            continue
        mirrored = keys.get(part.mirror)
        if mirrored is None:
            message = (
                f"its mirror {part.mirror} is not a part of this category; use the key of a part"
            )
            check.fault((*path, "mirror"), message)
        elif mirrored.mirror not in ("", part.key):
            message = (
                f"mirrors {mirrored.key}, which mirrors {mirrored.mirror}; correct one of the two"
            )
            check.fault((*path, "mirror"), message)


def _check_holds(
    check: _VocabularyCheck, parts: list[tuple[Path, PartName]], keys: dict[str, PartName]
) -> None:
    for path, part in parts:
        for key in part.holds:
            if key == part.key:
                message = f"holds itself; name the parts that may lie on the {part.name}"
                check.fault((*path, "holds"), message)
            elif key not in keys:
                message = (
                    f"it holds {key}, which is not a part of this category; use the key of a part"
                )
                check.fault((*path, "holds"), message)
