"""Campaigns of candidates from the shell: their options and the list that they are made of."""

from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import UnknownLabel
from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.files import BadInput
from labeling.follow_ups.candidate_lists import Row
from labeling.kinds.candidates import SETTINGS
from labeling.management.contract import table
from labeling.models import Campaign
from labeling.quality import verifying
from labeling.records import Record
from labeling.reports import class_overview


def add_options(parser: CommandParser) -> None:
    group = parser.add_argument_group("candidates")
    group.add_argument(
        "--candidates",
        type=Path,
        metavar="FILE",
        help="CSV image,wnid,query or JSON Lines: images that queries found for a class",
    )
    for key, rule in SETTINGS.items():
        what = f"{rule.help.strip('… .')} ({rule.default:g})".replace("%", "%%")
        group.add_argument(f"--{key}", type=int if rule.whole else float, metavar="N", help=what)
    group.add_argument(
        "--pilot", type=int, metavar="N", help="first ask ten votes on so many of each class"
    )


def read(path: Path) -> list[Row]:
    """The candidates of the file, classes as wnids. Raises BadInput naming file, line and cure."""
    try:
        rows = lists.read_candidates(path.read_bytes())
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadInput(reason, file=path, cure="check the path") from None
    except Refusal as refusal:
        raise from_refusal(refusal, path) from None
    if not rows:
        raise BadInput("lists nothing", file=path, cure="write image,wnid,query on every line")
    net = load()
    wnids: dict[str, str] = {}
    for row in rows:
        if row.topic not in wnids:
            try:
                wnids[row.topic] = net.wnid(net.find(row.topic))
            except UnknownLabel as error:
                line = int(row.place.removeprefix("Line "))
                raise BadInput(str(error), file=path, line=line, cure="write a wnid") from None
    return [row._replace(topic=wnids[row.topic]) for row in rows]


@dataclass(kw_only=True)
class ClassFigures(Record):
    """A class as it was looked at; see models.Verification."""

    wnid: str
    name: str
    state: str
    reason: str
    candidates: int
    asked: int
    open: int
    yes: int
    by_table: float | None
    precision: float | None
    interval: list[float] | None
    audited: int
    cost: float


@dataclass(kw_only=True)
class Verified(Record):
    """stopped: the classes that were stopped just now."""

    campaign: str
    stopped: list[str]
    classes: list[ClassFigures]


def verify(campaign: Campaign) -> Verified:
    """Looks at every class. Raises Refusal for another kind of campaign."""
    looked = verifying.look(campaign)
    same = ("state", "reason", "candidates", "asked", "open", "yes", "by_table", "precision")
    return Verified(
        campaign=campaign.name,
        stopped=looked.stopped,
        classes=[
            ClassFigures(
                wnid=row.topic.key,
                name=row.topic.name,
                interval=None if row.low is None or row.high is None else [row.low, row.high],
                audited=row.audited,
                cost=row.cost,
                **{name: getattr(row, name) for name in same},
            )
            for row in class_overview.listed(campaign)
        ],
    )


def show(result: Verified) -> str:
    rows = [
        (
            one.wnid,
            one.name,
            one.candidates,
            one.asked,
            one.yes,
            *map(_percent, (one.precision or one.by_table, *(one.interval or (None, None)))),
            f"{one.cost:.2f}",
            f"{one.state} {one.reason}".strip(),
        )
        for one in result.classes
    ]
    head = ("wnid", "class", "candidates", "asked", "yes", "precision", "low", "high", "cost")
    return table(rows, head=(*head, "state"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def from_refusal(refusal: Refusal, path: Path | None) -> BadInput:
    """The refusal as commands print it, with the line of the file where it begins with one."""
    place, colon, rest = refusal.message.partition(": ")
    number = place.removeprefix("Line ")
    if path is not None and colon and place != number and number.isdecimal():
        return BadInput(rest, file=path, line=int(number))
    return BadInput(refusal.message, file=path)
