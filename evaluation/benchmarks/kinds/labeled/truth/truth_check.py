"""Whether a truth that was written can be read back by what scores it."""

from pathlib import Path

from evaluation.benchmarks.kinds.labeled import scoring
from evaluation.benchmarks.kinds.labeled.settings import Settings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import TRUTH, WSOL
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNetMissing, load
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.simulation.vote_files import rows


def check_readable(kind: str, truth: Path, settings: Settings) -> None:
    """Raises Refusal where the truth cannot be scored: labels may be more than files can hold."""
    if kind != WSOL:
        _check_classes(truth / TRUTH)
    try:
        scoring.check_truth(kind, truth, settings)
    except BadInput as error:
        raise Refusal(
            f"The labels of this release cannot be the truth of a {kind}: {error.message}. Choose "
            "another kind of benchmark, or another campaign.",
            field="campaign",
        ) from error


def _check_classes(truth: Path) -> None:
    """Raises Refusal where a class is no noun of WordNet, which the readers ask for."""
    try:
        nouns = load()
    except WordNetMissing:
        raise Refusal(
            "This site has no WordNet 3.0. Ask whoever runs it to run deploy/wordnet.sh.",
            code="no_wordnet",
        ) from None
    seen: set[str] = set()
    for _, (wnid,) in rows(truth, ("wnid",), others=True):
        if wnid in seen:
            continue
        seen.add(wnid)
        try:
            nouns.find(wnid)
        except UnknownLabel:
            raise Refusal(
                f"The class {wnid[:64]!r} is not a noun of WordNet 3.0. Choose a campaign whose "
                "classes are wnids such as n02084071.",
                field="campaign",
            ) from None
