"""Naming: one class of a vocabulary, none of them, or too hard to tell.

If the settings allow `most` classes, an answer lists them, the most likely first: {"keys": [key,
…]}. It votes for the first; a release adds the ranking of the others (`ranked`). Source:
Russakovsky et al. (2015), §6.4.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.base import CLASS, IMAGES, Answer, ChoiceKind, DrawingContext
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import Verdict
from labeling.sentences import gettext_noop as _

MAX_QUESTION_LENGTH = 80
# Classes per answer; top-5 errors need no more.
MAX_CLASSES = 5


class Naming(ChoiceKind):
    name = "naming"
    picture = "kinds/naming.svg"
    title = _("Image naming")
    heading = _("What does the image show?")
    asks = IMAGES
    release = CLASS
    has_vocabulary = True
    # Beside the classes of the vocabulary.
    options = (("none", _("None of these"), "n"), ("hard", _("Too hard to tell"), "h"))
    abstentions = frozenset({"hard"})

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Return {"vocabulary": [{"key", "name"}, …]} with distinct keys. Raises Refusal.

        Optional: "question" replaces the heading; "most": an answer may list several classes, whose
        entries may then have "path", the groups of the class.
        """
        self.refuse_unknown(settings, ("vocabulary", "question", "most"))
        vocabulary = settings.get("vocabulary")
        if not isinstance(vocabulary, list) or not vocabulary:
            raise Refusal(
                "Give a vocabulary: the list of classes to choose from, each with key and name.",
                field="vocabulary",
            )
        most = _most(settings.get("most"))
        cleaned: dict[str, Mapping[str, object]] = {}
        for number, entry in enumerate(vocabulary, 1):
            row = _entry(entry, number, with_path=bool(most))
            key = str(row["key"])
            if key in cleaned or key in WORDS:
                raise Refusal(
                    f"Class {number} of the vocabulary: the key {key!r} is taken. Keys must "
                    "differ.",
                    field="vocabulary",
                )
            cleaned[key] = row
        words = _question(settings.get("question", ""))
        return {"vocabulary": list(cleaned.values()), **words, **most}

    def answers(self, settings: Mapping[str, Any]) -> list[tuple[Answer, str, str]]:
        classes = self.class_names(settings).items()
        class_answers: list[tuple[Answer, str, str]] = [
            ({"key": key}, name, "") for key, name in classes
        ]
        return class_answers + super().answers(settings)

    def class_names(self, settings: Mapping[str, Any]) -> dict[str, str]:
        return {entry["key"]: entry["name"] for entry in settings.get("vocabulary", ())}

    def question(self, topic: str, settings: Mapping[str, Any]) -> str:
        return str(settings.get("question", "What does this image show?"))

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        """Return {"key": class}, with `most` {"keys": up to as many, each once}, "none" or "hard".

        Raises Refusal.
        """
        if isinstance(value, str) and value in WORDS:
            return value
        most = settings.get("most", 1)
        keys = keys_of(value)
        known = {entry["key"] for entry in settings["vocabulary"]}
        if not keys or not all(isinstance(key, str) and key in known for key in keys):
            raise _bad("choose a class of the list, none or hard")
        if len(set(keys)) < len(keys):
            raise _bad("it names a class twice")
        if len(keys) > most:
            raise _bad(f"it names {len(keys)} classes, and {most} at most are asked for")
        return {"keys": keys} if "most" in settings else {"key": keys[0]}

    def answer_of(self, word: str) -> Answer:
        return word if word in WORDS else {"key": word}

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return (*sorted(self.class_names(settings)), "none")

    @property
    def is_binary(self) -> bool:
        return False

    def tally_name(self, value: Any) -> str:
        return str(keys_of(value)[0]) if isinstance(value, dict) else str(value)

    def in_words(self, value: Any, settings: Mapping[str, Any]) -> str:
        names = self.class_names(settings)
        names_of_value = [names.get(key, key) for key in keys_of(value)]
        return " · ".join(names_of_value) if names_of_value else super().in_words(value, settings)

    def grade(self, value: Any, gold: Any) -> float:
        """Return 1 if one of the classes is a known one, else 0."""
        if isinstance(value, dict) and isinstance(gold, dict):
            return float(not set(keys_of(value)).isdisjoint(keys_of(gold)))
        return float(value == gold)

    def ranked(self, values: Sequence[Any], settled: Any) -> list[str]:
        """Return up to MAX_CLASSES classes of answers that list several.

        The settled class comes first, then those with the most points (MAX_CLASSES for a first
        place, one less for each further), ties by key.
        """
        points: Counter[str] = Counter()
        for value in values:
            if isinstance(value, dict) and "keys" in value:
                points.update({key: MAX_CLASSES - rank for rank, key in enumerate(value["keys"])})
        first = keys_of(settled)[:1]
        others = sorted(points.keys() - set(first), key=lambda key: (-points[key], key))
        return [*first, *others][:MAX_CLASSES] if points else []

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        verdict = super().settle(values, policy)
        if verdict.probability is None:
            return verdict
        return replace(verdict, value=self.answer_of(verdict.value))


WORDS = frozenset(value for value, _, _ in Naming.options)


def _question(words: object) -> dict[str, str]:
    if not isinstance(words, str) or len(words.strip()) > MAX_QUESTION_LENGTH:
        raise Refusal(
            f"The question is text of at most {MAX_QUESTION_LENGTH} characters.", field="question"
        )
    return {"question": words.strip()} if words.strip() else {}


def keys_of(value: object) -> list[Any]:
    """Return the classes in an answer, the most likely first; none for a word or an
    invalid answer.
    """
    if isinstance(value, dict) and set(value) == {"key"}:
        return [value["key"]]
    keys = value["keys"] if isinstance(value, dict) and set(value) == {"keys"} else []
    return keys if isinstance(keys, list) else []


def _most(most: object) -> dict[str, int]:
    most = 1 if most is None else most
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MAX_CLASSES:
        raise Refusal(f"An answer names from 1 to {MAX_CLASSES} classes.", field="most")
    return {"most": most} if most > 1 else {}


def _bad(reason: str) -> Refusal:
    return Refusal(
        f"This is not an answer to the question; {reason}.", field="value", code="bad_value"
    )


def _entry(entry: object, number: int, *, with_path: bool) -> Mapping[str, object]:
    key = entry.get("key") if isinstance(entry, dict) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(key, str) or not isinstance(name, str) or not key or not name:
        raise Refusal(
            f"Class {number} of the vocabulary needs a key and a name, both text.",
            field="vocabulary",
        )
    path = entry.get("path") if with_path and isinstance(entry, dict) else None
    if path is None:
        return {"key": key, "name": name}
    if not isinstance(path, list) or not all(isinstance(group, str) for group in path):
        raise Refusal(
            f"Class {number} of the vocabulary: its path is a list of the names of groups.",
            field="vocabulary",
        )
    return {"key": key, "name": name, "path": path}
