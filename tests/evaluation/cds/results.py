"""A made result of a CDS run: rows of every table as scoring writes them, but no truth in them."""

import json
from pathlib import Path
from typing import Any

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.scoring.cds.result import CdsResult

KEPT = Path(__file__).resolve().parents[2] / "contract" / "kept" / "result-cds.json"
CLASSIFIERS = ["alpha", "beta", "gamma", "people"]
CONTENTS = list(CONTENT_SCHEMES)


def stored() -> dict[str, Any]:
    """A run of three classifiers and people, three categories, 5 × 4 schemes, 12 objects.

    Lower for earlier classifiers and later schemes; people lowest.
    """
    return json.loads(KEPT.read_text(encoding="utf-8"))


def result() -> CdsResult:
    return CdsResult.from_json(stored())
