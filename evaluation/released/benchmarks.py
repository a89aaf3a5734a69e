"""Benchmarks whose ground truth is the labels of a release, and what classifiers say to it.

The only writer of their Benchmark and Submission rows. A benchmark's folder has truth/ (what
`score KIND` reads), truth.zip (the same to take away), submissions/ (a file of predictions or a
folder of score maps a classifier, named by its hash) and runs/<pk>/ (what a run says of each
image).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evaluation.models import Benchmark, Submission
from labeling.models import Campaign, Release, User

KINDS = ("classification", "localization", "detection", "wsol")
SPLITS = ("train-fullsup", "test")
MAX_BYTES = 256 * 1024 * 1024
# Of a zip of score maps.
MAX_ZIP_BYTES = 2 * 1024**3
# What a run needs to know, by kind, and what it is unless somebody says so.
COMMON: dict[str, Any] = {"split": "train-fullsup", "confidence": 0.999, "seed": 0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "classification": COMMON,
    "localization": COMMON | {"inclusive": False, "strict": False},
    "detection": COMMON | {"inclusive": False},
    "wsol": {
        "split": "train-fullsup",
        "protocol": "paper",
        "normalize": "min-max",
        "size": 224,
        "thresholds": 1000,
    },
}


@dataclass(frozen=True)
class Plan:
    """What a benchmark would stand on. truth: counts, as ground_truth.count has them."""

    release: int
    kind: str
    truth: dict[str, Any]


def plan(campaign: Campaign, kind: str, release: Release | None = None) -> Plan | None:
    """What a benchmark of this kind would stand on; None where the campaign has no release yet.

    Raises Refusal where the release has nothing of the kind, BadInput for damaged files.
    """
    raise NotImplementedError


def create(
    owner: User,
    *,
    kind: str,
    name: str,
    title: str,
    campaign: Campaign,
    release: Release | None = None,
    **settings: Any,
) -> Benchmark:
    """A benchmark on the labels of a release: without one, on the campaign's latest kept one, or on
    one frozen now.

    settings: of DEFAULTS[kind]. All or nothing; the same again by the same person under the same
    name is the same benchmark. Raises Refusal, with the field; BadInput for damaged files.
    """
    raise NotImplementedError


def release_of(benchmark: Benchmark) -> Release:
    """Whose labels are the truth: the same for good."""
    assert benchmark.release is not None, "a benchmark of this kind stands on a release"
    return benchmark.release


def folder_of(benchmark: Benchmark) -> Path:
    raise NotImplementedError


def run_folder(benchmark: Benchmark, run: int) -> Path:
    return folder_of(benchmark) / "runs" / str(run)


def truth_folder(benchmark: Benchmark) -> Path:
    return folder_of(benchmark) / "truth"


def open_truth(benchmark: Benchmark) -> IO[bytes]:
    """truth.zip, for the caller to close. Raises Refusal where it is gone."""
    raise NotImplementedError


def submission_path(row: Submission) -> Path:
    """The predictions (.csv or .json), or the folder of score maps (wsol)."""
    raise NotImplementedError


def add_submission(
    benchmark: Benchmark, actor: User, name: str, path: Path, file_name: str
) -> Submission:
    """The classifier with its predictions, checked whole against the truth.

    path: a CSV or COCO JSON file; of wsol a zip of <id>.npy, or a folder of them. file_name: what
    the person calls it, for messages. Under a name that is there already, other predictions take
    the place of the old ones and count as another attempt; the same again change nothing. All or
    nothing. Raises BadInput with the place, Refusal, TooLarge.
    """
    raise NotImplementedError


def remove(benchmark: Benchmark, position: int) -> str:
    """The name of the classifier that stood there and no longer takes part, its files gone.

    Its attempts stay counted, should it come again. Raises NotYours where none stands there.
    """
    raise NotImplementedError
