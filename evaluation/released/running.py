"""How a benchmark on released labels is scored: as `score KIND` scores its frozen truth.

Called by runs.py. What a run says of each image goes to files in its folder, the figures into the
Run.
"""

from pathlib import Path
from typing import Any

from evaluation.models import Benchmark, Run
from labeling.models import Release

# images.jsonl: {"image", "classes", "truth", "outcomes": {classifier: outcome}} a line.
# curves.json: {classifier: curves as `score wsol --curves` has them} (wsol).
IMAGES, CURVES = "images.jsonl", "curves.json"


def images_path(benchmark: Benchmark, run: int) -> Path:
    """images.jsonl of a run: what is said of each image."""
    raise NotImplementedError


def curves_of(benchmark: Benchmark, run: int) -> dict[str, Any]:
    """Classifier → its curves (wsol); empty for other kinds, and where the file is gone.

    Of masks too: under "boxes" and "masks", each as `score wsol --curves` has them.
    """
    raise NotImplementedError


def score(benchmark: Benchmark, release: Release, run: Run) -> dict[str, Any]:
    """{"kind", "settings", "truth", "submissions": [{"name", "attempts", "result"}], "comparison",
    "notes", "release", "code_version"} of strict JSON values.

    result: as `score KIND` prints it; of wsol with parts what it prints of boxes and of masks
    together, without "curves". comparison: as comparing.compare has it (classification:
    top-5 errors; localization); {"classes_won": …} of detection; None for wsol, and for one
    submission.
    """
    raise NotImplementedError
