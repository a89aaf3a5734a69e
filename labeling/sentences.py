"""Translated sentences for packages without Django."""

from collections.abc import Callable

_translate: Callable[[str], str] = str


def translate_with(translate: Callable[[str], str]) -> None:
    """Set the site's translator; until then, sentences stay English."""
    global _translate
    _translate = translate


def gettext(sentence: str) -> str:
    return _translate(sentence)


def gettext_noop(sentence: str) -> str:
    """Mark a sentence that is translated later."""
    return sentence
