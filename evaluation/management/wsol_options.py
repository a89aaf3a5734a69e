"""`score wsol`: its options, its action, and its result as a person reads it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.engines.running import Engine
from evaluation.management.analysis_options import bounds
from evaluation.management.engine_options import Shard, Share, Work, add_engine, in_tasks
from evaluation.metrics.wsol import box_scores
from evaluation.scoring.wsol import cues as cue_files
from evaluation.scoring.wsol import scoring, splits, stretch_tasks
from evaluation.scoring.wsol.results import Best, Bounds, BoxResult, MaskResult
from labeling.bounded_numbers import whole
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.records import Record

# Below the data folder: which score maps were scored on which test split.
RECORD = "wsol-test-scorings.jsonl"
PIXEL_CURVES = {"px_prec": "PxPrec", "px_rec": "PxRec", "px_acc": "PxAcc"}


@dataclass(kw_only=True)
class Split(Record):
    """test_scorings: how many sets of score maps were scored on a test split; None of others."""

    split: str | None
    test_scorings: int | None


@dataclass(kw_only=True)
class SplitBoxes(BoxResult, Split):
    """What the verb gives for boxes: the split comes first."""


@dataclass(kw_only=True)
class SplitMasks(MaskResult, Split):
    """What the verb gives for masks."""


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
    verb.add_argument(
        "--split",
        choices=splits.SPLITS,
        help="by default what the last name of --metadata says, if it is one of these",
    )
    verb.add_argument(
        "--protocol",
        choices=box_scores.PROTOCOLS,
        default="paper",
        help="as the paper defines it, or as its authors' code counts (paper)",
    )
    verb.add_argument(
        "--normalize",
        choices=box_scores.NORMALIZATIONS,
        default="min-max",
        help="what scales a map to 0 to 1 (min-max)",
    )
    verb.add_argument(
        "--size",
        type=whole(1, box_scores.LARGEST_SIZE),
        default=224,
        help="side of maps under reference, and of the baseline's (default 224)",
    )
    verb.add_argument(
        "--thresholds",
        type=whole(1, box_scores.MOST_THRESHOLDS),
        default=1000,
        help="0, 1/n, 2/n, … (default 1000)",
    )
    verb.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="id,class rows of a classifier: gives top-1 localization",
    )
    verb.add_argument("--curves", action="store_true", help="accuracies at every threshold, too")
    add_engine(verb)


def action(
    command: ContractCommand,
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
    split: str | None,
    device: str,
    on: Engine | None,
    work: str | None,
    shard: Shard | None,
    temporary: bool = False,
    **options: Any,
) -> SplitBoxes | SplitMasks | Share:
    """What the verb gives. command: warns, and shows how far it is. temporary: whether the masks
    are those of a release, in a folder that goes with the command."""
    if (scoremaps is None) == (baseline is None):
        raise UsageError("give --scoremaps DIR or --baseline center-gaussian, one of them")
    if masks is not None and predictions is not None:
        raise UsageError("--predictions is for boxes; leave it out, or --masks")
    split = split or splits.split_of(metadata)
    splits.check(split, metadata)
    rules = box_scores.Protocol(protocol, normalize, thresholds, size)
    with in_tasks(command, on, work, shard) as engine:
        result: BoxResult | MaskResult | Share
        if engine is not None:
            result = _by_tasks(
                engine, metadata, masks, scoremaps, rules, predictions, curves, device, temporary
            )
        elif masks is not None:
            result = scoring.Masks.read(metadata, masks, rules, curves).score(scoremaps, device)
        else:
            boxes = scoring.Boxes.read(metadata, rules, predictions, curves)
            result = boxes.score(scoremaps, device)
    if isinstance(result, Share):
        return result
    values: dict[str, Any] = vars(devices.with_device(result, device))
    # A baseline looks at no image: nothing was chosen for it.
    times = None
    if split == splits.TEST and scoremaps is not None:
        times = _count(command.warn, scoremaps, metadata)
    made = SplitBoxes if masks is None else SplitMasks
    return made(split=split, test_scorings=times, **values)


def _by_tasks(
    work: Work,
    metadata: Path,
    masks: Path | None,
    scoremaps: Path | None,
    rules: box_scores.Protocol,
    predictions: Path | None,
    curves: bool,
    device: str,
    temporary: bool,
) -> BoxResult | MaskResult | Share:
    """Return the result of tasks; with --shard what was made of them."""
    if masks is not None:
        masked = scoring.Masks.read(metadata, masks, rules, curves)
        scoring.reader(scoremaps, rules, [image.name for image in masked.images])
        stretches = work.mine(stretch_tasks.stretches_of(masked.images))
        kept = work.store if temporary and work.engine.on_other_machines else None
        tasks = stretch_tasks.mask_tasks(masked, stretches, scoremaps, device, kept)
        if work.shard:
            return work.share(tasks, "scoring")
        pixels = stretch_tasks.joined_masks(masked, work.results(tasks, "scoring"))
        return masked.result(pixels, scoremaps, device)
    boxes = scoring.Boxes.read(metadata, rules, predictions, curves)
    scoring.reader(scoremaps, rules, [image.name for image in boxes.images])
    parts = work.mine(stretch_tasks.stretches_of(boxes.images))
    tasks = stretch_tasks.box_tasks(boxes, parts, scoremaps, device)
    if work.shard:
        return work.share(tasks, "scoring")
    hits = stretch_tasks.joined_boxes(boxes, work.results(tasks, "scoring"))
    return boxes.result(hits, scoremaps, device)


def _count(tell: Callable[[str], None], scoremaps: Path, metadata: Path) -> int:
    """How many sets of maps this test split has been scored with; from the second on it warns."""
    truth, maps = splits.truth_hash(metadata), splits.maps_hash(scoremaps, metadata)
    times = splits.count(settings.DATA_DIR / RECORD, truth, maps)
    if times > 1:
        tell(
            f"{times} sets of score maps have been scored on this test split. What was chosen by"
            f" their scores has seen the test: choose on {splits.FULL}, and report test once."
        )
    return times


def show(result: SplitBoxes | SplitMasks | Share) -> str:
    """Return the settings, then a row a metric."""
    if isinstance(result, Share):
        return table(result.to_json().items())
    names = ("split", "test_scorings", "protocol", "normalize", "scoremaps", "images", "boxes")
    facts = [(name, getattr(result, name, None)) for name in (*names, "masks")]
    text = _boxes(result) if isinstance(result, SplitBoxes) else _pixels(result)
    return f"{table([fact for fact in facts if fact[1] is not None])}\n\n{text}"


def _pixels(result: MaskResult) -> str:
    best = result.px_acc
    rows = [
        ("PxAP", result.pxap),
        ("mPxAP", result.mpxap),
        (f"PxAcc at {best.threshold:g}", best.accuracy),
    ]
    classes = table(result.per_class.items(), head=("class", "PxAP"))
    text = f"{table(rows, head=('metric', 'value'))}\n\n{classes}"
    if result.reason:
        text = f"No PxAP: {result.reason}.\n\n{text}"
    if result.curves:
        columns = [getattr(result.curves, name) for name in ("thresholds", *PIXEL_CURVES)]
        lines = zip(*columns, strict=True)
        text += f"\n\n{table(lines, head=('threshold', *PIXEL_CURVES.values()))}"
    return text


def _boxes(result: BoxResult) -> str:
    second, known = result.max_box_acc_v2, result.intervals
    assert known, "new results have intervals"
    rows = [_row("MaxBoxAcc", result.max_box_acc, known.max_box_acc)]
    rows += [
        _row(f"MaxBoxAccV2, IoU {key}", best, known.max_box_acc_v2[key])
        for key, best in second.best.items()
    ]
    rows.append(("MaxBoxAccV2, mean", second.mean, None, *known.max_box_acc_v2["mean"]))
    if result.top1_localization and known.top1_localization:
        rows.append(_row("top-1 localization", result.top1_localization, known.top1_localization))
        rows.append(("top-1 accuracy", result.top1_accuracy, None, None, None))
    text = table(rows, head=("metric", "accuracy", "threshold", *bounds(known.level)))
    if result.curves:
        curves, by_iou = result.curves, result.curves.box_acc_v2 or {}
        head = ("threshold", "MaxBoxAcc", *(f"IoU {key}" for key in by_iou))
        lines = zip(curves.thresholds, curves.box_acc or (), *by_iou.values(), strict=True)
        text += f"\n\n{table(lines, head=head)}"
    return text


def _row(name: str, best: Best, interval: Bounds) -> tuple[str | float | None, ...]:
    return name, best.accuracy, best.threshold, *interval


def add_cues(verb: CommandParser) -> None:
    """The options of `score wsol-cues`."""
    verb.add_argument(
        "--cues",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"{','.join(cue_files.COLUMNS)} rows",
    )


def score_cues(cues: Path, **options: Any) -> cue_files.CuesResult:
    return cue_files.score(cue_files.read_cues(cues))


def show_cues(result: cue_files.CuesResult) -> str:
    """Return a row for each class, then one for each pair of its cues."""
    classes = result.classes.items()
    rows = [
        (label, "yes" if cues.well_posed else "no", cues.least_alpha) for label, cues in classes
    ]
    pairs = [
        (label, pair.foreground, pair.background, pair.alpha)
        for label, cues in classes
        for pair in cues.alpha
    ]
    return (
        f"well-posed classes  {result.well_posed:.6g}\n\n"
        f"{table(rows, head=('class', 'well-posed', 'least α'))}\n\n"
        f"{table(pairs, head=('class', 'foreground', 'background', 'α'))}"
    )
