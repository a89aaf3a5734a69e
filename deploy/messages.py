"""Writes locale/ again: finds the sentences that annotators read in templates, Python and scripts,
adds new ones to each language's .po files, drops those that are gone, and compiles .mo files.

`python deploy/messages.py` writes them and prints the sentences that have no translation; see
docs/how-to/develop.md. It uses Babel, so neither xgettext nor msgfmt is needed.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[1]
LOCALE = ROOT / "locale"
LANGUAGES = ("de", "zh-hans")
DOMAINS = ("django", "djangojs")
# Also find calls inside the template strings of scripts.
OPTIONS = {"parse_template_string": True}
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
}


def sources(domain: str) -> list[Path]:
    """Return the files that may contain sentences of a domain, in a fixed order."""
    if domain == "djangojs":
        return sorted((ROOT / "static" / "js").rglob("*.js"))
    pages = (ROOT / "templates").rglob("*.html")
    code = [path for app in ("annotator", "labeling") for path in (ROOT / app).rglob("*.py")]
    return sorted([*pages, *code])


def extracted(domain: str) -> Catalog:
    """Return the sentences of a domain that the sources have, untranslated."""
    catalog = Catalog()
    for path in sources(domain):
        name = path.relative_to(ROOT).as_posix()
        for context, message in _messages(path):
            flags = ["python-format"] if _has_placeholder(message) else []
            catalog.add(message, context=context, locations=[(name, 0)], flags=flags)
    return catalog


def _messages(path: Path) -> Iterator[tuple[str | None, str | tuple[str, ...]]]:
    method, text = {".js": "javascript"}.get(path.suffix, "python"), path.read_text("utf-8")
    if path.suffix == ".html":
        # templatize() blanks out everything but the sentences; Babel reads the rest as Python, so
        # the indentation must go.
        text = "\n".join(line.strip() for line in templatize(text).splitlines())
    for _, message, _, context in extract(
        method, io.BytesIO(text.encode()), keywords=KEYWORDS, options=OPTIONS
    ):
        yield context, message


def _has_placeholder(message: str | tuple[str, ...]) -> bool:
    texts = [message] if isinstance(message, str) else message
    return any(re.search(r"%\(\w+\)[sd]", text) for text in texts)


def po_file(language: str, domain: str) -> Path:
    return LOCALE / to_locale(language) / "LC_MESSAGES" / f"{domain}.po"


def read(language: str, domain: str) -> Catalog:
    """Return a language's sentences from its .po file; none if there is no file yet."""
    path = po_file(language, domain)
    if not path.exists():
        return Catalog(to_locale(language), project="Assay", version="", fuzzy=False)
    with path.open("rb") as stream:
        return read_po(stream, locale=to_locale(language))


def compiled(catalog: Catalog) -> bytes:
    """Return the .mo file of a catalog."""
    out = io.BytesIO()
    write_mo(out, catalog)
    return out.getvalue()


def untranslated(catalog: Catalog) -> list[Any]:
    """Return the sentences without a translation, or with a doubtful one."""
    return [message.id for message in catalog if message.id and not is_done(message)]


def is_done(message: Message) -> bool:
    texts: Any = message.string if message.pluralizable else (message.string,)
    return not message.fuzzy and bool(texts) and all(texts)


def update(language: str, domain: str) -> Catalog:
    """Write a language's .po and .mo files with the sentences that the sources have now."""
    catalog, template = read(language, domain), extracted(domain)
    catalog.msgid_bugs_address = ""
    template.creation_date = catalog.creation_date
    catalog.update(template, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    path = po_file(language, domain)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        write_po(stream, catalog, width=100, sort_by_file=True, include_lineno=False)
    path.with_suffix(".mo").write_bytes(compiled(read(language, domain)))
    return catalog


def main() -> None:
    missing = 0
    for language in LANGUAGES:
        for domain in DOMAINS:
            left = untranslated(update(language, domain))
            missing += len(left)
            for message in left:
                print(f"{po_file(language, domain).relative_to(ROOT)}: {message!r}")
    print(f"{missing} to be translated.")


if __name__ == "__main__":
    main()
