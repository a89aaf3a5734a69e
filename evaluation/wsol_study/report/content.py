"""The content of a study's folder for its report, and intervals by resampling trials."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.statistics import kendall
from evaluation.wsol_study.results import StudyFolder, Trial

Floats = NDArray[np.float64]
ROUNDS = 1000
# In the order of the paper's tables.
METHOD_TITLES = {"cam": "CAM", "has": "HaS", "acol": "ACoL"}
METHOD_TITLES |= {"spg": "SPG", "adl": "ADL", "cutmix": "CutMix"}
BACKBONE_TITLES = {"vgg16": "VGG", "inception_v3": "Inception", "resnet50": "ResNet"}


def backbone_title(name: str) -> str:
    return BACKBONE_TITLES.get(name, name)


def method_title(name: str) -> str:
    return METHOD_TITLES.get(name, name.upper())


class StudyContent:
    """A study with its records.

    Resampled values are arrays of 1 + ROUNDS numbers: the value, then one per resample of the
    pair's trials. So sums, differences and means of values have intervals, too.
    """

    def __init__(self, folder: StudyFolder) -> None:
        self.folder, self.study, self.passes = folder, folder.study(), len(folder.passes())
        self.trials, self.finals, self.center = folder.trials(), folder.finals(), folder.center()
        self.few_shot, self.attribution = folder.few_shot(), folder.attribution()

    @cached_property
    def methods(self) -> list[str]:
        """Return the methods of the study in the paper's order, without fsl."""
        return [name for name in METHOD_TITLES if name in self.study.settings.methods]

    @property
    def test_images(self) -> int:
        return self.study.settings.images.get("test", 0)

    @property
    def backbones(self) -> list[str]:
        return self.study.settings.backbones

    def trials_of(self, method: str, backbone: str) -> list[Trial]:
        """Return the trials of a pair, in order."""
        pair = [trial for trial in self.trials if trial.pair == f"{method}-{backbone}"]
        return sorted(pair, key=lambda trial: trial.trial)

    def final(self, method: str, backbone: str) -> Trial | None:
        pair = f"{method}-{backbone}"
        return next((trial for trial in self.finals if trial.pair == pair), None)

    def score(self, method: str, backbone: str, key: str = "test") -> Floats:
        """Return the final model's value, then one per round.

        A round chooses the best on fullsup among the resampled trials. Rounds are NaN if the final
        model was trained again, because no trial has its scores.
        """
        final, trials = self.final(method, backbone), self.trials_of(method, backbone)
        scores = np.full(1 + ROUNDS, np.nan)
        if final is None:
            return scores
        scores[0] = _number(getattr(final, key))
        values = np.array([getattr(trial, key) for trial in trials], float)
        chosen = [at for at, trial in enumerate(trials) if trial.trial == final.trial]
        if chosen and values[chosen[0]] == scores[0]:
            chooses = np.array([t.fullsup if t.converged else None for t in trials], float)
            drawn = _resamples(method, backbone, len(trials))
            best = np.nan_to_num(chooses, nan=-np.inf)[drawn].argmax(1)
            scores[1:] = values[drawn[np.arange(ROUNDS), best]]
        return scores

    def tau(self, method: str, backbone: str) -> Floats:
        """Return Kendall's τ-b of fullsup and test over the converged trials, resampled."""
        scores = np.array(
            [(t.fullsup, t.test) for t in self.trials_of(method, backbone) if t.converged], float
        ).reshape(-1, 2)
        scores = scores[np.isfinite(scores).all(1)]
        if len(scores) < 2:
            return np.full(1 + ROUNDS, np.nan)
        drawn = _resamples(method, backbone, len(scores))
        samples = [scores, *(scores[rows] for rows in drawn)]
        return np.array([kendall(*sample.T) for sample in samples])

    def max_box_acc(self, method: str, backbone: str) -> Floats:
        """Return the final model's MaxBoxAcc, the accuracy at the best τ, without rounds."""
        accuracies = self.folder.columns(f"by_threshold/{method}-{backbone}.csv").get("box_acc", [])
        return np.array([max((x for x in accuracies if x == x), default=np.nan)])

    def missing(self, method: str) -> str:
        """Return why a method has no number."""
        if method and method not in self.study.settings.methods:
            return "not run"
        trials = [trial for trial in self.trials if trial.method == method]
        failed = trials and not any(trial.converged for trial in trials)
        return "never converged" if failed else "not measured"

    def center_score(self, key: str = "test") -> Floats:
        """Return the center baseline's value, equal in every round."""
        return np.full(1 + ROUNDS, _number(getattr(self.center, key, None)))


def bounds(values: Floats) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a resampled value.

    Returns (None, None) if under half of the rounds have a value, or all values are equal.
    """
    rounds = values[1:][np.isfinite(values[1:])]
    if len(rounds) < ROUNDS / 2 or rounds.min() == rounds.max():
        return None, None
    low, high = np.quantile(rounds, (0.025, 0.975))
    return float(low), float(high)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _resamples(method: str, backbone: str, count: int) -> NDArray[np.int64]:
    """Return (ROUNDS, count) trial indices, drawn with replacement and seeded by the pair."""
    return np.random.default_rng(list(f"{method}-{backbone}".encode())).integers(
        count, size=(ROUNDS, count)
    )
