"""Read words of other languages for synsets: files of the Open Multilingual Wordnet, 1.x. No
Django.

Source: Bond and Foster (2013). A line is `00001740-n`, a tab, `lemma` or `fra:lemma`, a tab, the
word; offsets are those of WordNet 3.0. Other relations (definitions, examples) and parts of speech
are ignored.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from labeling.files import BadInput, require_file

SYNSET = re.compile(r"(\d{8})-([nvars])")
LEMMA = re.compile(r"(?:[a-z]{2,3}(?:-\w+)?:)?lemma")
NAMED = re.compile(r"wn-(?:data|wikt|cldr)-(\w+)")
# If more of a file's nouns are unknown, its offsets are of another WordNet.
MAX_UNKNOWN = 0.05


@dataclass(frozen=True)
class Words:
    """The words of one language for synsets, in the order of the file. unknown: number of noun
    lines whose synset is not in WordNet 3.0.
    """

    language: str
    path: Path
    of: dict[int, list[str]]
    unknown: int


def read(path: Path, wordnet: WordNet) -> Words:
    """Return the words of a file. Raises BadInput with the line for bytes that are not UTF-8 and
    for a line of another format; also for a file without nouns, and for offsets of another WordNet.
    """
    require_file(path, "give a .tab file of the Open Multilingual Wordnet 1.x")
    language = _named(path)
    words_of: dict[int, list[str]] = {}
    nouns, unknown, first_unknown = 0, 0, 0
    with path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            text = _decoded(raw, path, line)
            if text.startswith("#") or not text.strip():
                fields = text.lstrip("# ").split("\t")
                language = fields[1].strip() if line == 1 and len(fields) > 1 else language
                continue
            synset, word = _entry(text, path, line)
            if not word:
                continue
            nouns += 1
            try:
                index = wordnet.index(f"n{synset}")
            except UnknownLabel:
                unknown += 1
                first_unknown = first_unknown or line
                continue
            synset_words = words_of.setdefault(index, [])
            if word not in synset_words:
                synset_words.append(word)
    if not nouns:
        raise BadInput("has no words for nouns", path, None, "give a .tab file of OMW 1.x")
    if unknown > MAX_UNKNOWN * nouns:
        raise BadInput(
            f"{unknown:,} of its {nouns:,} nouns are not in WordNet 3.0",
            path,
            first_unknown,
            "give a file whose offsets are those of WordNet 3.0: OMW 1.x, not 2.x",
        )
    return Words(language, path, words_of, unknown)


def _entry(text: str, path: Path, line: int) -> tuple[str, str]:
    """Return the offset and the word of a noun's line; no word for other lines."""
    fields = text.rstrip("\r\n").split("\t")
    synset = SYNSET.fullmatch(fields[0].strip())
    if synset is None or len(fields) < 3:
        raise BadInput(
            f"{text.strip()[:60]!r} is not a line of a .tab file",
            path,
            line,
            "write synset, relation and word with tabs between: 02084071-n, lemma, chien",
        )
    if synset[2] != "n" or LEMMA.fullmatch(fields[1].strip()) is None:
        return synset[1], ""
    word = " ".join(fields[2].replace("_", " ").split())
    if not word:
        raise BadInput("the word is empty", path, line, "write the word, or remove the line")
    return synset[1], word


def _decoded(raw: bytes, path: Path, line: int) -> str:
    try:
        text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", path, line, "save the file in UTF-8") from None
    if any(ord(letter) < 32 and letter not in "\t\r\n" for letter in text):
        raise BadInput("has control characters", path, line, "remove them")
    return text


def _named(path: Path) -> str:
    match = NAMED.search(path.name)
    return match[1] if match else path.stem
