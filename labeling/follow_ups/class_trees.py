"""The order in which people find the classes of a long vocabulary: by the site's class tree."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string


def arranged(vocabulary: Sequence[Any]) -> list[Any]:
    """Return the entries in the order of the tree that the settings name (ASSAY_CLASS_TREE), each
    with the path of groups above it; those that it does not know stay as they are, at the end. A
    name that comes again is told apart by its group, else by its key.

    Without a tree, or where an entry has a path already, nothing is changed.
    """
    path = getattr(settings, "ASSAY_CLASS_TREE", "")
    keys = [entry["key"] for entry in vocabulary if _is_plain(entry)]
    if not path or len(keys) < len(vocabulary):
        return list(vocabulary)
    tree: Callable[[Sequence[str]], dict[str, list[str]]] = import_string(path)
    paths = tree(keys)
    places = {key: index for index, key in enumerate(paths)}
    rows = sorted(vocabulary, key=lambda entry: places.get(entry["key"], len(places)))
    return _named_apart(
        [
            {**entry, "path": paths[entry["key"]]} if entry["key"] in paths else entry
            for entry in rows
        ]
    )


def _named_apart(rows: list[Any]) -> list[Any]:
    for apart in (lambda row: (row.get("path") or [row["key"]])[-1], lambda row: row["key"]):
        count = Counter(row.get("name") for row in rows)
        rows = [
            {**row, "name": f"{row['name']} ({apart(row)})"} if count[row.get("name")] > 1 else row
            for row in rows
        ]
    return rows


def _is_plain(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("key"), str) and "path" not in entry
