"""Files that came with a request: read under a path, with faults that name their field."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from evaluation.metrics.wordnet import nouns
from labeling.errors import Refusal
from labeling.files import BadInput

T = TypeVar("T")


class NoWordNet(Refusal):
    """The site lacks what the request needs; the request itself is sound."""

    status = 503
    code = "no_wordnet"


def load_wordnet() -> nouns.WordNet:
    try:
        return nouns.load()
    except nouns.WordNetMissing as error:
        raise NoWordNet(
            "This site has no WordNet 3.0. Ask whoever runs it to run deploy/wordnet.sh."
        ) from error


@contextmanager
def uploaded(file: Any) -> Iterator[Path]:
    """The uploaded file under a path, for as long as it is read."""
    with tempfile.NamedTemporaryFile() as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        yield Path(copy.name)


def read_file(field: str, file: Any, read: Callable[[Path], T]) -> T:
    """What is read of an uploaded file. Raises Refusal naming the field and the line."""
    with uploaded(file) as path:
        try:
            return read(path)
        except BadInput as bad:
            fault = BadInput(bad.message, None, bad.line, bad.cure)
            raise Refusal(f"{fault}.", field=field, code="bad_input") from bad
