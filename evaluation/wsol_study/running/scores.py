"""Score maps of a trained model, and their scores, without files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evaluation.metrics.wsol.box_scores import Protocol, center_gaussian, normalized, resized
from evaluation.scoring.wsol.results import BoxResult, Curves, MaskResult
from evaluation.scoring.wsol.scoring import BoxScoring, MaskScoring, in_parts
from evaluation.wsol_study.methods.base import Localizer, WsolMethod
from evaluation.wsol_study.running.parts import StudyPart
from labeling.records import Record

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
AT_ONCE = 64
# Share of the highest score above which a pixel counts as object in CAM's original rule.
AREA_AT = 0.2
# Fixed thresholds at which Fig 8 compares the accuracy with the best one.
FIXED = (0.15, 0.2)
Maps = Mapping[str, NDArray[np.float32]]
# Whether the classification is right, by image.
Rights = Mapping[str, bool]


@dataclass(kw_only=True)
class Scores(Record):
    """The scores of maps on some images; see Trial in results.py."""

    value: float | None
    value_max: float | None
    threshold: float | None
    area: float | None
    boxes_at: dict[str, float] | None = None
    accuracy: float | None = None
    top1: float | None = None
    columns: dict[str, list[float]] | None = None


def normal(images: torch.Tensor) -> torch.Tensor:
    """Return (B, 3, H, W) floats as the networks take them, from (B, H, W, 3) bytes."""
    mean = torch.tensor(MEAN, device=images.device).view(3, 1, 1)
    deviation = torch.tensor(DEVIATION, device=images.device).view(3, 1, 1)
    return (images.permute(0, 3, 1, 2).float() / 255 - mean) / deviation


@torch.no_grad()
def maps_of(
    method: WsolMethod, model: Localizer, part: StudyPart, indices: Sequence[int], device: str
) -> tuple[Maps, Rights | None]:
    """Return the map of each image's class by image name, and where the classification is right;
    None if the method does not classify.
    """

    def load(batch: list[int]) -> tuple[list[int], torch.Tensor]:
        pixels = np.stack([part.pixels(index, model.network.side) for index in batch])
        return batch, torch.from_numpy(pixels)

    maps: dict[str, NDArray[np.float32]] = {}
    rights: dict[str, bool] = {}
    model.eval()
    for batch, pixels in in_parts(load, list(indices), AT_ONCE):
        images = normal(pixels.to(device))
        labels = torch.tensor([part.labels[index] for index in batch], device=device)
        made = method.maps(model, images, labels).float().cpu().numpy()
        names = [part.names[index] for index in batch]
        maps |= zip(names, made, strict=True)
        logits = method.logits(model, images)
        if logits is not None:
            rights |= zip(names, (logits.argmax(1) == labels).tolist(), strict=True)
    return maps, rights or None


def scores_of(
    maps: Maps,
    part: StudyPart,
    indices: Sequence[int],
    protocol: str,
    device: str,
    curves: bool = False,
    rights: Rights | None = None,
) -> Scores:
    """Return the scores of maps; all null where a map is not finite."""
    accuracy = float(np.mean(list(rights.values()))) if rights else None
    made = [maps[part.names[index]] for index in indices]
    if not all(np.isfinite(scores).all() for scores in made):
        return Scores(value=None, value_max=None, threshold=None, area=None, accuracy=accuracy)
    by_name = [
        _result(maps, part, indices, Protocol(protocol, normalize), device, curves, rights)
        for normalize in ("min-max", "max")
    ]
    result = by_name[0]
    areas = [np.mean(normalized(scores) >= AREA_AT) for scores in made]
    values = [
        each.max_box_acc_v2.mean if isinstance(each, BoxResult) else each.mpxap for each in by_name
    ]
    best = result.max_box_acc_v2.best["0.5"] if isinstance(result, BoxResult) else result.px_acc
    scores = Scores(
        value=values[0],
        value_max=values[1],
        threshold=best.threshold,
        area=float(np.mean(areas)),
        accuracy=accuracy,
    )
    if isinstance(result, BoxResult) and result.top1_localization:
        scores.top1 = result.top1_localization.accuracy
    if curves:
        scores.columns = _columns(result)
        if isinstance(result, BoxResult):
            taus, accuracies = scores.columns["threshold"], scores.columns["box_acc_v2_0.5"]
            scores.boxes_at = {str(tau): accuracies[round(tau * (len(taus) - 1))] for tau in FIXED}
    return scores


def center_scores(part: StudyPart, protocol: str, device: str) -> Scores:
    """Return the scores of the center-Gaussian baseline on all images of a part."""
    side = Protocol(protocol).size
    middle = center_gaussian(side, side).astype(np.float32)
    maps = dict.fromkeys(part.names, middle)
    return scores_of(maps, part, range(len(part.names)), protocol, device)


def _result(
    maps: Maps,
    part: StudyPart,
    indices: Sequence[int],
    protocol: Protocol,
    device: str,
    curves: bool,
    rights: Rights | None,
) -> BoxResult | MaskResult:
    def read(name: str) -> NDArray[np.float32 | np.float64]:
        if protocol.name == "reference":
            return resized(maps[name], protocol.size, protocol.size)
        return maps[name]

    images: list[Any] = [part.truth[index] for index in indices]
    scoring: BoxScoring | MaskScoring = BoxScoring(images, protocol, rights, curves)
    if part.data.masks is not None:
        scoring = MaskScoring(images, protocol, part.folder, curves)
    return scoring.result(scoring.sums(read, device), None, device)  # type: ignore[arg-type]


def _columns(result: BoxResult | MaskResult) -> dict[str, list[float]]:
    """Return the columns of by_threshold; scores of exactly 1 are counted in a row of their own."""
    curves = result.curves or Curves(thresholds=[])
    by_iou = curves.box_acc_v2 or {}
    columns = {
        "threshold": [*curves.thresholds, 1.0],
        "box_acc": curves.box_acc,
        **{f"box_acc_v2_{iou}": curve for iou, curve in by_iou.items()},
        "px_prec": curves.px_prec,
        "px_rec": curves.px_rec,
        "px_acc": curves.px_acc,
        "inside": curves.inside_histogram or curves.foreground_histogram,
        "outside": curves.outside_histogram or curves.background_histogram,
    }
    return {key: list(map(float, values)) for key, values in columns.items() if values is not None}
