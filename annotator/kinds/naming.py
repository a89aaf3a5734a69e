"""The page for naming: one class of a list or, if the settings allow it, several of a long list."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from annotator.kinds.base import Context, Page
from annotator.pages import seats
from labeling.answers.submitted_answers import SubmittedAnswer, read_form
from labeling.kinds.naming import keys_of
from labeling.models import Campaign, Seat

# Most siblings shown side by side.
SIDE_BY_SIDE = 12
# Examples of each class in training feedback.
SHOWN_AT_FEEDBACK = 3
Entry = Mapping[str, Any]


class NamingPage(Page):
    def context(self, campaign: Campaign) -> Context:
        context = super().context(campaign)
        most = campaign.settings.get("most")
        if not most:
            return context
        return context | {
            "kind_template": "annotator/kinds/naming_list.html",
            "kind_script": "js/kinds/naming_list.js",
            "form_script": "js/naming/form.js",
            "compared_template": "annotator/_naming_compared.html",
            "kind_styles": ("css/naming.css",),
            "most": most,
            "slots": [{"number": number + 1, "name": ""} for number in range(most)],
            "classes": list(listing(campaign.settings["vocabulary"])),
        }

    def compared(self, value: Any, gold: Any, seat: Seat, campaign: Campaign) -> object:
        """Return the known and the chosen classes with their descriptions."""
        if "most" not in campaign.settings:
            return None
        known, chosen = keys_of(gold), keys_of(value)
        names = self.kind.class_names(campaign.settings)
        keys = list(dict.fromkeys([*known, *chosen]))
        topics = seats.topics_of(campaign, set(keys))
        return [
            {
                "name": names.get(key, key),
                "known": key in known,
                "chosen": key in chosen,
                "definition": topics[key].get("definition", ""),
                "examples": topics[key].get("examples", ())[:SHOWN_AT_FEEDBACK],
            }
            for key in keys
        ]

    def read(self, post: QueryDict, campaign: Campaign) -> list[SubmittedAnswer]:
        if "most" not in campaign.settings:
            return super().read(post, campaign)
        return [read_form(post.dict() | {"value": value_of(post, campaign)}, gettext(self.missing))]


def value_of(post: QueryDict, campaign: Campaign) -> object:
    """Return the answer of a form: a word, or the classes of its fields, given by key or name."""
    if word := post.get("value", ""):
        return word
    entries = campaign.settings["vocabulary"]
    by_name = {entry["name"].casefold(): entry["key"] for entry in entries}
    typed = [text.strip() for text in post.getlist("class") if text.strip()]
    keys = [by_name.get(text.casefold(), text) for text in typed]
    return {"keys": keys} if keys else ""


def listing(vocabulary: Sequence[Entry]) -> Iterator[dict[str, str]]:
    """Yield the classes in order, with markers for the start ("open") and end ("close") of
    groups.
    """
    current: list[str] = []
    for entry in vocabulary:
        path = entry.get("path", [])
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(current, path))))  # noqa: B905
        for _ in current[shared:]:
            yield {"part": "close"}
        for name in path[shared:]:
            yield {"part": "open", "name": name}
        yield {"part": "class", "key": entry["key"], "name": entry["name"]}
        current = path
    for _ in current:
        yield {"part": "close"}


def siblings_of(vocabulary: Sequence[Entry], key: str) -> tuple[str, list[Entry]]:
    """Return the group of a class and up to SIDE_BY_SIDE of its classes around the class itself.

    A class alone in its group gets those of the parent group.
    """
    places = {entry["key"]: index for index, entry in enumerate(vocabulary)}
    path = vocabulary[places[key]].get("path", [])
    for depth in range(len(path), -1, -1):
        siblings = [entry for entry in vocabulary if entry.get("path", [])[:depth] == path[:depth]]
        if len(siblings) > 1:
            break
    at = next(index for index, entry in enumerate(siblings) if entry["key"] == key)
    first = max(0, min(at - SIDE_BY_SIDE // 2, len(siblings) - SIDE_BY_SIDE))
    return (path[depth - 1] if depth else ""), siblings[first : first + SIDE_BY_SIDE]
