"""Table IX and Fig 20: gradients of the chosen CAM models as score maps."""

import itertools
from collections.abc import Mapping
from typing import Any

import torch

from evaluation.engines.packing import pack_arrays
from evaluation.engines.tasks import Task, task
from evaluation.metrics.attribution.gradients import score_maps
from evaluation.metrics.attribution.recipes import Recipe
from evaluation.scoring.wsol.splits import FULL, TEST
from evaluation.wsol_study.methods.base import Localizer, WsolMethod
from evaluation.wsol_study.results import Attribution
from evaluation.wsol_study.running.scores import normal
from evaluation.wsol_study.running.training import TrialPlan
from evaluation.wsol_study.running.trials import StudySite, score_part

# The paper's names → ours.
METHODS = {
    "vb": "vanilla",
    "gb": "guided",
    "sg-vb": "vanilla-smoothgrad",
    "sg-gb": "guided-smoothgrad",
    "ig-vb": "vanilla-integrated",
    "ig-gb": "guided-integrated",
}
# N and σ of Table IX, and the grid of Fig 20.
SAMPLES, SMOOTH = 50, 127.0
GRID_SAMPLES, GRID_SMOOTH = (10, 25, 50), (31.0, 63.0, 127.0)


class GradientMaps(WsolMethod):
    """Score maps of a trained CAM model by its gradients; integrated ones start at black."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def logits(self, model: Localizer, images: torch.Tensor) -> None:
        """Return None: the classification is that of CAM."""

    def maps(self, model: Localizer, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        black = normal(
            torch.zeros(1, *images.shape[2:], 3, dtype=torch.uint8, device=images.device)
        )
        return score_maps(model, images, labels, self.recipe, black[0])


def cells(backbone: str) -> list[Attribution]:
    """Return the cells of Table IX, then of Fig 20, without values."""
    table = [(TEST, name, SAMPLES, SMOOTH) for name in METHODS]
    smoothed = [name for name in METHODS if "-" in name]
    grid = itertools.product([FULL], smoothed, GRID_SAMPLES, GRID_SMOOTH)
    return [
        Attribution(method=name, backbone=backbone, part=part, samples=n, smooth=sigma, value=None)
        for part, name, n, sigma in (*table, *grid)
    ]


def attribution_task(tested: Task, cell: Attribution, sha256: str) -> Task:
    """Return the task of a cell. tested: that of the model on test; sha256: of the cell's part."""
    arguments = {
        "trained": tested.arguments["trained"],
        "part": cell.part,
        "images": sha256,
        "method": cell.method,
        "samples": cell.samples,
        "smooth": cell.smooth,
    }
    return Task.of(attributed_model, arguments, tested.gpus, **tested.locations)


@task(version=1, libraries=("torch",))
def attributed_model(
    trained: str,
    part: str,
    images: str,
    method: str,
    samples: int,
    smooth: float,
    plan: Mapping[str, Any],
    site: Mapping[str, Any],
) -> bytes:
    """Return the score of a model's gradients on a part."""
    maps = GradientMaps(Recipe(METHODS[method], samples=samples, smooth=smooth))
    _, scores = score_part(
        trained, TrialPlan.from_json(plan), StudySite.from_json(site), part, maps
    )
    return pack_arrays({}, scores.to_json())
