"""What lies behind a figure: options that several verbs of score share, and their tables."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import UnknownLabel
from evaluation.readers.box_files import Options
from evaluation.scoring.explaining import Asked
from labeling.management.contract import Result, UsageError, table

WIDEST_BAR = 40


def add(verb: CommandParser) -> None:
    """The options that every verb of classes has."""
    verb.add_argument(
        "--per-class",
        action="store_true",
        help="what lies behind the mean: each class, the easiest and the hardest",
    )
    verb.add_argument(
        "--properties",
        type=Path,
        metavar="FILE",
        help="wnid,size,deformability,texture,natural rows: figures by property at equal scale",
    )


def add_boxes(verb: CommandParser) -> None:
    """The options of a verb whose own truth has no boxes."""
    verb.add_argument(
        "--boxes",
        type=Path,
        metavar="TRUTH",
        help="true boxes of these classes, as score localization reads them: figures by scale",
    )
    verb.add_argument(
        "--images", type=Path, metavar="FILE", help="image,width,height rows of their images"
    )
    verb.add_argument("--inclusive", action="store_true", help="x1 and y1 are the last pixels")


def asked(options: Mapping[str, Any]) -> Asked | None:
    """What add() and add_boxes() were given; None where nothing was asked for."""
    boxes, properties = options["boxes"], options["properties"]
    if properties and not boxes:
        raise UsageError("--properties needs --boxes: classes are compared at equal scale")
    if not boxes and (options["images"] or options["inclusive"]):
        raise UsageError("--images and --inclusive tell of --boxes, which is missing")
    if not (boxes or options["per_class"]):
        return None
    read = Options(inclusive=options["inclusive"], images=options["images"], seed=options["seed"])
    return Asked(boxes, read, properties=properties)


def tables(result: Result) -> Iterator[str]:
    """`analysis`, of the best by class where there are several submissions, and `objects`."""
    found = result.get("analysis")
    if found is None:
        return
    of = "of the submission"
    if "submissions" in result:
        found = result["comparison"]["optimistic"]["by_class"]["analysis"]
        of = "of the best submission on each class"
    yield from _per_class(found["per_class"], f"{found['measure']} by class, {of}")
    if found["by_scale"]:
        yield table(
            [
                ("correlation with the scale of objects", _known(found["by_scale"]["correlation"])),
                ("rank correlation", _known(found["by_scale"]["rank_correlation"])),
                ("classes", found["by_scale"]["classes"]),
            ]
        )
    if found["properties"]:
        yield from _by_property(found["properties"], found["measure"])
    if result["objects"]:
        names = ("scale", "cpl", "instances_per_image", "neighbours_per_instance")
        head = [("objects: mean over classes", "")]
        yield table(head + [(name, _known(result["objects"][name])) for name in names])


def comparison(found: Result) -> Iterator[str]:
    """What of the order is sure, every pair with its tests, and the best of all submissions."""
    yield found["sure"]["words"]
    rows = [
        (
            f"{pair['first']} − {pair['second']}",
            pair["difference"]["value"],
            *pair["difference"]["interval"],
            pair["z"],
            *(_p(pair[name]) for name in ("p_one_sided", "p_two_sided", "mcnemar_p")),
        )
        for pair in found["pairs"]
    ]
    bounds = f"{100 * found['confidence']:g} % from"
    head = ("errors", "difference", bounds, "to", "z", "p one-sided", "p two-sided", "McNemar's p")
    yield table([[_known(cell) for cell in row] for row in rows], head=head)
    best = found["optimistic"]
    yield table(
        [
            (
                "the best submission on each class, mean over classes",
                _known(best["by_class"]["error"]),
            ),
            ("any submission right on the image", _known(best["by_image"]["error"]["value"])),
        ],
        head=("optimistic", "error"),
    )
    yield table(list(best["by_class"]["classes_won"].items()), head=("submission", "classes won"))


def _per_class(found: Result, title: str) -> Iterator[str]:
    ends = found["range"]
    told = [("mean", found["mean"]), *ends.items(), ("classes", found["classes"])]
    told = [(name, _known(value)) for name, value in told]
    yield f"{title}\n{table(told)}"
    counts = found["histogram"]["counts"]
    most = max([*counts, 1])
    edges = found["histogram"]["edges"]
    first = next((i for i, count in enumerate(counts) if count), 0)
    bars = [
        (f"{low:.2f} to {high:.2f}", count, "█" * round(WIDEST_BAR * count / most))
        for low, high, count in list(zip(edges, edges[1:], counts, strict=False))[first:]
    ]
    yield table(bars, head=("value", "classes"))
    for name in ("easiest", "hardest"):
        yield _extremes(found[name], name)


def _extremes(found: Result, name: str) -> str:
    rows = [(f"{row['value']:.4f}", row["wnid"], _name(row["wnid"])) for row in found["rows"]]
    tied = found["tied"]
    shown = table(rows, head=(name,))
    if tied["classes"] > tied["listed"]:
        shown += f"\n… {tied['listed']} of {tied['classes']} classes with {tied['value']:.4f}"
    return shown


def _by_property(found: Result, measure: str) -> Iterator[str]:
    for name, figure in found["figures"].items():
        body = []
        for row in figure["bins"]:
            own = row["matched"]
            bounds = own["interval"] or [None, None]
            after = (own["classes"], own["scale"], own["value"], *bounds)
            body.append((row["bin"], row["classes"], row["scale"], row["value"], *after))
        bounds = f"{100 * found['level']:g} % from"
        head = ("classes", "scale", measure, "matched", "scale", measure, bounds, "to")
        yield table(
            [[_known(cell) for cell in row] for row in body], head=(name.replace("_", " × "), *head)
        )
    yield f"matched: {found['matching']}"
    told = [(name.replace("_", " and "), value) for name, value in found["correlations"].items()]
    yield table([(f"correlation of {name}", _known(value)) for name, value in told])


def _p(value: float) -> str:
    return f"{value:.3g}" if value else "< 1e-300"


def _known(value: Any) -> Any:
    """A cell: four digits behind the point, nothing for what is not a number."""
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 4)
    return value


def _name(wnid: str) -> str:
    wordnet = load()
    try:
        return wordnet.lemmas(wordnet.index(wnid))[0]
    except UnknownLabel:
        return ""
