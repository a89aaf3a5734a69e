"""A made result of a CDS run: rows of every table as scoring writes them, but no truth in them."""

from itertools import product
from typing import Any

from evaluation.metrics.cds.arrays import AVERAGINGS
from evaluation.metrics.cds.tables import AGAINST
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import PART_SCHEMES

CLASSIFIERS = ["alpha", "beta", "gamma", "people"]
CATEGORIES = ["n02121620", "n02084071", "n04468005"]
PARTS = list(PART_SCHEMES)
CONTENTS = list(CONTENT_SCHEMES)
IMAGES = 12
_MEASURES = ("cds", "b_cds")


def result() -> dict[str, Any]:
    """Head and tables of a run: three classifiers and people, three categories, 5 × 4 schemes."""
    return {
        "classifiers": CLASSIFIERS,
        "similarity": "wup",
        "convention": "clean",
        "by": "wnid",
        "bootstrap": {"rounds": 1000, "seed": 0, "level": 0.95},
        "mapping": {key: [key] for key in CATEGORIES},
        "images": IMAGES,
        "objects": IMAGES,
        "sequences": IMAGES * len(PARTS) * len(CONTENTS),
        "few_objects": [],
        "category_names": {},
        "notes": [],
        "release": {"number": 2, "sha256": "ab" * 32},
        "tables": tables(),
    }


def value_of(classifier: str, place: int, measure: str) -> float:
    """Lower for earlier classifiers and later schemes; people lowest."""
    base = 0.2 if classifier == "people" else 0.4 + 0.1 * CLASSIFIERS.index(classifier)
    return round(base - 0.05 * place + (0.3 if measure == "b_cds" else 0), 4)


def tables() -> dict[str, Any]:
    """Every table of a result."""
    return {
        "averaging": "text",
        "error": [
            _interval({"classifier": name, "error": 0.1 + 0.1 * at, "mean": 0.15, "categories": 3})
            for at, name in enumerate(CLASSIFIERS)
        ],
        "by_content_scheme": _by_content_scheme(),
        "by_part_scheme": [
            _interval(
                {
                    "classifier": name,
                    "part_scheme": part,
                    "measure": measure,
                    "averaging": averaging,
                    "value": value_of(name, PARTS.index(part), measure),
                }
            )
            for name, part, measure, averaging in product(CLASSIFIERS, PARTS, _MEASURES, AVERAGINGS)
        ],
        "best_and_worst": [
            {
                "category": category,
                "measure": measure,
                "lowest": "people",
                "lowest_wins": 18,
                "lowest_share": 0.96,
                "highest": "gamma",
                "highest_wins": 15,
                "highest_share": 0.71,
                "combinations": 20,
                "ties": 1,
            }
            for category, measure in product(CATEGORIES, _MEASURES)
        ],
        "error_correlation": _correlation(),
        "cl_ratio": [
            {
                "classifier": name,
                "index": index,
                "bin": at,
                "low": at / 10,
                "high": (at + 1) / 10,
                "count": index + at,
                "share": (index + at) / 75,
            }
            for name, index, at in product(["", *CLASSIFIERS], range(1, 6), range(10))
        ],
        "hardness": _hardness(),
        "part_presence": [
            {
                "category": category,
                "bin": at,
                "low": at / 10,
                "high": (at + 1) / 10,
                "count": at % 4,
                "share": (at % 4) / 13,
                "objects": 13,
            }
            for category, at in product(CATEGORIES, range(10))
        ],
        "captchas": [_captcha(at) for at in range(3)],
    }


def _interval(row: dict[str, Any]) -> dict[str, Any]:
    middle = row.get("value", row.get("error"))
    return row | {"low": middle - 0.03, "high": middle + 0.04}


def _by_content_scheme() -> list[dict[str, Any]]:
    rows = []
    for name, content, measure, averaging in product(CLASSIFIERS, CONTENTS, _MEASURES, AVERAGINGS):
        value = value_of(name, CONTENTS.index(content), measure)
        against = AGAINST.get(content)
        old = value_of(name, CONTENTS.index(against), measure) if against else value
        gain = (old - value) / old if against else None
        rows.append(
            _interval(
                {
                    "classifier": name,
                    "content_scheme": content,
                    "measure": measure,
                    "averaging": averaging,
                    "value": value,
                    "improvement": gain,
                    "improvement_low": None if gain is None else gain - 0.05,
                    "improvement_high": None if gain is None else gain + 0.05,
                    "against": against,
                    "best": name == "people",
                }
            )
        )
    return rows


def _correlation() -> list[dict[str, Any]]:
    return [
        {
            "measure": measure,
            "averaging": averaging,
            "error": error,
            "pearson": -0.332,
            "pearson_p": 0.668,
            "pearson_low": -0.9,
            "pearson_high": 0.8,
            "spearman": 0.0,
            "spearman_p": 1.0,
            "content_schemes": CONTENTS,
            "errors": [0.5, 0.45, 0.4, 0.3],
            "scores": [0.5, 0.4, 0.42, 0.33],
        }
        for measure, averaging, error in product(_MEASURES, AVERAGINGS, ("frames", "whole"))
    ]


def _hardness() -> list[dict[str, Any]]:
    rows = []
    whichs = [("content_scheme", name) for name in CONTENTS]
    whichs += [("classifier", name) for name in CLASSIFIERS]
    for form, which in whichs:
        for at in range(IMAGES):
            gallery = "easiest" if at < 3 else "hardest" if at >= 9 else ""
            rows.append(
                {
                    "form": form,
                    "of": which,
                    "image": f"photo-{at % 4}.png",
                    "object": f"thing-{at}",
                    "category": CATEGORIES[at % 3],
                    "hardness": 0.1 + 0.05 * at,
                    "low": 0.08 + 0.05 * at,
                    "high": 0.12 + 0.05 * at,
                    "rank": at + 1,
                    "gallery": gallery or ("median" if 4 <= at < 8 else ""),
                }
            )
    return rows


def _captcha(at: int) -> dict[str, Any]:
    ids = [f"photo-3.png/thing-11/E_U/low/{frame:02d}" for frame in range(2, 5)]
    return {
        "image": "photo-3.png",
        "object": "thing-11",
        "category": CATEGORIES[2],
        "part_scheme": PARTS[at],
        "content_scheme": "low",
        "frames": 8,
        "threshold": 0.65,
        "of": "alpha",
        "first": 2,
        "last": 4,
        "frame_ids": ids,
        "pair_image": "photo-0.png",
        "pair_object": "thing-0",
    }
