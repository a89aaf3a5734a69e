"""A campaign's words per language from the shell."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling.campaigns import texts
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.management.contract import table
from labeling.models import Campaign
from labeling.records import Record

HELP = "words per language: which are missing; with a file, replace them all"


@dataclass(kw_only=True)
class Worded(Record):
    """What a campaign's languages have and lack."""

    campaign: str
    languages: list[texts.Coverage]


def add(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the campaign")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="texts.json")


def run(name: str, file: Path | None = None, **_: Any) -> Worded:
    """Replaces the texts where a file is given, and says what there is. Raises BadInput."""
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        raise BadInput(f"there is no campaign {name!r}", cure="check the name")
    if file is not None:
        try:
            texts.replace(campaign, None, texts.read(file.read_bytes()))
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}", file=file) from error
        except Refusal as refusal:
            raise BadInput(refusal.message.rstrip("."), file=file) from refusal
    return Worded(campaign=name, languages=texts.coverage(campaign))


def show(result: Worded) -> str:
    if not result.languages:
        return f"{result.campaign} has no words in other languages"
    rows = [(row.language, row.given, ", ".join(row.missing) or "none") for row in result.languages]
    return table(rows, head=("language", "texts", "missing"))
