"""`manage.py score`: what predictions are worth, from files."""

import argparse
import functools
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.cds import scoring
from evaluation.cds.lines import SequenceLine, read_sequences
from evaluation.cds.predictions import Predictions, frame_places, read_predictions
from evaluation.management import (
    cds_printing,
    classification_options,
    detection_options,
    localization_options,
    wsol_options,
)
from evaluation.management.commands.wordnet import load
from evaluation.management.release_truth import of_release
from evaluation.mappings import read_mapping
from evaluation.metrics import similarity as similarities
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = "What the predictions of classifiers are worth, from files."

    def add_arguments(self, parser: CommandParser) -> None:
        cds = self.verb(
            parser,
            "cds",
            self.cds,
            cds_printing.show,
            help="how much of an object a classifier must see",
        )
        cds.add_argument("--sequences", type=Path, required=True, help="sequences.jsonl")
        cds.add_argument(
            "--predictions",
            type=Path,
            required=True,
            action="append",
            help="frame,classifier,wnid rows; may be given several times",
        )
        cds.add_argument("--mapping", type=Path, help="category,wnid rows: gives B-CDS and errors")
        cds.add_argument("--similarity", choices=scoring.MEASURES, default="wup")
        cds.add_argument("--convention", choices=similarities.CONVENTIONS, default="clean")
        cds.add_argument(
            "--by",
            choices=similarities.BY,
            default="wnid",
            help="word: the first noun sense of a word, or of a class's first lemma",
        )
        cds.add_argument(
            "--bootstrap", type=count, default=1000, metavar="ROUNDS", help="0: no intervals"
        )
        cds.add_argument("--seed", type=count, default=0)
        cds.add_argument(
            "--captchas", type=count, default=1000, metavar="N", help="so many are listed at most"
        )
        cds.add_argument(
            "--rows",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="with --json: every sequence's score, not only how many there are",
        )
        classification_options.add(
            self.verb(
                parser,
                "classification",
                of_release("classification", classification_options.deed, self.warn),
                classification_options.show,
                help="errors of ILSVRC, hp@k and hit@k of ranked labels",
            )
        )
        localization_options.add(
            self.verb(
                parser,
                "localization",
                of_release("localization", localization_options.deed, self.warn),
                localization_options.show,
                help="ILSVRC's localization error",
            )
        )
        detection_options.add(
            self.verb(
                parser,
                "detection",
                of_release("detection", detection_options.deed, self.warn),
                detection_options.show,
                help="average precision of detections, as ILSVRC has it",
            )
        )
        wsol_options.add(
            self.verb(
                parser,
                "wsol",
                of_release("wsol", functools.partial(wsol_options.deed, self.warn), self.warn),
                wsol_options.show,
                help="how well score maps localize objects",
            )
        )
        wsol_options.add_cues(
            self.verb(
                parser,
                "wsol-cues",
                wsol_options.cues_deed,
                wsol_options.show_cues,
                help="whether objects can be told from background by image labels, from cues",
            )
        )

    def cds(
        self,
        sequences: Path,
        predictions: list[Path],
        mapping: Path | None,
        similarity: str,
        convention: str,
        by: str,
        bootstrap: int,
        seed: int,
        captchas: int,
        rows: bool,
        **options: Any,
    ) -> Result:
        wordnet = load()
        mapped = read_mapping(mapping, wordnet).classes if mapping else None
        lines = read_sequences(sequences)
        asked = scoring.Options(similarity, convention, by, bootstrap, seed, captchas=captchas)
        try:
            scored = scoring.score(lines, read_all(predictions, lines), wordnet, asked, mapped)
        except BadInput as refusal:
            if refusal.line is not None and refusal.file is None:
                refusal.file = str(sequences)
            raise
        if self.as_json and rows:
            return scored.result()
        return scored.head | {"tables": scored.tables}


def read_all(paths: list[Path], lines: list[SequenceLine]) -> Predictions:
    """The predictions of several files together."""
    frames = frame_places(lines)
    read = (read_predictions(path, lines, frames) for path in paths)
    return functools.reduce(Predictions.joined, read)


def count(text: str) -> int:
    """A whole number from 0."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value
