"""The rule of a split, as `--by` states it: shares, classes, images per class, or WSOL's three."""

import re
from dataclasses import dataclass
from enum import StrEnum

from evaluation.scoring.wsol.splits import FULL, TEST, WEAK


class Method(StrEnum):
    SHARES = "shares"
    CLASSES = "classes"
    COUNTS = "counts"


NAMES = {2: ("val", "test"), 3: ("train", "val", "test")}
FORMS = "33/67, 80/10/10, class:80/20, per-class:50 or wsol:10,50"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class SplitRule:
    """text: as given. numbers: the shares of the parts, or with COUNTS the images per class of all
    parts but the rest. names: of the parts. rest: index of the part that takes all other
    images.
    """

    text: str
    method: Method
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    rest: int | None = None


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of parts in a text such as "val, test".

    >>> names_of("val, test"), names_of("")
    (('val', 'test'), ())
    """
    return tuple(name.strip() for name in text.split(",")) if text.strip() else ()


def parse(text: str, names: tuple[str, ...] = ()) -> SplitRule:
    """Return the rule. Raises ValueError with a sentence.

    >>> parse("33/67").names, parse("wsol:10,50").numbers
    (('val', 'test'), (10, 50))
    """
    rule = _parsed(text)
    if not names:
        return rule
    if rule.text.startswith("wsol:"):
        raise ValueError(f"the parts of wsol are {', '.join(rule.names)}: give no names")
    if len(names) != len(rule.names) or len(set(names)) != len(names):
        raise ValueError(f"{text} needs {len(rule.names)} different names, as a,b")
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name of a part: use letters, digits, - and _")
    return SplitRule(rule.text, rule.method, rule.numbers, names, rule.rest)


def _parsed(text: str) -> SplitRule:
    kind, _, numbers_text = text.rpartition(":")
    separator = "," if kind == "wsol" else "/"
    cells = numbers_text.split(separator)
    if not all(re.fullmatch("[0-9]{1,9}", cell) for cell in cells):
        raise ValueError(f"{text!r} is not a rule; give {FORMS}")
    numbers = tuple(int(cell) for cell in cells)
    if min(numbers) == 0:
        raise ValueError(f"{text!r} has a part of 0; give {FORMS}")
    match kind, len(numbers):
        case "", count if count in NAMES:
            return SplitRule(text, Method.SHARES, numbers, NAMES[count])
        case "class", count if count in NAMES:
            names = ("train", "test") if count == 2 else NAMES[count]
            return SplitRule(text, Method.CLASSES, numbers, names)
        case "per-class", 1:
            return SplitRule(text, Method.COUNTS, numbers, NAMES[2], rest=1)
        case "wsol", 2:
            return SplitRule(text, Method.COUNTS, numbers, (FULL, TEST, WEAK), rest=2)
    raise ValueError(f"{text!r} is not a rule; give {FORMS}")
