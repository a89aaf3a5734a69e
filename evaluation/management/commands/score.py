"""`manage.py score`: what predictions are worth, from files."""

import functools
from types import ModuleType
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import (
    cds_options,
    cds_printing,
    classification_options,
    detection_options,
    localization_options,
    wsol_options,
)
from evaluation.management.release_truth import of_release
from evaluation.scoring.cds.result import CdsResult
from labeling.management.contract import ContractCommand


class Command(ContractCommand):
    """The verbs; options, action and printing of each are in a file of evaluation/management/."""

    help = "What the predictions of classifiers are worth, from files."

    def add_arguments(self, parser: CommandParser) -> None:
        cds_options.add(
            self.verb(
                parser,
                "cds",
                self.cds,
                cds_printing.show,
                help="how much of an object a classifier must see",
            )
        )
        self._add(
            parser,
            "classification",
            classification_options,
            "errors of ILSVRC, hp@k and hit@k of ranked labels",
        )
        self._add(parser, "localization", localization_options, "ILSVRC's localization error")
        self._add(
            parser,
            "detection",
            detection_options,
            "average precision of detections, as ILSVRC has it",
        )
        self._add(parser, "wsol", wsol_options, "how well score maps localize objects")
        wsol_options.add_cues(
            self.verb(
                parser,
                "wsol-cues",
                wsol_options.score_cues,
                wsol_options.show_cues,
                help="whether objects can be told from background by image labels, from cues",
            )
        )

    def _add(self, parser: CommandParser, kind: str, options: ModuleType, words: str) -> None:
        """The verb of a kind of truth, which comes in files or is a release."""
        action = options.action
        if options is wsol_options:
            # It warns of test splits that were looked at before.
            action = functools.partial(action, self.warn)
        options.add(
            self.verb(parser, kind, of_release(kind, action, self.warn), options.show, help=words)
        )

    def cds(self, rows: bool, **options: Any) -> CdsResult:
        scored = cds_options.action(**options)
        return scored.with_sequences() if self.as_json and rows else scored.result
