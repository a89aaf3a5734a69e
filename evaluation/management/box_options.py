"""What `score localization` and `score detection` share: their options and how files are named."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.ilsvrc.box_files import Options
from evaluation.management.classification_options import level, seed_number
from labeling.management.contract import UsageError


def add(verb: CommandParser) -> None:
    """The options of both verbs."""
    verb.add_argument(
        "--truth",
        type=Path,
        required=True,
        help="image,wnid,x0,y0,x1,y1 rows, COCO JSON, the folder of ILSVRC's XML files, or a "
        "release",
    )
    verb.add_argument(
        "--predictions",
        type=named,
        required=True,
        action="append",
        metavar="[NAME=]FILE",
        help="image,wnid,confidence,x0,y0,x1,y1 rows, COCO results, or a text of ILSVRC's kit; "
        "may be given several times",
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
    verb.add_argument("--seed", type=seed_number, default=0)


def named(text: str) -> tuple[str, Path]:
    """Name and path of a submission: NAME=FILE, else the file's name without its ending."""
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, Path(path)
    return Path(text).stem, Path(text)


def submissions(predictions: list[tuple[str, Path]]) -> dict[str, Path]:
    """Files by name. Raises UsageError for a name that comes twice."""
    found = dict(predictions)
    if len(found) < len(predictions):
        raise UsageError("two submissions have the same name; give them as NAME=FILE")
    return found


def options_of(chosen: dict[str, Any]) -> Options:
    """The options that `add` knows, and those of the verb."""
    return Options(**{name: chosen[name] for name in Options.__annotations__ if name in chosen})
