"""Uploaded files: read from a temporary path, with errors that name their field."""

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
    """The site lacks WordNet; the request itself is valid."""

    status = 503
    code = "no_wordnet"


def load_wordnet() -> nouns.WordNet:
    try:
        return nouns.load()
    except nouns.WordNetMissing as error:
        raise NoWordNet(
            "This site has no WordNet 3.0. Ask its administrator to run deploy/wordnet.sh."
        ) from error


@contextmanager
def uploaded(file: Any) -> Iterator[Path]:
    """Yield a temporary path of the uploaded file."""
    with tempfile.NamedTemporaryFile() as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        yield Path(copy.name)


def read_file(field: str, file: Any, read: Callable[[Path], T]) -> T:
    """Return what `read` makes of an uploaded file. Raises Refusal with the field and the line."""
    with uploaded(file) as path, refusing(field):
        return read(path)


@contextmanager
def refusing(field: str) -> Iterator[None]:
    """Convert BadInput into Refusal with the field.

    The message names a file without its folder. It does not name folders and temporary files, which
    have no extension.
    """
    try:
        yield
    except BadInput as bad:
        raise Refusal(f"{without_folder(bad)}.", field=field, code="bad_input") from bad


def without_folder(bad: BadInput, cure: str | None = None) -> BadInput:
    """Return the fault without the server's folder, and with another cure if one is given."""
    file = Path(bad.file or "")
    name = file.name if file.suffix else None
    return BadInput(bad.message, name, bad.line, cure or bad.cure)
