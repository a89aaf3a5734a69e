"""Markdown of researchers: plain text as before, and no attack by HTML, links or pictures."""

import re
from html.parser import HTMLParser

from django.utils.html import linebreaks
from hypothesis import given
from hypothesis import strategies as st

from labeling.campaigns import markdown
from labeling.campaigns.markdown import TAGS
from tests.cases import for_each

ALLOWED = set(TAGS.split())
ATTRIBUTES = {
    "a": {"href", "title", "target", "rel"},
    "ol": {"start"},
    "img": {"src", "alt", "title", "loading"},
}
ATTACKS = """
<script> </script> <img/src=x/onerror=alert(1)> <svg/onload=alert(1)> <!-- [a]( ![b]( ) > ' "
javascript:alert(1) data:image/png;base64,AA //evil.example &#106;avascript: vbscript: file:///etc
https://a.example mailto:a@b.example ` ** > - # \\ <a/href= text ~~~ ``` 1. <https: <javascript:
"""
PIECES = [*ATTACKS.split(), " ", "\n", "\x00"]


def render(text: str) -> str:
    return markdown.render(text, lambda name: f"/pictures/{name}")


class Reader(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def check_harmless(text: str) -> None:
    for tag, attributes in read(render(text)).tags:
        assert tag in ALLOWED
        assert set(attributes) <= ATTRIBUTES.get(tag, set())
        if "href" in attributes:
            assert re.match(r"(https?|mailto):", attributes["href"])
        if tag == "img":
            assert attributes["src"].startswith("/pictures/")
        if tag == "a":
            assert attributes["rel"] == "noopener noreferrer"


@for_each(
    "text",
    [
        "<script>alert(1)</script>",
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
        "<img src=x onerror=alert(1)>",
        "<p onclick=alert(1)>x</p>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java%0ascript:alert(1))",
        "<javascript:alert(1)>",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](data:image/png;base64,AAAA)",
        "![x](https://evil.example/x.png)",
        "[![x](data:image/svg+xml,<svg onload=alert(1)>)](javascript:alert(1))",
        "[x](//evil.example)",
        "[x](image:cat.jpg)",
        "![x](IMAGE:cat.jpg)",
        '![x](image:a"onload=alert(1).jpg)',
        '![x](image:a.jpg "t\\" onload=alert(1)")',
        '![<img src="image:b.jpg">](image:a.jpg)',
        "[![x](image:a.jpg)](image:b.jpg)",
        "[x](/campaigns/new/)",
        '[x](https://a.example "t\\" onmouseover=alert(1)")',
        "[<img src=x onerror=alert(1)>](https://a.example)",
        "> - **[x](vbscript:x)** <iframe src=javascript:alert(1)>",
        "```<script>\n</code></pre><script>alert(1)</script>\n```",
    ],
)
def test_an_attack_becomes_text(text):
    check_harmless(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_mixture_of_pieces_gets_through(text):
    check_harmless(text)


def test_links_open_elsewhere_without_an_opener():
    assert render("[Wiki](https://a.example)") == (
        '<p><a href="https://a.example" target="_blank" rel="noopener noreferrer">Wiki</a></p>\n'
    )


@for_each(
    "text",
    [
        "One line\nand the next\n\nA second paragraph",
        "Windows\r\nlines\r\n\r\nand more",
        "5 < 6 & 7 > 6, snake_case_name, &amp; stays",
        "Heads:\n    indented, no code",
        "[1]: https://a.example is a source",
    ],
)
def test_plain_text_reads_as_before(text):
    lines = linebreaks(text, autoescape=True).replace("<br>", "<br>\n")
    before, now = read(lines), read(render(text))

    assert now.tags == before.tags
    assert now.text.split() == before.text.split()


def test_a_picture_is_an_image_of_the_dataset_by_its_name():
    assert render("![Too <b>loose</b>](<image:a b/&ä.jpg>)") == (
        '<p><img src="/pictures/a b/&amp;ä.jpg" alt="Too &lt;b&gt;loose&lt;/b&gt;"'
        ' loading="lazy"></p>\n'
    )


def test_a_picture_of_another_site_stays_text():
    html = render("![x](https://evil.example/x.png)")

    assert "<img" not in html
    assert "![x](https://evil.example/x.png)" in html


def test_headings_are_below_that_of_the_page():
    assert render("# Coots\n###### Feet") == "<h3>Coots</h3>\n<h6>Feet</h6>\n"
