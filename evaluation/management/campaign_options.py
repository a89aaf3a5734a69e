"""The options of `campaign open`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import candidate_options
from labeling.kinds import KINDS
from labeling.kinds.naming import MOST
from labeling.models import Dataset
from labeling.question_graph import replaying
from labeling.question_graph.ordering import ORDERS


@dataclass(frozen=True)
class Choice:
    """What they say."""

    kind: str
    name: str
    title: str
    dataset: Dataset
    policy: dict[str, object] | None
    selection: Path | None
    vocabulary: str | None
    graph: str | None
    mode: str | None
    order: str | None
    price: float | None
    present: float | None
    images: Path | None
    candidates: Path | None
    pilot: int | None
    stop: dict[str, float]
    labels: str | None
    proposals: Path | None
    classes: Path | None
    complete: bool
    most: int | None
    examples: Path | None

    def common(self) -> dict[str, Any]:
        """What is made of every kind of campaign."""
        names = ("name", "title", "dataset", "policy")
        return {name: getattr(self, name) for name in names}


def add(parser: CommandParser) -> None:
    parser.add_argument("kind", metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--name", required=True, help="as in its address")
    parser.add_argument("--title", default="", help="as people read it; else the name")
    parser.add_argument("--dataset", required=True, help="whose images are asked about")
    parser.add_argument(
        "--selection",
        type=Path,
        help="selection.jsonl of mad select; for a review of mistakes its queue",
    )
    parser.add_argument(
        "--vocabulary",
        metavar="FILE|ilsvrc|shipped",
        help="wnids, one a line: classes to choose from, or ilsvrc; for parts a vocabulary of "
        "parts in YAML, or shipped",
    )
    parser.add_argument(
        "--graph", metavar="FILE|ilsvrc", help="question graph, JSON or YAML; or ILSVRC's"
    )
    parser.add_argument("--mode", choices=replaying.MODES, help="what a no closes")
    parser.add_argument("--order", choices=ORDERS, help="which question comes next")
    parser.add_argument(
        "--present",
        type=float,
        metavar="CLASSES",
        help="on an image, on average, for the estimate of a question graph (2.8)",
    )
    parser.add_argument(
        "--price",
        type=float,
        help="with --order learned: missed labels that a question must save; any node may be asked",
    )
    parser.add_argument(
        "--images", type=Path, help="file of image names, one a line; by default all"
    )
    parser.add_argument(
        "--labels",
        metavar="RELEASE|FILE",
        help="for boxes: which classes are in which images, of a release (its folder, or its "
        "campaign's name) or as image,wnid rows",
    )
    parser.add_argument(
        "--proposals",
        type=Path,
        help="for boxes: detections to check first, image,wnid,confidence,x0,y0,x1,y1 rows",
    )
    parser.add_argument(
        "--classes", type=Path, help="for boxes: file of wnids, one a line; by default all"
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="for boxes: the labels name every one of these classes that is in an image",
    )
    naming = parser.add_argument_group("naming")
    naming.add_argument(
        "--most",
        type=int,
        choices=range(1, MOST + 1),
        metavar="N",
        help=f"classes that an answer may list, the surest first, up to {MOST} (1)",
    )
    naming.add_argument(
        "--examples",
        type=Path,
        metavar="FILE",
        help="with --most: image,wnid rows, images of the dataset that show what a class is; "
        "nobody is asked about them",
    )
    candidate_options.add_options(parser)
    parser.add_argument("--policy", type=Path, help="policy.yaml")
    parser.add_argument("--draft", action="store_true", help="make it, but ask nobody yet")
