"""locale/ is complete, correct, and what deploy/messages.py makes of the sources."""

import re
from string import Formatter

import pytest
from babel.messages.catalog import Message
from django.conf import settings

from deploy import messages

CATALOGS = [(language, domain) for language in messages.LANGUAGES for domain in messages.DOMAINS]


def texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def keys(catalog) -> set[tuple[str | None, tuple[str, ...]]]:
    return {(message.context, texts(message.id)) for message in catalog if message.id}


def placeholders(text: str) -> set[str]:
    """Names and tags that a sentence carries: they are the same in every language."""
    # Other languages have no article: the question is worded without it.
    text = re.sub(r"(<span data-article>)?%\(article\)s(</span>)? ?", "", text)
    return set(re.findall(r"%\(\w+\)[sd]|</?[a-z]+[^>]*", text)) | {
        f"{{{name}}}" for _, name, _, _ in Formatter().parse(_braces(text)) if name is not None
    }


def _braces(text: str) -> str:
    return "".join(re.findall(r"\{\w*\}", text))


def test_every_language_of_the_site_has_catalogs():
    offered = {code for code, _ in settings.LANGUAGES} - {settings.LANGUAGE_CODE}

    assert offered == set(messages.LANGUAGES)


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_every_sentence_is_translated(language, domain):
    assert messages.untranslated(messages.read(language, domain)) == []


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_catalogs_have_the_sentences_of_the_sources(language, domain):
    """`make messages` adds what is missing, and drops what is gone."""
    assert keys(messages.read(language, domain)) == keys(messages.extracted(domain))


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_translations_have_the_placeholders_of_their_sentence(language, domain):
    wrong = [
        (message.id, string)
        for message in messages.read(language, domain)
        if message.id
        for string in texts(message.string)
        if placeholders(string) not in [placeholders(text) for text in texts(message.id)]
    ]

    assert wrong == []


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_compiled_files_are_those_of_the_translations(language, domain):
    compiled = messages.po_file(language, domain).with_suffix(".mo").read_bytes()

    assert compiled == messages.compiled(messages.read(language, domain))


def test_a_missing_plural_or_a_doubtful_translation_counts_as_missing():
    plural = ("%(count)s box", "%(count)s boxes")
    done = [Message("Yes", "Ja"), Message(plural, ("%(count)s Rahmen", "%(count)s Rahmen"))]
    missing = [Message("Yes"), Message("Yes", "Ja", flags=["fuzzy"]), Message(plural, ("a", ""))]

    assert [messages.is_done(message) for message in done] == [True, True]
    assert [messages.is_done(message) for message in missing] == [False, False, False]
