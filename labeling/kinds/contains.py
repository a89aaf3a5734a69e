"""Does this image contain a/an X? Yes, no, too hard to tell, or not a photograph."""

from collections.abc import Sequence
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.votes import Verdict, plurality

NAME = "contains"
TITLE = "Does the image contain it?"
# (value, label, key): in the order of the page.
CHOICES = (
    ("yes", "Yes", "y"),
    ("no", "No", "n"),
    ("hard", "Too hard to tell", "h"),
    ("not_photo", "Not a photograph", "p"),
)
VALUES = frozenset(value for value, _, _ in CHOICES)
ABSTENTIONS = frozenset({"hard", "not_photo"})


def clean_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, of which this kind has none. Raises Refusal for any."""
    if settings:
        raise Refusal(
            f"A campaign of the kind contains has no setting {sorted(settings)[0]!r}.",
            field="settings",
        )
    return {}


def choices(settings: dict[str, Any]) -> list[dict[str, str]]:
    """What the page offers: value, label and key of each."""
    return [{"value": value, "label": label, "key": key} for value, label, key in CHOICES]


def page_size(policy: dict[str, Any]) -> int:
    return policy["page_size"]


def clean(value: Any, settings: dict[str, Any]) -> str:
    """The answer, if it is one of the four. Raises Refusal."""
    # A list or dict is unhashable, so the type comes first.
    if not isinstance(value, str) or value not in VALUES:
        raise Refusal(
            "This is not an answer to the question; give yes, no, hard or not_photo.",
            field="value",
            code="bad_value",
        )
    return value


def grade(value: Any, gold: Any) -> float:
    """1 for the known answer, 0 for any other: on gold, not being able to tell is a miss."""
    return float(value == gold)


def vote(value: Any) -> str | None:
    """The choice as a word to count, None for an abstention."""
    return None if value in ABSTENTIONS else str(value)


def tally_name(value: Any) -> str:
    """The word under which exports count this answer, abstentions too."""
    return str(value)


def settle(values: Sequence[Any], policy: dict[str, Any]) -> Verdict:
    """Majority of yes and no among those who could answer; see votes.plurality."""
    return plurality([vote(value) for value in values], policy)
