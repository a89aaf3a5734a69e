"""Renders researchers' Markdown as HTML; its pictures are images of the campaign's dataset."""

import html
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import unquote

import nh3
from django.core.signing import Signer
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from labeling.errors import Refusal
from labeling.models import Campaign, Dataset, Image

# Plain text of earlier versions must read as before: a line is a line, and indented lines,
# underlines, entities and "[1]: text" stay text.
RULES_OFF = ["code", "lheading", "reference", "entity"]
PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).disable(RULES_OFF)
# Pages have the heading "Instructions" (h2) above the text.
LEVELS_DOWN = 2
TAGS = "p br hr em strong code pre blockquote ul ol li a h3 h4 h5 h6 img"
# A picture is ![caption](image:NAME), with the name of an image of the dataset.
SCHEME = "image:"
PICTURE = re.compile(f'(<img [^>]*src="){SCHEME}([^"]*)')


def _keep(tag: str, attribute: str, value: str) -> str | None:
    if attribute in ("href", "src") and value.startswith(SCHEME) != (tag == "img"):
        return None
    return value


CLEANER = nh3.Cleaner(
    tags=set(TAGS.split()),
    attributes={"a": {"href"}, "ol": {"start"}, "img": {"src", "alt"}},
    set_tag_attribute_values={"a": {"target": "_blank"}, "img": {"loading": "lazy"}},
    attribute_filter=_keep,
    url_schemes={"http", "https", "mailto", SCHEME.rstrip(":")},
    url_relative="deny",
    link_rel="noopener noreferrer",
)


def render(text: str, address_of: Callable[[str], str]) -> SafeString:
    """Return safe HTML: no HTML of the text itself, links only to http, https and mailto, and
    pictures only from the campaign's dataset.

    address_of: takes an image's name.
    """

    def with_address(match: re.Match[str]) -> str:
        return match[1] + escape(address_of(unquote(html.unescape(match[2]))))

    return mark_safe(PICTURE.sub(with_address, _render(text)))  # noqa: S308 - cleaned by nh3


def signer_of(campaign: Campaign) -> Signer:
    """Return the signer of image names, so that members open only pictures of the instructions."""
    return Signer(salt=f"instructions:{campaign.pk}")


def check_pictures(text: str, dataset: Dataset) -> None:
    """Raise Refusal for a picture that is not an image of the dataset."""
    sources = [str(token.attrs["src"]) for token in _pictures(PARSER.parse(text))]
    if foreign := [source for source in sources if not source.startswith(SCHEME)]:
        raise Refusal(
            f"{foreign[0]} is outside the site. Add the picture to the dataset {dataset.name} and"
            " write it as ![caption](image:NAME).",
            field="instructions",
        )
    names = [unquote(source.removeprefix(SCHEME)) for source in sources]
    images = set(
        Image.objects.filter(dataset=dataset, name__in=names).values_list("name", flat=True)
    )
    if missing := [name for name in names if name not in images]:
        raise Refusal(
            f"The dataset {dataset.name} has no image {min(missing)}. Pictures of the instructions"
            " are images of the dataset, by their names.",
            field="instructions",
        )


@lru_cache(maxsize=64)
def _render(text: str) -> str:
    tokens = PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + LEVELS_DOWN)}"
    for token in _pictures(tokens):
        if not str(token.attrs["src"]).startswith(SCHEME):
            token.type, token.content = "text", f"![{token.content}]({token.attrs['src']})"
    return CLEANER.clean(PARSER.renderer.render(tokens, PARSER.options, {}))


def _pictures(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from (child for child in token.children or () if child.type == "image")
