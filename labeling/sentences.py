"""Translates sentences for packages that do not import Django."""

from collections.abc import Callable

_translate: Callable[[str], str] = str


def translate_with(translate: Callable[[str], str]) -> None:
    """Set the function that translates sentences. Before that, they stay English."""
    global _translate
    _translate = translate


def gettext(sentence: str) -> str:
    return _translate(sentence)


def gettext_noop(sentence: str) -> str:
    """Mark a sentence for translation; it is translated where it is displayed."""
    return sentence
