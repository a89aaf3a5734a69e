"""Reads vocabularies of parts from files. Pure, no Django."""

import functools
from pathlib import Path

import yaml

from labeling import strict_yaml
from labeling.files import BadInput, StrPath
from labeling.vocabulary.checks import build
from labeling.vocabulary.types import FAULTS_SHOWN, PartVocabulary, VocabularyError, VocabularyFault

SHIPPED = Path(__file__).parent / "data"
MAX_CHARACTERS = 500_000


def parse(text: str) -> PartVocabulary:
    """Return the vocabulary in a YAML or JSON text. Raises VocabularyError with lines."""
    if len(text) > MAX_CHARACTERS:
        raise VocabularyError(
            f"has {len(text):,} characters, at most {MAX_CHARACTERS:,} fit; shorten the guidance"
        )
    try:
        # A fault at the end is in the last line, not in the one after it.
        raw, lines = strict_yaml.load_with_lines(text.rstrip())
    except strict_yaml.Refers as error:
        message = "uses a YAML alias (*name); write the value, or use like: category"
        raise VocabularyError([VocabularyFault((), message, error.line)]) from None
    except strict_yaml.Repeats as error:
        raise VocabularyError(
            [VocabularyFault((), f"{error}; remove one of them", error.line)]
        ) from None
    except RecursionError:
        raise VocabularyError("nests too deeply; a vocabulary is a list of categories") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        fault = VocabularyFault(
            (), f"not YAML: {problem}; correct the file", mark.line + 1 if mark else None
        )
        raise VocabularyError([fault]) from None
    try:
        return build(raw)
    except VocabularyError as error:
        raise error.at(lines) from None


def read(path: StrPath) -> PartVocabulary:
    """Return the vocabulary in a file. Raises BadInput at the first fault's line, with all
    faults.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise BadInput(reason, file=path, cure="name a YAML file") from None
    try:
        return parse(text)
    except VocabularyError as error:
        first, *others = error.found
        rest = "".join(f" | {fault}" for fault in others[: FAULTS_SHOWN - 1])
        message = str(VocabularyFault(first.path, first.message, None, first.position))
        raise BadInput(message + rest, file=path, line=first.line) from None


@functools.cache
def shipped(name: str = "pascal_parts") -> PartVocabulary:
    """Return the vocabulary shipped with Assay: PASCAL-Part's parts, simplified as in PPS-12."""
    return read(SHIPPED / f"{name}.yaml")
