"""Campaigns of candidates from the shell: their options and the list that they are made of."""

from pathlib import Path

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import UnknownLabel
from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.files import BadInput
from labeling.follow_ups.candidate_lists import Row
from labeling.kinds.candidates import SETTINGS


def add_options(parser: CommandParser) -> None:
    group = parser.add_argument_group("candidates")
    group.add_argument(
        "--candidates",
        type=Path,
        metavar="FILE",
        help="CSV image,wnid,query or JSON Lines: images that queries found for a class",
    )
    for key, rule in SETTINGS.items():
        text = f"{rule.help.strip('… .')} ({rule.default:g})".replace("%", "%%")
        group.add_argument(f"--{key}", type=int if rule.whole else float, metavar="N", help=text)
    group.add_argument(
        "--pilot", type=int, metavar="N", help="first ask ten votes on so many of each class"
    )


def read(path: Path) -> list[Row]:
    """Return the candidates of the file, classes as wnids. Raises BadInput naming file, line and
    cure.
    """
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
                line = int(row.prefix.removeprefix("Line "))
                raise BadInput(str(error), file=path, line=line, cure="write a wnid") from None
    return [row._replace(topic=wnids[row.topic]) for row in rows]


def from_refusal(refusal: Refusal, path: Path | None) -> BadInput:
    """Return the refusal as commands print it, with the line of the file where it begins
    with one.
    """
    source, colon, rest = refusal.message.partition(": ")
    number = source.removeprefix("Line ")
    if path is not None and colon and source != number and number.isdecimal():
        return BadInput(rest, file=path, line=int(number))
    return BadInput(refusal.message, file=path)
