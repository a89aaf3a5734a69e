"""What does this image show? One class of a vocabulary, none of them, or too hard to tell."""

from collections.abc import Mapping, Sequence
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.base import CLASS, IMAGES, About, Answer, ChoiceKind
from labeling.kinds.policies import Policy
from labeling.kinds.votes import Verdict

LONGEST_QUESTION = 80


class Naming(ChoiceKind):
    name = "naming"
    title = "What does the image show?"
    label = "Naming"
    asks = IMAGES
    release = CLASS
    has_vocabulary = True
    # Beside the classes of the vocabulary.
    options = (("none", "None of these", "n"), ("hard", "Too hard to tell", "h"))
    abstentions = frozenset({"hard"})

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """{"vocabulary": [{"key", "name"}, …]} with distinct keys, and "question" where the page
        shall ask in other words. Raises Refusal."""
        self.refuse_unknown(settings, ("vocabulary", "question"))
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
                    f"Class {number} of the vocabulary: the key {key!r} is taken. Keys must "
                    "differ.",
                    field="vocabulary",
                )
            cleaned[key] = {"key": key, "name": name}
        words = _question(settings.get("question", ""))
        return {"vocabulary": list(cleaned.values()), **words}

    def answers(self, settings: Mapping[str, Any]) -> list[tuple[Answer, str, str]]:
        classes = self.class_names(settings).items()
        named: list[tuple[Answer, str, str]] = [({"key": key}, name, "") for key, name in classes]
        return named + super().answers(settings)

    def class_names(self, settings: Mapping[str, Any]) -> dict[str, str]:
        return {entry["key"]: entry["name"] for entry in settings.get("vocabulary", ())}

    def question(self, topic: str, settings: Mapping[str, Any]) -> str:
        return str(settings.get("question", "What does this image show?"))

    def clean(
        self, value: object, settings: Mapping[str, Any], about: About | None = None
    ) -> Answer:
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

    def answer_of(self, word: str) -> Answer:
        return word if word in WORDS else {"key": word}

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return (*sorted(self.class_names(settings)), "none")

    @property
    def is_binary(self) -> bool:
        return False

    def tally_name(self, value: Any) -> str:
        return value["key"] if isinstance(value, dict) else str(value)

    def settle(self, values: Sequence[Any], policy: Policy) -> Verdict:
        verdict = super().settle(values, policy)
        if verdict.state != "settled" or verdict.value == "none":
            return verdict
        return Verdict(verdict.state, {"key": verdict.value}, verdict.probability)


WORDS = frozenset(value for value, _, _ in Naming.options)


def _question(words: object) -> dict[str, str]:
    if not isinstance(words, str) or len(words.strip()) > LONGEST_QUESTION:
        raise Refusal(
            f"The question is text of at most {LONGEST_QUESTION} characters.", field="question"
        )
    return {"question": words.strip()} if words.strip() else {}


def _entry(entry: object, number: int) -> tuple[str, str]:
    key = entry.get("key") if isinstance(entry, dict) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(key, str) or not isinstance(name, str) or not key or not name:
        raise Refusal(
            f"Class {number} of the vocabulary needs a key and a name, both text.",
            field="vocabulary",
        )
    return key, name
