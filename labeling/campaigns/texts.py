"""Translations of a campaign's texts for annotators' pages.

Files, releases and hashes have the original texts.

    {"de": {"title": "…", "instructions": "…", "question": "…",
            "classes": {"n02123045": "Tigerkatze",
                        "n02099601": {"name": "…", "definition": "…", "guidance": "…"}},
            "parts": {"tail": "Schwanz"}}}

A missing or empty text falls back to the original. Class keys are those of the campaign's topics
and settings, part keys those of its vocabulary.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from labeling.campaigns import lifecycle
from labeling.campaigns.markdown import check_pictures
from labeling.errors import Refusal
from labeling.files import is_storable
from labeling.models import Campaign, CampaignText, User
from labeling.records import Record

# Characters.
MAX_LENGTHS = {"title": 200, "instructions": 100_000, "question": 80}
MAX_CLASS_TEXT_LENGTHS = {"name": 200, "definition": 2_000, "guidance": 10_000}
MAX_BYTES = 4 * 1024**2
SECTIONS = (*MAX_LENGTHS, "classes", "parts")
Content = Mapping[str, Any]
Texts = dict[str, Content]


@dataclass(kw_only=True)
class Coverage(Record):
    """How many texts a language has, and the missing ones, as "title" or "classes.n02123045"."""

    language: str
    name: str
    translated: int
    missing: list[str]


def read(text: str | bytes) -> object:
    """Return the content of a file. Raises Refusal with the line that is no JSON."""
    if len(text) > MAX_BYTES:
        raise Refusal(f"The file is larger than {MAX_BYTES // 1024**2} MiB.", field="texts")
    try:
        content = json.loads(text)
    except UnicodeDecodeError as error:
        raise Refusal("The file is not UTF-8. Save it as UTF-8.", field="texts") from error
    except json.JSONDecodeError as error:
        raise Refusal(
            f"Line {error.lineno}, column {error.colno}: {error.msg}. Correct the JSON there.",
            field="texts",
        ) from error
    except RecursionError as error:
        raise Refusal("The file is nested too deeply to be texts.", field="texts") from error
    except ValueError as error:
        raise Refusal(
            "A number in the file is too long. Texts are strings.", field="texts"
        ) from error
    if not is_storable(content):
        raise Refusal(
            "The file contains a NUL or a lone surrogate, which is not valid text. Remove it.",
            field="texts",
        )
    return content


def replace(campaign: Campaign, actor: User | None, payload: object) -> Texts:
    """Replace all texts and return them. Raises Refusal; then nothing has changed."""
    texts = clean(campaign, payload)
    with transaction.atomic():
        campaign.texts.all().delete()
        CampaignText.objects.bulk_create(
            CampaignText(campaign=campaign, language=language, content=content)
            for language, content in texts.items()
        )
        Campaign.objects.filter(pk=campaign.pk).update(languages=sorted(texts))
        lifecycle.record_text_change(campaign, actor, sorted(texts))
    campaign.languages = sorted(texts)
    return texts


def for_campaign(campaign: Campaign) -> Texts:
    """Return the texts by language, in the order of the site's languages."""
    contents = dict(campaign.texts.values_list("language", "content"))
    return {code: contents[code] for code, _ in settings.LANGUAGES if code in contents}


def with_missing_texts(campaign: Campaign) -> Texts:
    """Return a file to fill in: the texts of each language, with "" for missing ones.

    The default language is left out if it has no texts.
    """
    contents, keys = for_campaign(campaign), list(_expected_texts(campaign))
    filled: Texts = {}
    for code, _ in settings.LANGUAGES:
        if code not in contents and code == settings.LANGUAGE_CODE:
            continue
        content = dict(contents.get(code, {}))
        for section, key in keys:
            if key is None:
                content.setdefault(section, "")
            else:
                content[section] = {key: "", **content.get(section, {})}
        filled[code] = content
    return filled


def coverage(campaign: Campaign) -> list[Coverage]:
    """Return present and missing texts of each language that has any. Two queries."""
    keys = list(_expected_texts(campaign))
    rows = []
    for language, content in for_campaign(campaign).items():
        missing = [
            section if key is None else f"{section}.{key}"
            for section, key in keys
            if not (content.get(section) if key is None else content.get(section, {}).get(key))
        ]
        name = dict(settings.LANGUAGES)[language]
        translated = len(keys) - len(missing)
        rows.append(Coverage(language=language, name=name, translated=translated, missing=missing))
    return rows


def clean(campaign: Campaign, payload: object) -> Texts:
    """Return the texts without empty ones. Raises Refusal with the path and what to do."""
    if not isinstance(payload, dict):
        raise Refusal('Texts are an object: {"de": {"title": …}}.', field="texts")
    known = {
        "classes": {key for section, key in _expected_texts(campaign) if section == "classes"},
        "parts": {key for section, key in _expected_texts(campaign) if section == "parts"},
    }
    languages = [code for code, _ in settings.LANGUAGES]
    texts = {}
    for language, content in payload.items():
        if language not in languages:
            raise _fault(
                [language], f"is not a language of this site. Use one of: {', '.join(languages)}"
            )
        if not isinstance(content, dict):
            raise _fault([language], "is not an object. Give the language's texts by name")
        if cleaned := _content(language, content, known):
            check_pictures(str(cleaned.get("instructions", "")), campaign.dataset)
            texts[language] = cleaned
    return texts


