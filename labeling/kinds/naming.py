"""What does this image show? One class of a vocabulary, none of them, or too hard to tell."""

from collections.abc import Sequence
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.votes import Verdict, offered, plurality

# Of the outline, the same in every kind of plain choices.
from labeling.kinds.votes import grade as grade
from labeling.kinds.votes import is_right as is_right
from labeling.kinds.votes import page_size as page_size

NAME = "naming"
TITLE = "What does the image show?"
CHOICES = (("none", "None of these", "n"), ("hard", "Too hard to tell", "h"))
WORDS = frozenset(value for value, _, _ in CHOICES)
ABSTENTIONS = frozenset({"hard"})
LONGEST_QUESTION = 80


def clean_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """{"vocabulary": [{"key", "name"}, …]} with distinct keys, and "question" where the page shall
    ask in other words. Raises Refusal."""
    if unknown := sorted(set(settings) - {"vocabulary", "question"}):
        raise Refusal(
            f"A campaign of the kind naming has no setting {unknown[0]!r}.", field="settings"
        )
    vocabulary = settings.get("vocabulary")
    if not isinstance(vocabulary, list) or not vocabulary:
        raise Refusal(
            "Give a vocabulary: the list of classes to choose from, each with key and name.",
            field="vocabulary",
        )
    cleaned: dict[str, dict[str, str]] = {}
    for number, entry in enumerate(vocabulary, 1):
        key, name = _entry(entry, number)
        if key in cleaned or key in WORDS:
            raise Refusal(
                f"Class {number} of the vocabulary: the key {key!r} is taken. Keys must differ.",
                field="vocabulary",
            )
        cleaned[key] = {"key": key, "name": name}
    return {"vocabulary": list(cleaned.values())} | _question(settings.get("question", ""))


def _question(words: Any) -> dict[str, str]:
    if not isinstance(words, str) or len(words.strip()) > LONGEST_QUESTION:
        raise Refusal(
            f"The question is text of at most {LONGEST_QUESTION} characters.", field="question"
        )
    return {"question": words.strip()} if words.strip() else {}


def _entry(entry: Any, number: int) -> tuple[str, str]:
    key = entry.get("key") if isinstance(entry, dict) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(key, str) or not isinstance(name, str) or not key or not name:
        raise Refusal(
            f"Class {number} of the vocabulary needs a key and a name, both text.",
            field="vocabulary",
        )
    return key, name


def choices(settings: dict[str, Any]) -> list[dict[str, str]]:
    """What the page offers beside the searchable vocabulary."""
    return offered(CHOICES)


def clean(value: Any, settings: dict[str, Any]) -> str | dict[str, str]:
    """{"key": a class of the vocabulary}, "none" or "hard". Raises Refusal."""
    if isinstance(value, str) and value in WORDS:
        return value
    key = value.get("key") if isinstance(value, dict) and set(value) == {"key"} else None
    if isinstance(key, str) and any(key == entry["key"] for entry in settings["vocabulary"]):
        return {"key": key}
    raise Refusal(
        "This is not an answer to the question; choose a class of the list, none or hard.",
        field="value",
        code="bad_value",
    )


def vote(value: Any) -> str | None:
    """The key of the class (or none) as a word to count, None for an abstention."""
    word = tally_name(value)
    return None if word in ABSTENTIONS else word


def classes(settings: dict[str, Any]) -> tuple[str, ...]:
    """The words that votes count for: every class of the vocabulary, and none."""
    return (*sorted(entry["key"] for entry in settings["vocabulary"]), "none")


def tally_name(value: Any) -> str:
    """The word under which exports count this answer, abstentions too."""
    return value["key"] if isinstance(value, dict) else str(value)


def settle(values: Sequence[Any], policy: dict[str, Any]) -> Verdict:
    """The class that more people named than any other; see votes.plurality."""
    verdict = plurality([vote(value) for value in values], policy)
    if verdict.state != "settled" or verdict.value == "none":
        return verdict
    return Verdict(verdict.state, {"key": verdict.value}, verdict.probability)
