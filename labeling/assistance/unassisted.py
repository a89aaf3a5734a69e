"""Gold must be drawn without the model, because it measures those who draw with it."""

from labeling.errors import Refusal
from labeling.parts.joining import is_assisted


def check(answer: object, prefix: str) -> None:
    """Raise Refusal for a drawing in which the model took part."""
    if isinstance(answer, dict) and isinstance(answer.get("parts"), dict) and is_assisted(answer):
        raise Refusal(
            f"{prefix} was drawn with the model, and gold is drawn without it. Have a reviewer "
            "correct it, or draw another object on Add gold.",
            field="answer",
        )
