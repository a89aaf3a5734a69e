"""`score wsol` and `score wsol-cues`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from evaluation import devices
from evaluation.management.computing import (
    CpuOptions,
    ShardOptions,
    TaskShare,
    TaskWork,
    in_tasks,
    on_device,
)
from evaluation.management.named_files import part_option
from evaluation.management.release_truth import of_release
from evaluation.metrics.wsol import box_scores
from evaluation.readers.class_files import refuse_no_image
from evaluation.scoring.wsol import cues as cue_files
from evaluation.scoring.wsol import scoring, splits, stretch_tasks
from evaluation.scoring.wsol.results import BoxResult, MaskResult
from labeling.bounded_numbers import whole
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import option
from labeling.records import Record

# File in the data folder that records which score maps were scored on which test split.
RECORD = "wsol-test-scorings.jsonl"


@dataclass(kw_only=True)
class Split(Record):
    """test_scorings: number of sets of score maps scored on this test split; None for
    other splits.
    """

    split: str | None
    test_scorings: int | None


@dataclass(kw_only=True)
class SplitBoxes(BoxResult, Split):
    """The scores of boxes, after their split."""


@dataclass(kw_only=True)
class SplitMasks(MaskResult, Split):
    """The scores of masks, after their split."""


@dataclass(kw_only=True)
class WsolOptions(ShardOptions):
    scoremaps: Path | None = option("a map <id>.npy an image", metavar="DIR")
    baseline: str | None = option(
        "instead of --scoremaps: one map for all that looks at no image",
        choices=["center-gaussian"],
    )
    metadata: Path = option(
        "image_ids.txt, class_labels.txt, image_sizes.txt, localization.txt; or a release",
        metavar="DIR",
    )
    masks: Path | None = option("where the masks lie that localization.txt names", metavar="DIR")
    split: str | None = option(
        "by default what the last name of --metadata says, if it is one of these",
        choices=splits.SPLITS,
    )
    protocol: str = option(
        "as the paper defines it, or as its authors' code counts (paper)",
        "paper",
        choices=box_scores.PROTOCOLS,
    )
    normalize: str = option(
        "what scales a map to 0 to 1 (min-max)", "min-max", choices=box_scores.NORMALIZATIONS
    )
    size: int = option(
        "side of maps under reference, and of the baseline's (default 224)",
        224,
        type=whole(1, box_scores.LARGEST_SIZE),
    )
    thresholds: int = option(
        "0, 1/n, 2/n, … (default 1000)", 1000, type=whole(1, box_scores.MAX_THRESHOLDS)
    )
    predictions: Path | None = option(
        "id,class rows of a classifier: gives top-1 localization", metavar="FILE"
    )
    curves: bool = option("accuracies at every threshold, too")
    # Whether the masks are those of a release, in a folder that is removed after the command.
    temporary: bool = False
    part: frozenset[str] | None = part_option()


@verb("how well score maps localize objects", "wsol")
@on_device
@of_release("wsol")
def score_wsol(
    command: ContractCommand, options: WsolOptions
) -> SplitBoxes | SplitMasks | TaskShare:
    """Return the scores of the maps, or with --shard the share of tasks that were run."""
    scoremaps, metadata, masks = options.scoremaps, options.metadata, options.masks
    if (scoremaps is None) == (options.baseline is None):
        raise UsageError("give --scoremaps DIR or --baseline center-gaussian, one of them")
    if masks is not None and options.predictions is not None:
        raise UsageError("--predictions is for boxes; leave it out, or --masks")
    split = options.split or splits.split_of(metadata)
    splits.check(split, metadata)
    rules = box_scores.Protocol(
        options.protocol, options.normalize, options.thresholds, options.size
    )
    truth: scoring.MaskScoring | scoring.BoxScoring
    if masks is not None:
        truth = scoring.MaskScoring.read(metadata, masks, rules, options.curves)
    else:
        truth = scoring.BoxScoring.read(metadata, rules, options.predictions, options.curves)
    truth.keep(options.part)
    refuse_no_image(truth.images, metadata)
    with in_tasks(command, options, options.shard) as work:
        result = _by_tasks(work, truth, options) if work else truth.score(scoremaps, options.device)
    if isinstance(result, TaskShare):
        return result
    values = vars(devices.with_device(result, options.device))
    # Scoring a baseline does not count, because nothing was tuned for it.
    times = None
    if split == splits.TEST and scoremaps is not None:
        times = _count(command.warn, scoremaps, metadata)
    made = SplitBoxes if masks is None else SplitMasks
    return made(split=split, test_scorings=times, **values)


def _by_tasks(
    work: TaskWork, truth: scoring.MaskScoring | scoring.BoxScoring, options: WsolOptions
) -> BoxResult | MaskResult | TaskShare:
    """Return the scores, computed by tasks, or with --shard the share of tasks that were run."""
    scoremaps, device = options.scoremaps, options.device
    truth.reader(scoremaps)
    if isinstance(truth, scoring.MaskScoring):
        stretches = work.mine(stretch_tasks.stretches_of(truth.images))
        is_lost = options.temporary and work.engine.on_other_machines
        kept = work.store if is_lost else None
        tasks = stretch_tasks.mask_tasks(truth, stretches, scoremaps, device, kept)
        if work.shard:
            return work.share(tasks, "scoring")
        pixels = stretch_tasks.joined_masks(truth, work.results(tasks, "scoring"))
        return truth.result(pixels, scoremaps, device)
    tasks = stretch_tasks.box_tasks(
        truth, work.mine(stretch_tasks.stretches_of(truth.images)), scoremaps, device
    )
    if work.shard:
        return work.share(tasks, "scoring")
    hits = stretch_tasks.joined_boxes(truth, work.results(tasks, "scoring"))
    return truth.result(hits, scoremaps, device)


def _count(tell: Callable[[str], None], scoremaps: Path, metadata: Path) -> int:
    """Count this set of maps for the test split, and warn from the second set on."""
    truth, maps = splits.truth_hash(metadata), splits.maps_hash(scoremaps, metadata)
    times = splits.count(settings.DATA_DIR / RECORD, truth, maps)
    if times > 1:
        tell(
            f"{times} sets of score maps have been scored on this test split. What was chosen by"
            f" their scores has seen the test: choose on {splits.FULL}, and report test once."
        )
    return times


@dataclass(kw_only=True)
class CuesOptions(CpuOptions):
    cues: Path = option(f"{','.join(cue_files.COLUMNS)} rows", metavar="FILE")


@verb("whether objects can be told from background by image labels, from cues", "wsol-cues")
@on_device
def score_cues(command: ContractCommand, options: CuesOptions) -> cue_files.CuesResult:
    return cue_files.score(cue_files.read_cues(options.cues))
