"""What `score localization` and `score detection` share: their options and their analysis."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options
from evaluation.management.commands.wordnet import load
from evaluation.readers.box_files import Options
from evaluation.scoring.explaining import Asked, Scored, explain
from labeling.bounded_numbers import level, whole


def add(verb: CommandParser) -> None:
    """The options of both verbs."""
    verb.add_argument(
        "--truth",
        type=Path,
        required=True,
        help="image,wnid,x0,y0,x1,y1 rows, JSON Lines, COCO or Label Studio JSON, a folder of "
        "PASCAL VOC's XML files (as ILSVRC has them), or a release",
    )
    verb.add_argument(
        "--predictions",
        required=True,
        action="append",
        metavar="[NAME=]FILE",
        help="image,wnid,confidence,x0,y0,x1,y1 rows, COCO results, or a text of ILSVRC's kit; "
        "may be given several times",
    )
    verb.add_argument(
        "--repair",
        action="store_true",
        help="of the truth: cut outlines that cross themselves, and shapes that leave their image",
    )
    verb.add_argument(
        "--inclusive",
        action="store_true",
        help="x1 and y1 of CSV rows are the last pixels of the box",
    )
    verb.add_argument(
        "--images",
        type=Path,
        metavar="FILE",
        help="image[,width,height] rows, or the kit's list: there are no other images",
    )
    verb.add_argument(
        "--exclude",
        type=Path,
        metavar="FILE",
        help="image,wnid rows, or the kit's list: what does not count",
    )
    verb.add_argument(
        "--devkit",
        type=Path,
        metavar="META",
        help="what ids of the kit mean: its meta.mat, or a list whose line i is id i",
    )
    verb.add_argument(
        "--confidence", type=level, default=0.999, metavar="LEVEL", help="of the intervals"
    )
    verb.add_argument("--seed", type=whole(), default=0, help="of the bootstrap (0)")
    analysis_options.add(verb)


def options_of(chosen: Mapping[str, Any]) -> Options:
    """Return the options that `add` knows, and those of the verb."""
    return Options(**{name: chosen[name] for name in Options.__annotations__ if name in chosen})


def explained(
    result: Scored,
    values: Mapping[str, Mapping[str, float]],
    images: Mapping[str, int],
    measure: str,
    chosen: Mapping[str, Any],
) -> Scored:
    """Return the result with its analysis, where that was asked for; see explaining.explain()."""
    properties = chosen["properties"]
    if not (chosen["per_class"] or properties):
        return result
    request = Asked(chosen["truth"], options_of(chosen), bool(properties), properties)
    return explain(result, values, images, measure, request, load() if properties else None)
