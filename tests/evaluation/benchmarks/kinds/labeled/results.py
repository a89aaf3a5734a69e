"""Results of every kind as a run keeps them, made by hand: some full, some of nothing but nulls."""

from evaluation.benchmarks.kinds.labeled.results import (
    KindCurves,
    KindResult,
    LabeledResult,
    ScoredSubmission,
)
from evaluation.benchmarks.kinds.labeled.settings import check_settings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import TruthCounts
from evaluation.scoring.analysis import Analysis, analyse
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.comparing import (
    BestByClass,
    BestByImage,
    IntervalEstimate,
    Optimistic,
    SubmissionComparison,
    SubmissionPair,
)
from evaluation.scoring.detection import ClassPrecision, DetectionResult
from evaluation.scoring.localization import LocalizationResult
from evaluation.scoring.scored_release import ScoredRelease
from evaluation.scoring.wsol.results import Best, BestByIou, Curves, WsolResult

CAT, COW = "n02121620", "n01887787"
SCORED = {"images": 5, "confidence": 0.999, "seed": 0}


def figure(value: float | None, half: float = 0.1) -> IntervalEstimate:
    interval = [None, None] if value is None else [value - half, value + half]
    return IntervalEstimate(value=value, interval=interval, rounds=20_000)


def analysis(cat: float | None, cow: float | None) -> Analysis:
    known = {CAT: cat, COW: cow}
    values = {wnid: float("nan") if value is None else value for wnid, value in known.items()}
    return analyse(values, {CAT: 3, COW: 2}, "accuracy", {CAT: 0.2, COW: 0.1})


def classification(top5: float | None) -> ClassificationResult:
    at = {str(k): figure(None if top5 is None else 1 - top5 / k) for k in (1, 2, 5, 10, 20)}
    return ClassificationResult(
        **SCORED,
        classes=2,
        top1_error=figure(top5),
        top5_error=figure(top5),
        hierarchical_error=None if top5 is None else figure(10 * top5),
        hp_at_k=None if top5 is None else at,
        hit_at_k=at,
        hierarchy="WordNet 3.0",
        valid_labels=None,
        mean_correct_set_size=None if top5 is None else {"1": 1.0, "2": 2.0},
        notes=["3 images have no prediction: wrong"],
        analysis=analysis(top5, None),
    )


def localization(error: float | None) -> LocalizationResult:
    counts = {"classes": 2, "boxes": 5, "excluded": 0, "notes": []}
    return LocalizationResult(
        **SCORED | counts,
        error=figure(error),
        class_error=error,
        convention="IoU of 0.5 or more",
        analysis=analysis(None if error is None else 1 - error, error),
    )


def detection(ap: float | None) -> DetectionResult:
    counts = {"classes": 2, "boxes": 4, "detections": 10, "excluded": 0, "notes": []}
    none = {"interval": None, "rounds": 0}
    return DetectionResult(
        **SCORED | counts,
        mean_ap=figure(ap),
        per_class={
            CAT: ClassPrecision(ap=ap, positives=4, detections=9, **none),
            COW: ClassPrecision(ap=None, positives=0, detections=1, **none),
        },
        matching="IoU",
        averaging="VOC",
        analysis=None if ap is None else analyse({CAT: ap}, {CAT: 3}, "AP"),
    )


def wsol(accuracy: float | None) -> WsolResult:
    best = Best(accuracy=accuracy, threshold=0.25)
    return WsolResult(
        protocol="paper",
        normalize="max",
        scoremaps="files",
        images=5,
        boxes=5,
        masks=5,
        pxap=accuracy,
        mpxap=accuracy,
        max_box_acc=best,
        max_box_acc_v2=BestByIou(best=dict.fromkeys(("0.3", "0.5", "0.7"), best), mean=accuracy),
        per_class={CAT: accuracy, COW: None},
        px_acc=best,
    )


def curves(value: float | None) -> KindCurves:
    values, thresholds = [value] * 4, [0.0, 0.25, 0.5, 0.75]
    return KindCurves(
        boxes=Curves(
            thresholds=thresholds,
            box_acc=values,
            box_acc_v2={"0.3": values, "0.5": values, "0.7": values},
            score_histogram=[9, 4, 2, 1, 1],
        ),
        masks=Curves(
            thresholds=thresholds,
            px_prec=values,
            px_rec=values,
            px_acc=values,
            background_histogram=[9, 4, 0, 0, 0],
            foreground_histogram=[0, 0, 2, 1, 1],
        ),
    )


CHOSEN = {
    "classification": {},
    "localization": {},
    "detection": {"inclusive": True},
    "wsol": {"protocol": "reference", "normalize": "max", "thresholds": 4},
}
SETTINGS = {
    kind: check_settings(kind, {"split": "test"} | chosen) for kind, chosen in CHOSEN.items()
}
SCORES = {
    "classification": classification,
    "localization": localization,
    "detection": detection,
    "wsol": wsol,
}
TRUTH = TruthCounts(images=5, classes=2, objects=7, masks=False, left_out=[], notes=[])


def comparison(kind: str, value: float | None) -> SubmissionComparison | None:
    if kind == "wsol":
        return None
    if kind == "detection":
        return SubmissionComparison(classes_won={"alpha": 2, "beta": 0})
    counts = {"errors": [1, 2], "only_first_wrong": 0, "only_second_wrong": 1, "both_wrong": 1}
    tests = dict.fromkeys(("z", "p_one_sided", "p_two_sided", "mcnemar_p"), value)
    best = BestByClass(error=value, classes_won={"alpha": 2, "beta": 1}, convention="")
    return SubmissionComparison(
        pairs=[
            SubmissionPair(
                first="alpha", second="beta", difference=figure(value), **counts, **tests
            )
        ],
        optimistic=Optimistic(
            by_class=best, by_image=BestByImage(error=figure(value), convention="")
        ),
    )


def result(kind: str, *values: float | None) -> LabeledResult:
    """Of submissions with these leading values, alpha first; by default one of 0.2 and one of 0.4.

    `curves` stand beside it, as LabeledPages.result_of adds them.
    """
    values = values or (0.2, 0.4)
    names = ("alpha", "beta", "gamma")[: len(values)]
    scored: list[KindResult] = [SCORES[kind](value) for value in values]
    return LabeledResult(
        kind=kind,
        settings=SETTINGS[kind],
        truth=TRUTH,
        submissions=[
            ScoredSubmission(name=name, attempts=at + 1, result=kind_result)
            for at, (name, kind_result) in enumerate(zip(names, scored, strict=True))
        ],
        comparison=comparison(kind, values[0]) if len(values) > 1 else None,
        objects=None,
        notes=["this is a test split, and beta was scored on it 2 times"],
        release=ScoredRelease(number=1, sha256="ab" * 32),
        code_version="1",
        curves={name: curves(value) for name, value in zip(names, values, strict=True)}
        if kind == "wsol"
        else {},
    )
