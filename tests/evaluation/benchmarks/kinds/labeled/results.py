"""Results of every kind as a run keeps them, made by hand: some full, some of nothing but nulls."""

from typing import Any

Result = dict[str, Any]
CAT, COW = "n02121620", "n01887787"


def figure(value: float | None, half: float = 0.1) -> Result:
    interval = [None, None] if value is None else [value - half, value + half]
    return {"value": value, "interval": interval, "rounds": 20_000}


def analysis(cat: float | None, cow: float | None) -> Result:
    rows = [
        {"wnid": CAT, "value": cat, "images": 3},
        {"wnid": COW, "value": cow, "images": 2},
    ]
    points = [
        {"wnid": wnid, "scale": scale, "value": value}
        for wnid, scale, value in ((CAT, 0.2, cat), (COW, 0.1, cow))
        if value is not None
    ]
    return {
        "per_class": {"rows": rows},
        "by_scale": {"rows": points, "correlation": 0.5, "rank_correlation": None},
    }


def classification(top5: float | None) -> Result:
    at = {str(k): figure(None if top5 is None else 1 - top5 / k) for k in (1, 2, 5, 10, 20)}
    return {
        "images": 5,
        "classes": 2,
        "top1_error": figure(top5),
        "top5_error": figure(top5),
        "hierarchical_error": None if top5 is None else figure(10 * top5),
        "hp_at_k": None if top5 is None else at,
        "hit_at_k": at,
        "hierarchy": "WordNet 3.0",
        "valid_labels": None,
        "mean_correct_set_size": None if top5 is None else {"1": 1.0, "2": 2.0},
        "notes": ["3 images have no prediction: wrong"],
        "analysis": analysis(top5, None),
    }


def localization(error: float | None) -> Result:
    return {
        "error": figure(error),
        "class_error": error,
        "convention": "IoU of 0.5 or more",
        "notes": [],
        "analysis": analysis(None if error is None else 1 - error, error),
    }


def detection(ap: float | None) -> Result:
    return {
        "mean_ap": figure(ap),
        "per_class": {
            CAT: {"ap": ap, "positives": 4, "detections": 9},
            COW: {"ap": None, "positives": 0, "detections": 1},
        },
        "notes": [],
    }


def wsol(accuracy: float | None) -> Result:
    best = {"accuracy": accuracy, "threshold": 0.25}
    return {
        "protocol": "paper",
        "max_box_acc": best,
        "max_box_acc_v2": {"0.3": best, "0.5": best, "0.7": best, "mean": accuracy},
        "pxap": accuracy,
        "mpxap": accuracy,
        "per_class": {CAT: accuracy, COW: None},
        "px_acc": best,
    }


def curves(value: float | None) -> Result:
    values = [value] * 4
    return {
        "boxes": {
            "thresholds": [0.0, 0.25, 0.5, 0.75],
            "box_acc": values,
            "box_acc_v2": {"0.3": values, "0.5": values, "0.7": values},
            "score_histogram": [9, 4, 2, 1, 1],
        },
        "masks": {
            "thresholds": [0.0, 0.25, 0.5, 0.75],
            "px_prec": values,
            "px_rec": values,
            "px_acc": values,
            "background_histogram": [9, 4, 0, 0, 0],
            "foreground_histogram": [0, 0, 2, 1, 1],
        },
    }


SETTINGS: dict[str, Result] = {
    "classification": {"split": "test", "confidence": 0.999, "seed": 0},
    "localization": {
        "split": "test",
        "confidence": 0.999,
        "seed": 0,
        "inclusive": False,
        "strict": False,
    },
    "detection": {"split": "test", "confidence": 0.999, "seed": 0, "inclusive": True},
    "wsol": {
        "split": "test",
        "protocol": "reference",
        "normalize": "max",
        "size": 224,
        "thresholds": 4,
    },
}
SCORED = {
    "classification": classification,
    "localization": localization,
    "detection": detection,
    "wsol": wsol,
}
TRUTH = {"images": 5, "classes": 2, "objects": 7, "masks": False, "left_out": [], "notes": []}


def comparison(kind: str, value: float | None) -> Result | None:
    if kind == "wsol":
        return None
    if kind == "detection":
        return {"classes_won": {"alpha": 2, "beta": 0}}
    return {
        "pairs": [
            {
                "first": "alpha",
                "second": "beta",
                "errors": [1, 2],
                "difference": figure(value),
                "only_first_wrong": 0,
                "only_second_wrong": 1,
                "both_wrong": 1,
                "z": value,
                "p_one_sided": value,
                "p_two_sided": value,
                "mcnemar_p": value,
            }
        ],
        "optimistic": {
            "by_class": {"error": value, "classes_won": {"alpha": 2, "beta": 1}},
            "by_image": {"error": figure(value)},
        },
    }


def result(kind: str, *values: float | None) -> Result:
    """Of submissions with these leading values, alpha first; by default one of 0.2 and one of 0.4.

    `curves` stand beside it, as pages.result_of adds them.
    """
    values = values or (0.2, 0.4)
    names = ("alpha", "beta", "gamma")[: len(values)]
    found: Result = {
        "kind": kind,
        "settings": SETTINGS[kind],
        "truth": TRUTH,
        "submissions": [
            {"name": name, "attempts": at + 1, "result": SCORED[kind](value)}
            for at, (name, value) in enumerate(zip(names, values, strict=True))
        ],
        "comparison": comparison(kind, values[0]) if len(values) > 1 else None,
        "notes": ["this is a test split, and beta was scored on it 2 times"],
        "release": {"number": 1, "sha256": "ab" * 32},
        "code_version": "1",
        "curves": {},
    }
    if kind == "wsol":
        found["curves"] = {name: curves(value) for name, value in zip(names, values, strict=True)}
    return found
