"""`manage.py score`: scores of predictions, from files."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.management import cds_grids
from evaluation.management.commands.wordnet import SimilarityOptions
from evaluation.management.computing import CpuOptions, on_device
from evaluation.management.named_files import named_files, part_option
from evaluation.management.release_truth import of_release
from evaluation.management.wsol import score_cues, score_wsol
from evaluation.metrics.significance import MAX_ROUNDS
from evaluation.readers import box_files, class_files, release_predictions
from evaluation.readers.class_files import Classified, load_wordnet, refuse_no_image
from evaluation.readers.frame_predictions import FramePredictions, frame_places, read_predictions
from evaluation.readers.mappings import read_mapping
from evaluation.readers.sequences import read_sequences
from evaluation.readers.shipped import mapping_file
from evaluation.readers.valid_sets import read_label_sets
from evaluation.scoring import classification, detection, localization
from evaluation.scoring.analysis import accuracies
from evaluation.scoring.cds import scoring
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.result import CdsScoringOptions as CdsSettings
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.detection import DetectionResult
from evaluation.scoring.explaining import AnalysisInput, Scored, explain
from evaluation.scoring.localization import LocalizationResult
from labeling.bounded_numbers import ious, level, whole
from labeling.csv_rows import nfc
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import option

BARE = Path()


@dataclass(kw_only=True)
class CdsOptions(SimilarityOptions, CpuOptions):
    sequences: Path = option("sequences.jsonl")
    predictions: list[Path] = option("frame,classifier,wnid rows; may be given several times")
    mapping: Path | None = option(
        "category,wnid rows: gives B-CDS and errors; pascal: ours, to ILSVRC's classes",
        type=mapping_file,
        metavar="mapping.csv",
    )
    similarity: str = option("how alike two classes are (wup)", "wup", choices=scoring.MEASURES)
    bootstrap: int = option("0: no intervals", 1000, type=whole(), metavar="ROUNDS")
    seed: int = option("of the bootstrap (0)", 0, type=whole())
    part: frozenset[str] | None = part_option()


@dataclass(kw_only=True)
class ScoreOptions(CpuOptions):
    """The options of every verb that scores classes."""

    truth: Path
    predictions: list[str]
    inclusive: bool = option("x1 and y1 are the last pixels of a box")
    confidence: float = option("of the intervals", 0.999, type=level, metavar="LEVEL")
    seed: int = option("of the bootstrap (0)", 0, type=whole())
    per_class: bool = option("each class, the easiest and the hardest ones")
    part: frozenset[str] | None = part_option()
    properties: Path | None = option(
        "wnid,size,deformability,texture,natural rows: figures by property at equal scale",
        metavar="FILE",
    )


@dataclass(kw_only=True)
class ClassificationOptions(ScoreOptions):
    truth: Path = option("image,wnid rows, or a release")
    predictions: list[str] = option(
        "image,rank,wnid[,confidence] rows, or a release of a naming campaign, folder or zip; "
        "given several times, submissions are compared",
        metavar="[NAME=]PATH",
    )
    valid_labels: Path | None = option(
        "labels that hCorrectSets are made of, a wnid per line; without it those of the truth",
        metavar="WNIDS",
    )
    valid_sets: Path | None = option(
        "image,wnid rows, several an image: every class that is right on it, for multi-label "
        "accuracy; an empty wnid states an empty set; or a folder of mistakes apply",
        metavar="SETS",
    )
    devkit: Path | None = option(
        "both files are ILSVRC's own, of ids: what they mean is in its meta.mat, or in a list "
        "whose line i is id i (without META: that of --valid-labels)",
        nargs="?",
        const=BARE,
        metavar="META",
    )
    boxes: Path | None = option(
        "true boxes of these classes, as score localization reads them: figures by scale",
        metavar="TRUTH",
    )
    images: Path | None = option("image,width,height rows of their images", metavar="FILE")

    def request(self) -> AnalysisInput | None:
        """Return the input of the analysis that the options request, or None."""
        if self.properties and not self.boxes:
            raise UsageError("--properties needs --boxes: classes are compared at equal scale")
        if not self.boxes and (self.images or self.inclusive):
            raise UsageError("--images and --inclusive require --boxes")
        if not (self.boxes or self.per_class):
            return None
        read = box_files.BoxReading(inclusive=self.inclusive, images=self.images, seed=self.seed)
        return AnalysisInput(self.boxes, read, properties=self.properties)


@dataclass(kw_only=True)
class BoxOptions(ScoreOptions):
    """The options of localization and detection."""

    truth: Path = option(
        "image,wnid,x0,y0,x1,y1 rows, JSON Lines, COCO or Label Studio JSON, a folder of PASCAL "
        "VOC's XML files (as ILSVRC has them), or a release"
    )
    predictions: list[str] = option(
        "image,wnid,confidence,x0,y0,x1,y1 rows, COCO results, or a text of ILSVRC's kit; may be "
        "given several times",
        metavar="[NAME=]FILE",
    )
    repair: bool = option(
        "of the truth: cut outlines that cross themselves, and shapes that leave their image"
    )
    images: Path | None = option(
        "image[,width,height] rows, or the kit's list: there are no other images", metavar="FILE"
    )
    exclude: Path | None = option(
        "image,wnid rows, or the kit's list: what does not count", metavar="FILE"
    )
    devkit: Path | None = option(
        "what ids of the kit mean: its meta.mat, or a list whose line i is id i", metavar="META"
    )

    def reading(self) -> box_files.BoxReading:
        names = [name for name in box_files.BoxReading.__annotations__ if hasattr(self, name)]
        return box_files.BoxReading(**{name: getattr(self, name) for name in names})


@dataclass(kw_only=True)
class LocalizationOptions(BoxOptions):
    strict: bool = option("an IoU of 0.5 is not enough, as the paper says")


@dataclass(kw_only=True)
class DetectionOptions(BoxOptions):
    ious: tuple[float, ...] = option(
        "that a detection needs with its object, in place of ILSVRC's less for small objects; a "
        "range, in steps of 0.05, gives COCO's mean AP",
        (),
        type=ious,
        flag="--iou",
        metavar="0.5|0.5:0.95",
    )
    most_rounds: int = option(
        "the bootstrap's 20,000 rounds are doubled until it settles, up to N; 0: no intervals",
        MAX_ROUNDS,
        type=whole(),
        metavar="N",
    )


class Command(ContractCommand):
    help = "Scores of the predictions of classifiers, from files."

    @verb("how much of an object a classifier must see", show=cds_grids.show)
    @on_device
    def cds(self, options: CdsOptions) -> CdsResult:
        wordnet, lines = load_wordnet(), read_sequences(options.sequences)
        mapped = read_mapping(options.mapping, wordnet).classes if options.mapping else None
        frames = frame_places(lines)
        read = [read_predictions(path, lines, frames) for path in options.predictions]
        if options.part is not None:
            lines = [line for line in lines if nfc(line.image) in options.part]
            refuse_no_image(lines, options.sequences)
        names = ("convention", "by", "bootstrap", "seed")
        settings = CdsSettings(
            options.similarity, **{name: getattr(options, name) for name in names}
        )
        predictions = functools.reduce(FramePredictions.joined, read)
        try:
            scored = scoring.score(lines, predictions, wordnet, settings, mapped)
        except BadInput as refusal:
            if refusal.line is not None and refusal.file is None:
                refusal.file = str(options.sequences)
            raise
        return scored.with_sequences() if self.as_json else scored.result

    @verb("errors of ILSVRC, hp@k and hit@k of ranked labels")
    @on_device
    @of_release("classification")
    def classification(self, options: ClassificationOptions) -> ClassificationResult:
        request, wordnet = options.request(), load_wordnet()
        paths = named_files(options.predictions)
        classified = _classified(options, paths)
        # Read before on_named_images(), which removes images that a release does not settle.
        images = next(iter(classified.values())).images
        sets = read_label_sets(options.valid_sets, images, wordnet) if options.valid_sets else None
        classified = class_files.on_named_images(classified)
        if options.part is not None:
            classified = {
                name: class_files.on_part(each, options.part) for name, each in classified.items()
            }
        result = classification.score_all(
            classified, wordnet, options.valid_labels, options.confidence, options.seed, sets
        )
        _note_unreviewed(result, classified, paths)
        if options.devkit == BARE and options.valid_labels:
            order = "the kit's own ids are in another order than its wnids"
            result.notes.append(f"ids are lines of {options.valid_labels.name}: {order}")
        if request is None:
            return result
        by_class = {
            name: accuracies(classification.wrong(each), classification.true_classes(each))
            for name, each in classified.items()
        }
        return _explained(result, by_class, "top5_accuracy", request)

    @verb("ILSVRC's localization error")
    @on_device
    @of_release("localization")
    def localization(self, options: LocalizationOptions) -> LocalizationResult:
        reading = options.reading()
        localized = localization.read_all(options.truth, named_files(options.predictions), reading)
        result = localization.score_all(localized, reading)
        by_class = {
            name: accuracies(localization.wrong(each), each.classes)
            for name, each in localized.items()
        }
        return _explained(result, by_class, "localization_accuracy", _request(options))

    @verb("average precision of detections, as ILSVRC has it")
    @on_device
    @of_release("detection")
    def detection(self, options: DetectionOptions) -> DetectionResult:
        reading = options.reading()
        detected = detection.read_all(options.truth, named_files(options.predictions), reading)
        result = detection.score_all(detected, reading)
        images = detection.images_of(next(iter(detected.values())))
        by_class = {
            name: (detection.precisions_of(each), images) for name, each in detected.items()
        }
        return _explained(result, by_class, "ap", _request(options))

    wsol = score_wsol
    wsol_cues = score_cues


def _classified(options: ClassificationOptions, paths: Mapping[str, Path]) -> dict[str, Classified]:
    """Return each submission by its name, together with the truth."""
    wordnet, devkit = load_wordnet(), options.devkit
    if devkit is None:
        read = release_predictions.read_submission
        return {name: read(options.truth, path, wordnet) for name, path in paths.items()}
    meaning = options.valid_labels if devkit == BARE else devkit
    for name in ("boxes", "valid_sets"):
        if getattr(options, name) and not meaning:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} needs to know what the ids mean: give --devkit META")
    ids = class_files.read_ids(meaning) if meaning else None
    if any(release_predictions.is_release(path) for path in paths.values()):
        raise UsageError("--devkit is for files of ILSVRC's kit, not for a release")
    return {
        name: class_files.read_devkit(options.truth, path, wordnet, ids)
        for name, path in paths.items()
    }


def _note_unreviewed(
    result: ClassificationResult,
    classified_by_name: Mapping[str, Classified],
    paths: Mapping[str, Path],
) -> None:
    """Add a note to each submission whose mistakes the label sets' version did not review."""
    version = result.label_set
    if version is None:
        return
    known = {model.sha256 for model in version.models}
    results = result.submissions or [result]
    for submission, (name, classified) in zip(results, classified_by_name.items(), strict=True):
        if release_predictions.submission_sha256(classified, paths[name]) not in known:
            submission.notes.append(
                f"version {version.version} of the label sets did not review its mistakes: valid "
                "ones among them may count as wrong"
            )


def _request(options: BoxOptions) -> AnalysisInput | None:
    properties = options.properties
    if not (options.per_class or properties):
        return None
    return AnalysisInput(options.truth, options.reading(), bool(properties), properties)


def _explained(
    result: Scored,
    by_class: Mapping[str, tuple[Mapping[str, float], Mapping[str, int]]],
    measure: str,
    request: AnalysisInput | None,
) -> Scored:
    """Return the result with its analysis.

    by_class: for each submission, the value and the number of images of each class.
    """
    if request is None:
        return result
    values = {name: of_classes for name, (of_classes, _) in by_class.items()}
    _, images = next(iter(by_class.values()))
    return explain(
        result, values, images, measure, request, load_wordnet() if request.properties else None
    )
