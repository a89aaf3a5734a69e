"""Which of many classes are in the image? Yes or no to a graph of questions, a page of images each.

Its questions are opened by following.py: what a "no" closes is never asked.
"""

from collections.abc import Sequence
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.votes import Verdict, checked, offered, plurality

# Of the outline, the same in every kind of plain choices.
from labeling.kinds.votes import grade as grade
from labeling.kinds.votes import is_right as is_right
from labeling.kinds.votes import page_size as page_size
from labeling.question_graph.ordering import ORDERS
from labeling.question_graph.replaying import MODES

NAME = "hierarchy"
TITLE = "Which of many classes are in the image?"
# A page asks one question about many images.
TOPIC_PAGES = True
# (value, label, key): in the order of the page.
CHOICES = (
    ("yes", "Yes", "y"),
    ("no", "No", "n"),
    ("hard", "Too hard to tell", "h"),
)
ABSTENTIONS = frozenset({"hard"})
SETTINGS: dict[str, tuple[str, ...]] = {"mode": MODES, "order": ORDERS}
WORDS = {
    "safe": "A question below several others is closed when all of them are no",
    "strict": "… when one of them is no, as printed in the paper",
    "breadth": "Everything that may be asked, at once",
    "depth": "One question of an image at a time, the most special first",
    "learned": "One at a time, the one that settles most labels a second",
}


def clean_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """{"mode": "safe" or "strict", "order": "breadth", "depth" or "learned"}. Raises Refusal.

    >>> clean_settings({"order": "learned"})
    {'mode': 'safe', 'order': 'learned'}
    """
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise Refusal(
            f"A campaign of the kind hierarchy has no setting {unknown[0]!r}; it has "
            f"{' and '.join(SETTINGS)}.",
            field="settings",
        )
    cleaned = {}
    for key, words in SETTINGS.items():
        value = settings.get(key, words[0])
        if value not in words:
            raise Refusal(f"{key} is {value!r}; give one of: {', '.join(words)}.", field=key)
        cleaned[key] = value
    return cleaned


def choices(settings: dict[str, Any]) -> list[dict[str, str]]:
    """What the page offers: value, label and key of each."""
    return offered(CHOICES)


def clean(value: Any, settings: dict[str, Any]) -> str:
    """The answer, if it is one of the three. Raises Refusal."""
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
