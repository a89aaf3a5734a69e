"""`score cds`: its options and its action; cds_printing.py shows the result."""

import argparse
import functools
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import add_similarity, load
from evaluation.readers.frame_predictions import Predictions, frame_places, read_predictions
from evaluation.readers.mappings import read_mapping
from evaluation.readers.sequences import SequenceLine, read_sequences
from evaluation.readers.shipped import mapping_file
from evaluation.scoring.cds import scoring
from evaluation.scoring.cds.result import Options
from labeling.bounded_numbers import whole
from labeling.files import BadInput


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    verb.add_argument("--sequences", type=Path, required=True, help="sequences.jsonl")
    verb.add_argument(
        "--predictions",
        type=Path,
        required=True,
        action="append",
        help="frame,classifier,wnid rows; may be given several times",
    )
    verb.add_argument(
        "--mapping",
        type=mapping_file,
        metavar="mapping.csv",
        help="category,wnid rows: gives B-CDS and errors; pascal: ours, to ILSVRC's classes",
    )
    add_similarity(verb, "--similarity", scoring.MEASURES)
    verb.add_argument(
        "--bootstrap", type=whole(), default=1000, metavar="ROUNDS", help="0: no intervals"
    )
    verb.add_argument("--seed", type=whole(), default=0, help="of the bootstrap (0)")
    verb.add_argument(
        "--captchas", type=whole(), default=1000, metavar="N", help="so many are listed at most"
    )
    verb.add_argument(
        "--rows",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="with --json: every sequence's score, not only how many there are",
    )


def action(
    sequences: Path, predictions: list[Path], mapping: Path | None, **chosen: Any
) -> scoring.Scored:
    """Return the scores of the predictions."""
    wordnet = load()
    mapped = read_mapping(mapping, wordnet).classes if mapping else None
    lines = read_sequences(sequences)
    names = ("convention", "by", "bootstrap", "seed", "captchas")
    request = Options(chosen["similarity"], **{name: chosen[name] for name in names})
    try:
        return scoring.score(lines, read_all(predictions, lines), wordnet, request, mapped)
    except BadInput as refusal:
        if refusal.line is not None and refusal.file is None:
            refusal.file = str(sequences)
        raise


def read_all(paths: list[Path], lines: list[SequenceLine]) -> Predictions:
    """Return the predictions of several files together."""
    frames = frame_places(lines)
    read = (read_predictions(path, lines, frames) for path in paths)
    return functools.reduce(Predictions.joined, read)
