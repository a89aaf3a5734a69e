"""Does this image contain a/an X? Yes, no, too hard to tell, or not a photograph."""

from collections.abc import Sequence
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.votes import Verdict, checked, offered, plurality

# Of the outline, the same in every kind of plain choices.
from labeling.kinds.votes import grade as grade
from labeling.kinds.votes import is_right as is_right
from labeling.kinds.votes import page_size as page_size

NAME = "contains"
TITLE = "Does the image contain it?"
# (value, label, key): in the order of the page.
CHOICES = (
    ("yes", "Yes", "y"),
    ("no", "No", "n"),
    ("hard", "Too hard to tell", "h"),
    ("not_photo", "Not a photograph", "p"),
)
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
    return offered(CHOICES)


def clean(value: Any, settings: dict[str, Any]) -> str:
    """The answer, if it is one of the four. Raises Refusal."""
    return checked(value, CHOICES)


def vote(value: Any) -> str | None:
    """The choice as a word to count, None for an abstention."""
    return None if value in ABSTENTIONS else str(value)


def tally_name(value: Any) -> str:
    """The word under which exports count this answer, abstentions too."""
    return str(value)


def settle(values: Sequence[Any], policy: dict[str, Any]) -> Verdict:
    """Majority of yes and no among those who could answer; see votes.plurality."""
    return plurality([vote(value) for value in values], policy)
