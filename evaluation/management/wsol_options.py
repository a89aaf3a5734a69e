"""`score wsol`: its options, its deed, and its result as a person reads it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.metrics import wsol
from evaluation.wsol import scoring
from labeling.management.contract import Result, UsageError, table

MOST_THRESHOLDS = 65_000
LARGEST_SIZE = 4096


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    verb.add_argument("--scoremaps", type=Path, metavar="DIR", help="a map <id>.npy an image")
    verb.add_argument(
        "--baseline",
        choices=["center-gaussian"],
        help="instead of --scoremaps: one map for all that looks at no image",
    )
    verb.add_argument(
        "--metadata",
        type=Path,
        required=True,
        metavar="DIR",
        help="image_ids.txt, class_labels.txt, image_sizes.txt, localization.txt; or a release",
    )
    verb.add_argument(
        "--masks", type=Path, metavar="DIR", help="where the masks lie that localization.txt names"
    )
    verb.add_argument("--protocol", choices=wsol.PROTOCOLS, default="paper")
    verb.add_argument("--normalize", choices=wsol.NORMALIZATIONS, default="min-max")
    verb.add_argument(
        "--size",
        type=side,
        default=224,
        help="side of maps under reference, and of the baseline's (default 224)",
    )
    verb.add_argument(
        "--thresholds", type=threshold_count, default=1000, help="0, 1/n, 2/n, … (default 1000)"
    )
    verb.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="id,class rows of a classifier: gives top-1 localization",
    )
    verb.add_argument("--curves", action="store_true", help="accuracies at every threshold, too")


def side(text: str) -> int:
    """A whole number of pixels."""
    value = int(text)
    if not 1 <= value <= LARGEST_SIZE:
        raise ValueError(text)
    return value


def threshold_count(text: str) -> int:
    """A whole number from 1 to MOST_THRESHOLDS."""
    value = int(text)
    if not 1 <= value <= MOST_THRESHOLDS:
        raise ValueError(text)
    return value


def deed(
    scoremaps: Path | None,
    baseline: str | None,
    metadata: Path,
    masks: Path | None,
    protocol: str,
    normalize: str,
    size: int,
    thresholds: int,
    predictions: Path | None,
    curves: bool,
    **options: Any,
) -> Result:
    if (scoremaps is None) == (baseline is None):
        raise UsageError("give --scoremaps DIR or --baseline center-gaussian, one of them")
    asked = wsol.Protocol(protocol, normalize, thresholds, size)
    if masks is not None:
        if predictions is not None:
            raise UsageError("--predictions is for boxes; leave it out, or --masks")
        return scoring.score_masks(metadata, masks, scoremaps, asked, curves)
    return scoring.score_boxes(metadata, scoremaps, asked, predictions, curves)


def show(result: Result) -> str:
    """The settings, then a row a metric."""
    names = ("protocol", "normalize", "scoremaps", "images", "boxes", "masks")
    settings = table([(name, result[name]) for name in names if name in result])
    return f"{settings}\n\n{_pixels(result) if 'masks' in result else _boxes(result)}"


def _pixels(result: Result) -> str:
    rows = [("PxAP", result["pxap"]), ("mPxAP", result["mpxap"])]
    rows.append((f"PxAcc at {result['px_acc']['threshold']:g}", result["px_acc"]["accuracy"]))
    classes = table(result["per_class"].items(), head=("class", "PxAP"))
    shown = f"{table(rows, head=('metric', 'value'))}\n\n{classes}"
    if "curves" in result:
        head = ("thresholds", "px_prec", "px_rec", "px_acc")
        lines = zip(*(result["curves"][name].tolist() for name in head), strict=True)
        shown += f"\n\n{table(lines, head=('threshold', 'PxPrec', 'PxRec', 'PxAcc'))}"
    return shown


def _boxes(result: Result) -> str:
    second = result["max_box_acc_v2"]
    rows: list[tuple[str, float, float | None]] = [("MaxBoxAcc", *_cells(result["max_box_acc"]))]
    rows += [(f"MaxBoxAccV2, IoU {key}", *_cells(second[key])) for key in second if key != "mean"]
    rows.append(("MaxBoxAccV2, mean", second["mean"], None))
    if "top1_localization" in result:
        rows.append(("top-1 localization", *_cells(result["top1_localization"])))
        rows.append(("top-1 accuracy", result["top1_accuracy"], None))
    shown = table(rows, head=("metric", "accuracy", "threshold"))
    if "curves" in result:
        curves = result["curves"]
        head = ("threshold", "MaxBoxAcc", *(f"IoU {key}" for key in curves["box_acc_v2"]))
        columns = [curves["thresholds"], curves["box_acc"], *curves["box_acc_v2"].values()]
        lines = zip(*(column.tolist() for column in columns), strict=True)
        shown += f"\n\n{table(lines, head=head)}"
    return shown


def _cells(best: dict[str, float]) -> tuple[float, float]:
    return best["accuracy"], best["threshold"]
