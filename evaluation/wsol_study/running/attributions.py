"""Table IX and Fig 20: gradients of the chosen CAM models as score maps."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from evaluation import devices
from evaluation.engines.packing import packed
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task, task
from evaluation.metrics.attribution.gradients import score_maps
from evaluation.metrics.attribution.recipes import Recipe
from evaluation.scoring.wsol.splits import FULL, TEST
from evaluation.wsol_study.methods.base import Localizer, WsolMethod
from evaluation.wsol_study.running.scores import maps_of, normal, scores_of
from evaluation.wsol_study.running.trials import computing, opened_model
from labeling.json_text import canonical

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


def cells() -> Iterator[tuple[str, str, int, float]]:
    """Yield part, method, N and σ of every cell of Table IX, then of Fig 20."""
    for name in METHODS:
        yield TEST, name, SAMPLES, SMOOTH
    for name in METHODS:
        if "-" in name:
            yield from ((FULL, name, n, sigma) for n in GRID_SAMPLES for sigma in GRID_SMOOTH)


def attribution_task(
    tested: Task, part: str, sha256: str, method: str, n: int, sigma: float
) -> Task:
    """Return the task of a cell. tested: that of the model on test; sha256: of the part."""
    arguments = {
        "trained": tested.arguments["trained"],
        "part": part,
        "images": sha256,
        "method": method,
        "samples": n,
        "smooth": sigma,
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
    data: Mapping[str, Any],
    device: str,
    threads: int,
    deterministic: bool,
    store: str,
) -> bytes:
    """Return the score of a model's gradients on a part."""
    device = devices.checked(device)
    recipe = Recipe(METHODS[method], samples=samples, smooth=smooth)
    with computing(threads, deterministic):
        model, goal, study_part, side = opened_model(
            plan, canonical(data), part, Store.at(store).get(trained), device
        )
        indices = np.arange(len(study_part.names)).tolist()
        maps, _ = maps_of(GradientMaps(recipe), model, study_part, indices, side, device)
        scores = scores_of(maps, study_part, indices, goal.protocol, device)
    return packed({}, scores.to_json())
