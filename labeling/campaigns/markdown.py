"""Render Markdown of researchers as HTML."""

from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

# Plain text of earlier versions must read as before: a line is a line, and indented lines,
# underlines, entities and "[1]: text" stay text. Pictures are refused.
RULES_OFF = ["code", "lheading", "reference", "entity", "image"]
PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).disable(RULES_OFF)
# Pages have the heading "Instructions" (h2) above the text.
LEVELS_DOWN = 2
TAGS = "p br hr em strong code pre blockquote ul ol li a h3 h4 h5 h6"
CLEANER = nh3.Cleaner(
    tags=set(TAGS.split()),
    attributes={"a": {"href"}, "ol": {"start"}},
    set_tag_attribute_values={"a": {"target": "_blank"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer",
)


@lru_cache(maxsize=64)
def render(text: str) -> SafeString:
    """Return safe HTML: no HTML of the text itself, no pictures, links only to http, https and
    mailto.
    """
    tokens = PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + LEVELS_DOWN)}"
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    return mark_safe(CLEANER.clean(html))  # noqa: S308 - cleaned by nh3
