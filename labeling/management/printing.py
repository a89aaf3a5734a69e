"""Prints results in readable form: facts first, then each list of records as a table."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from labeling.records import Payload, plain

# Maximum rows of a table and values of a list; --json prints all.
MAX_PRINTED = 20
HASH = re.compile("[0-9a-f]{64}")
HASH_DIGITS = 12
# Objects with more keys than this have a table of their own.
SMALL = 4


def show(result: Payload) -> str:
    """Return the facts of a result, one a line, then its tables and notes under their names.

    >>> print(show({"images": 2, "error": {"value": 0.5, "interval": [0, 1]}, "notes": ["a b"]}))
    images  2
    error   0.5 (0 to 1)
    <BLANKLINE>
    notes
    - a b
    """
    blocks: dict[str, str] = {}
    parts = [table((title, _inline(value)) for title, value in _facts(plain(result), "", blocks))]
    parts += [f"{title}\n{block}" for title, block in blocks.items()]
    return "\n\n".join(part for part in parts if part)


def _facts(
    values: Mapping[str, Any], above: str, blocks: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    """Yield each fact with its title; rows, texts and large objects become blocks."""
    for key, value in values.items():
        title = f"{above} {key}".strip().replace("_", " ")
        if key == "versions":
            continue
        if value == []:
            yield title, "none"
        elif _is_table(value):
            blocks[title] = _records(value)
        elif _is_text(value):
            blocks[title] = "\n".join(f"- {line}" for line in value)
        elif isinstance(value, list) and isinstance(value[0], list):
            blocks[title] = _cut(value)
        elif isinstance(value, dict) and not _is_estimate(value):
            if len(value) <= SMALL:
                yield from _facts(value, title, blocks)
                continue
            inner: dict[str, str] = {}
            if facts := list(_facts(value, "", inner)):
                blocks[title] = _cut(facts)
            blocks |= {f"{title} {name}": block for name, block in inner.items()}
        else:
            yield title, value


def _is_table(value: Any) -> bool:
    """Return whether the value is a list of objects, or several objects with equal keys."""
    if isinstance(value, list):
        return all(isinstance(item, dict) for item in value)
    if not isinstance(value, dict) or len(value) < 2 or _is_estimate(value):
        return False
    items = list(value.values())
    is_alike = all(isinstance(item, dict) and item.keys() == items[0].keys() for item in items)
    return is_alike and not _is_estimate(items[0])


def _is_text(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, str) and " " in item for item in value)


def _is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"value", "interval"}


def _records(value: Any) -> str:
    """Return objects as rows, or as columns if they have more keys than there are objects."""
    rows = value
    if isinstance(value, dict):
        rows = [{"": name, **item} for name, item in value.items()]
    flat = [dict(_flat(row)) for row in rows]
    heads = list(dict.fromkeys(head for row in flat for head in row))
    if len(heads) > max(8, len(flat)):
        return table([(head, *(_inline(row.get(head)) for row in flat)) for head in heads])
    return _cut([[row.get(head) for head in heads] for row in flat], heads)


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the facts of a record and of objects nested in it, but not its lists of records."""
    for key, value in values.items():
        title = f"{above} {key}".strip().replace("_", " ")
        if isinstance(value, dict) and not _is_estimate(value):
            yield from _flat(value, title)
        elif not (value and isinstance(value, list) and isinstance(value[0], dict)):
            yield title, value


def _cut(rows: Sequence[Sequence[Any]], head: Sequence[str] | None = None) -> str:
    text = table([[_inline(cell) for cell in row] for row in rows[:MAX_PRINTED]], head)
    more = len(rows) - MAX_PRINTED
    return f"{text}\n… {more:,} more with --json" if more > 0 else text


def _inline(value: Any) -> object:
    """Return a cell: a number as it is, an estimate with its interval, a list with commas."""
    if _is_estimate(value):
        interval = value["interval"]
        bounds = f" ({_cell(interval[0])} to {_cell(interval[1])})" if interval else ""
        return f"{_cell(value['value'])}{bounds}"
    if isinstance(value, list):
        more = ", …" if len(value) > MAX_PRINTED else ""
        return ", ".join(str(_cell(_inline(item))) for item in value[:MAX_PRINTED]) + more
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(_inline(item))}" for key, item in value.items())
    if isinstance(value, str) and HASH.fullmatch(value):
        return f"{value[:HASH_DIGITS]}…"
    return value


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] | None = None) -> str:
    """Return rows in aligned columns, numbers to the right.

    >>> print(table([("A", 1.5), ("long name", 20)], head=("classifier", "score")))
    classifier  score
    A             1.5
    long name      20
    """
    body = [tuple(row) for row in rows]
    text = [[_cell(value) for value in row] for row in body]
    lines = ([list(head)] if head else []) + text
    if not lines:
        return ""
    count = max(len(line) for line in lines)
    for line in lines:
        line.extend([""] * (count - len(line)))
    widths = [max(len(line[i]) for line in lines) for i in range(count)]
    right = [
        bool(body) and all(i >= len(row) or isinstance(row[i], int | float) for row in body)
        for i in range(count)
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
