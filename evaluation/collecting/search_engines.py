"""The limits on queries of each search engine. No Django."""

import re
from dataclasses import dataclass
from pathlib import Path

from labeling.csv_rows import rows
from labeling.files import BadInput

DEFAULT_FILE = Path(__file__).parent / "data" / "engines.csv"
COLUMNS = ("engine", "quotes", "words", "characters")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class SearchEngine:
    """quotes: whether phrases are put in quotes. words, characters: limits of a query; None for no
    limit.
    """

    name: str
    quotes: bool
    words: int | None
    characters: int | None

    def format_query(self, phrases: tuple[str, ...]) -> str:
        """Return the query of these phrases: a synonym, and perhaps the word of a hypernym."""
        return " ".join(
            f'"{phrase}"' if self.quotes and " " in phrase else phrase for phrase in phrases
        )

    def takes(self, query: str) -> bool:
        return (self.words is None or len(query.split()) <= self.words) and (
            self.characters is None or len(query) <= self.characters
        )


def read(path: Path = DEFAULT_FILE) -> list[SearchEngine]:
    """Return the engines of `engine,quotes,words,characters` rows. Raises BadInput with
    the line.
    """
    engines: dict[str, SearchEngine] = {}
    for line, (name, quotes, words, characters) in rows(path, COLUMNS):
        if not NAME.fullmatch(name):
            cure = "use lowercase letters and digits; a file gets this name"
            raise BadInput(f"the engine is {name!r}", path, line, cure)
        if name in engines:
            raise BadInput(f"{name} is repeated", path, line, "keep one row for an engine")
        if quotes not in ("yes", "no"):
            raise BadInput(f"quotes is {quotes!r}", path, line, "write yes or no")
        limits = [_limit(text, path, line) for text in (words, characters)]
        engines[name] = SearchEngine(name, quotes == "yes", *limits)
    if not engines:
        raise BadInput("there are no engines", path, None, "add a row for each")
    return [*engines.values()]


def _limit(text: str, path: Path, line: int) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise BadInput(f"the limit is {text!r}", path, line, "write a whole number, or nothing")
    return int(text)
