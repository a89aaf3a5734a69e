"""`manage.py score`: what predictions are worth, from files."""

import functools
from collections.abc import Callable
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
from evaluation.management.device_options import add_device, on_device
from evaluation.management.release_truth import of_release
from evaluation.scoring.cds.result import CdsResult
from labeling.management.contract import ContractCommand
from labeling.records import Record

# Verbs that compute on a GPU; what the others compute takes less time than their files to read.
ON_GPU = frozenset({"wsol"})


class Command(ContractCommand):
    """The verbs; options, action and printing of each are in a file of evaluation/management/."""

    help = "What the predictions of classifiers are worth, from files."

    def add_arguments(self, parser: CommandParser) -> None:
        self._verb(
            parser,
            "cds",
            cds_options.add,
            self.cds,
            cds_printing.show,
            "how much of an object a classifier must see",
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
        self._verb(
            parser,
            "wsol-cues",
            wsol_options.add_cues,
            wsol_options.score_cues,
            wsol_options.show_cues,
            "whether objects can be told from background by image labels, from cues",
        )

    def _add(self, parser: CommandParser, kind: str, options: ModuleType, words: str) -> None:
        """The verb of a kind of truth, which comes in files or is a release."""
        action = options.action
        if options is wsol_options:
            # It warns of test splits that were looked at before, and shows how many tasks are done.
            action = functools.partial(action, self)
        action = of_release(kind, action, self.warn)
        self._verb(parser, kind, options.add, action, options.show, words)

    def _verb(
        self,
        parser: CommandParser,
        name: str,
        add: Callable[[CommandParser], None],
        action: Callable[..., Record],
        show: Callable[..., str],
        words: str,
    ) -> None:
        """A verb with --device."""
        on_gpu = name in ON_GPU
        verb = self.verb(parser, name, on_device(action, on_gpu), show, help=words)
        add(verb)
        add_device(verb, on_gpu)

    def cds(self, rows: bool, **options: Any) -> CdsResult:
        scored = cds_options.action(**options)
        return scored.with_sequences() if self.as_json and rows else scored.result