def _content(
    language: str, content: Mapping[str, object], known: Mapping[str, set[str | None]]
) -> Content:
    cleaned: dict[str, object] = {}
    for section, value in content.items():
        if section not in SECTIONS:
            raise _fault([language, section], f"is not a text. Use one of: {', '.join(SECTIONS)}")
        if section in MAX_LENGTHS:
            text = _text([language, section], value, MAX_LENGTHS[section])
            cleaned |= {section: text} if text else {}
            continue
        if not isinstance(value, dict):
            raise _fault([language, section], "is not an object. Give a text for each key")
        rows: dict[str, object] = {}
        for key, entry in value.items():
            if key not in known[section]:
                noun = "class" if section == "classes" else "part"
                raise _fault(
                    [language, section, key],
                    f"is not a {noun} of the campaign. Remove it, or correct the key",
                )
            if (row := _entry([language, section, key], entry, section)) not in ("", {}):
                rows[key] = row
        cleaned |= {section: rows} if rows else {}
    return cleaned


def _entry(path: list[str], entry: object, section: str) -> str | dict[str, str]:
    if section == "parts" or not isinstance(entry, dict):
        return _text(path, entry, MAX_CLASS_TEXT_LENGTHS["name"])
    if unknown := sorted(set(entry) - set(MAX_CLASS_TEXT_LENGTHS)):
        known = ", ".join(MAX_CLASS_TEXT_LENGTHS)
        raise _fault([*path, str(unknown[0])], f"is not a text of a class. Use one of: {known}")
    texts = {
        key: _text([*path, key], text, MAX_CLASS_TEXT_LENGTHS[key]) for key, text in entry.items()
    }
    return {key: text for key, text in texts.items() if text}


def _text(path: list[str], text: object, longest: int) -> str:
    if not isinstance(text, str) or not is_storable(text) or "\0" in text:
        raise _fault(path, "is not a text. Give a string")
    if len(text.strip()) > longest:
        raise _fault(path, f"has {len(text.strip()):,} characters. Shorten it to {longest:,}")
    return text.strip()


def _fault(path: Iterable[str], fault: str) -> Refusal:
    return Refusal(f"{'.'.join(str(part)[:80] for part in path)} {fault}.", field="texts")


def _expected_texts(campaign: Campaign) -> Iterator[tuple[str, str | None]]:
    """Yield section and key (of classes and parts) of each text that the campaign has."""
    yield "title", None
    if campaign.instructions:
        yield "instructions", None
    if campaign.settings.get("question"):
        yield "question", None
    vocabulary = [entry["key"] for entry in campaign.settings.get("vocabulary", ())]
    categories = campaign.settings.get("categories", {})
    topics = campaign.topics.order_by("key").values_list("key", flat=True)
    for key in dict.fromkeys([*vocabulary, *categories, *topics]):
        yield "classes", key
    parts = [part["key"] for row in categories.values() for part in row.get("parts", ())]
    for key in dict.fromkeys(parts):
        yield "parts", key


def in_language(campaigns: Iterable[Campaign], language: str | None) -> list[Campaign]:
    """Return the campaigns as annotators see them: copies with translated texts, or the originals.

    One query, or none if no campaign has the language.
    """
    campaigns = list(campaigns)
    having = [row.pk for row in campaigns if language in row.languages]
    if not having:
        return campaigns
    rows = CampaignText.objects.filter(campaign__in=having, language=language)
    contents = dict(rows.values_list("campaign_id", "content"))
    return [_translated(row, contents[row.pk]) if row.pk in contents else row for row in campaigns]


def _translated(campaign: Campaign, content: Content) -> Campaign:
    worded = copy.copy(campaign)
    worded.words = content
    worded.title = content.get("title", campaign.title)
    worded.instructions = content.get("instructions", campaign.instructions)
    worded.settings = _settings(campaign.settings, content)
    return worded


def _settings(stored: Content, content: Content) -> dict[str, object]:
    """Return the settings with translated names; keys stay."""
    translated, parts = dict(stored), content.get("parts", {})
    if "question" in content and "question" in stored:
        translated["question"] = content["question"]
    if "vocabulary" in stored:
        translated["vocabulary"] = [
            {**entry, "name": name_of(content, entry["key"], entry["name"])}
            for entry in stored["vocabulary"]
        ]
    if "categories" in stored:
        translated["categories"] = {
            key: {
                **row,
                "name": name_of(content, key, row["name"]),
                "parts": [
                    {**part, "name": parts.get(part["key"], part["name"])} for part in row["parts"]
                ],
            }
            for key, row in stored["categories"].items()
        }
    return translated


def name_of(words: Mapping[str, Any], key: str, name: str) -> str:
    """Return the translated name of a class, or the given one."""
    return str(class_words(words, key).get("name", name))


def class_words(words: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return a class's translated name, definition and guidance, as far as given."""
    entry = words.get("classes", {}).get(key, {})
    return {"name": entry} if isinstance(entry, str) else entry
