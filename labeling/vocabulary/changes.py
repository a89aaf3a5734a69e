"""Differences between versions of a vocabulary. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labeling.vocabulary.types import Category, PartName, PartVocabulary

ORDER = "order"


@dataclass(frozen=True)
class VocabularyChange:
    """One difference.

    kind: added, removed or changed. part: "" for the category itself. category: "" for the
    vocabulary's own fields. field, before, after: of a change.
    """

    kind: str
    category: str = ""
    part: str = ""
    field: str = ""
    before: str = ""
    after: str = ""


def changes(before: PartVocabulary, after: PartVocabulary) -> list[VocabularyChange]:
    """Return all differences in the order of the later version; removals come first."""
    old = {category.key: category for category in before.categories}
    new = {category.key: category for category in after.categories}
    differences = [
        _changed("", "", field, getattr(before, field), getattr(after, field))
        for field in ("title", "source")
        if getattr(before, field) != getattr(after, field)
    ]
    differences += [
        VocabularyChange("removed", category.name)
        for key, category in old.items()
        if key not in new
    ]
    for key, category in new.items():
        if key in old:
            differences += _in_category(old[key], category)
        else:
            differences.append(
                VocabularyChange("added", category.name, after=_listed(category.by_key))
            )
    if [key for key in old if key in new] != [key for key in new if key in old]:
        differences.append(_changed("", "", ORDER, _listed(old), _listed(new)))
    return differences


def count_changes(differences: list[VocabularyChange]) -> dict[str, int]:
    """Return {"added", "removed", "changed"} counts of the changes."""
    counts = dict.fromkeys(("added", "removed", "changed"), 0)
    for change in differences:
        counts[change.kind] += 1
    return counts


def _in_category(before: Category, after: Category) -> Iterator[VocabularyChange]:
    for field in ("name", "aliases", "guidance"):
        if getattr(before, field) != getattr(after, field):
            yield _changed(after.name, "", field, getattr(before, field), getattr(after, field))
    old, new = before.by_key, after.by_key
    yield from (
        VocabularyChange("removed", after.name, part.name)
        for k, part in old.items()
        if k not in new
    )
    for key, part in new.items():
        if key in old:
            yield from _in_part(after.name, old[key], part)
        else:
            yield VocabularyChange("added", after.name, part.name)
    if [key for key in old if key in new] != [key for key in new if key in old]:
        yield _changed(after.name, "", ORDER, _listed(old), _listed(new))


def _in_part(category: str, before: PartName, after: PartName) -> Iterator[VocabularyChange]:
    for field in ("name", "several", "holes", "guidance", "aliases", "merge", "mirror", "holds"):
        if getattr(before, field) != getattr(after, field):
            yield _changed(
                category, after.name, field, getattr(before, field), getattr(after, field)
            )


def _changed(category: str, part: str, field: str, before: Any, after: Any) -> VocabularyChange:
    return VocabularyChange("changed", category, part, field, _as_text(before), _as_text(after))


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_listed(names)}" for key, names in value.items())
    return value if isinstance(value, str) else _listed(value)


def _listed(names: Any) -> str:
    return ", ".join(names)
