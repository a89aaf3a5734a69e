"""How far the accuracies of a WSOL result may be trusted: intervals over its images. Pure."""

from typing import Any

from labeling.estimators.intervals import clopper_pearson

Result = dict[str, Any]
LEVEL = 0.95


def intervals(result: Result) -> Result:
    """{"level", "max_box_acc", "max_box_acc_v2": {"0.3", …, "mean"}, …}, each [low, high].

    Clopper and Pearson's of a share of the images. Exact for the accuracy of boxes at a threshold
    that is given; it does not say that the threshold was the best of many on the same images. The
    mean over IoUs is taken for such a share. What counts pixels has no interval.
    """
    images = int(result["images"])

    def bounds(value: float | None) -> list[float | None]:
        if value is None or value != value:
            return [None, None]
        return list(clopper_pearson(value * images, images, LEVEL))

    def of(found: Any) -> Any:
        if isinstance(found, dict):
            own = found.get("accuracy")
            return bounds(own) if "accuracy" in found else {k: of(v) for k, v in found.items()}
        return bounds(found)

    keys = ("max_box_acc", "max_box_acc_v2", "top1_localization")
    return {"level": LEVEL} | {key: of(result[key]) for key in keys if key in result}
