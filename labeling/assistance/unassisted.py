"""Gold is drawn without the model: whoever draws with it is measured by gold."""

from labeling.errors import Refusal
from labeling.parts.joining import is_assisted


def check(answer: object, prefix: str) -> None:
    """Raise Refusal for a drawing that the model had a hand in."""
    if isinstance(answer, dict) and isinstance(answer.get("parts"), dict) and is_assisted(answer):
        raise Refusal(
            f"{prefix} was drawn with the model, and gold is drawn without it. Have a reviewer "
            "correct it, or draw another object on Add gold.",
            field="answer",
        )
