"""Read files of information content in the format of WordNet::Similarity and nltk.

The head names WordNet's version. Then each line has a synset's offset and part of speech, its
count, and ROOT where it has no hypernym.
"""

import io
import math
import re
from pathlib import Path

from evaluation.metrics.wordnet.nltk_similarity import Contents
from evaluation.metrics.wordnet.nouns import WordNet
from labeling.files import BadInput

HEAD = re.compile(r"wnver::\S+\s*")
ROW = re.compile(r"(\d{1,8})([nv])\s+(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s+ROOT)?\s*")
CURE = "give a file of WordNet::Similarity for WordNet 3.0, such as ic-brown.dat of nltk's data"


def read(path: Path, wordnet: WordNet) -> Contents:
    """Return the counts in a file of information content, as nltk reads it.

    Raises BadInput with the line for another format, or for another version of WordNet.
    """
    from nltk.corpus.reader.wordnet import WordNetICCorpusReader

    text = _checked(path, wordnet)

    class CheckedReader(WordNetICCorpusReader):
        """Reads the checked content; nltk itself opens only files below its own folders."""

        def __init__(self) -> None:
            pass

        def open(self, file: str) -> io.StringIO:
            return io.StringIO(text)

    contents: Contents = CheckedReader().ic(path.name)
    return contents


def _checked(path: Path, wordnet: WordNet) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot be read ({error})", path, None, CURE) from error
    head, *lines = text.splitlines() or [""]
    if not HEAD.fullmatch(head):
        raise BadInput("is not a file of information content: no wnver:: in line 1", path, 1, CURE)
    offsets, roots = set(wordnet.offsets.tolist()), 0.0
    for number, line in enumerate(lines, 2):
        row = ROW.fullmatch(line)
        if row is None:
            raise BadInput(f"{line[:60]!r} is not a synset with its count", path, number, CURE)
        offset, kind, count, root = row.groups()
        if kind == "n" and int(offset) not in offsets:
            raise BadInput(f"{offset}n is not a noun of WordNet 3.0", path, number, CURE)
        roots += float(count) if kind == "n" and root else 0
    if not 0 < roots < math.inf:
        raise BadInput("no noun is marked ROOT with a count", path, None, CURE)
    return text
