"""The order of a long vocabulary for annotators, by the site's class tree."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string


def in_tree_order(vocabulary: Sequence[Any]) -> list[Any]:
    """Return the entries in the order of the tree in ASSAY_CLASS_TREE, each with its path of
    groups.

    Unknown entries stay at the end. Unchanged without a tree, or if an entry has a path.
    """
    path = getattr(settings, "ASSAY_CLASS_TREE", "")
    plain = [entry for entry in vocabulary if _is_entry(entry) and "path" not in entry]
    keys = [entry["key"] for entry in plain]
    if not path or len(keys) < len(vocabulary):
        return list(vocabulary)
    tree: Callable[[Sequence[str]], dict[str, list[str]]] = import_string(path)
    paths = tree(keys)
    places = {key: index for index, key in enumerate(paths)}
    rows = sorted(vocabulary, key=lambda entry: places.get(entry["key"], len(places)))
    return [
        {**entry, "path": paths[entry["key"]]} if entry["key"] in paths else entry for entry in rows
    ]


def with_distinct_names(rows: list[Any]) -> list[Any]:
    """Return the entries; a repeated name is distinguished by its group, else by its key.

    Unchanged if an entry lacks a key or a name.
    """
    if not all(_is_entry(row) and isinstance(row.get("name"), str) for row in rows):
        return rows
    for apart in (lambda row: (row.get("path") or [row["key"]])[-1], lambda row: row["key"]):
        count = Counter(row["name"] for row in rows)
        rows = [
            {**row, "name": f"{row['name']} ({apart(row)})"} if count[row["name"]] > 1 else row
            for row in rows
        ]
    return rows


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("key"), str)
