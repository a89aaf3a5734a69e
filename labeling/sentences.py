"""Sentences in the language of the page, for packages that do without Django."""

from collections.abc import Callable

_translate: Callable[[str], str] = str


def translate_with(translate: Callable[[str], str]) -> None:
    """Take the translator of the site; before that, sentences stay English."""
    global _translate
    _translate = translate


def gettext(sentence: str) -> str:
    return _translate(sentence)


def gettext_noop(sentence: str) -> str:
    """Marks a sentence that is translated where it is said."""
    return sentence
