"""`labels export` and `labels import`: labels out of a release and into a dataset."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling import exporting, given, releases
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.frozen import Frozen
from labeling.management.contract import ContractCommand, Result, table
from labeling.models import Campaign, Dataset


class Command(ContractCommand):
    help = "Labels out of a frozen release, or into a dataset before anybody is asked."

    def add_arguments(self, parser: CommandParser) -> None:
        out = self.verb(parser, "export", self.export, self.show_export, help="from a release")
        out.add_argument(
            "release", metavar="CAMPAIGN|RELEASE", help="a campaign's name, or a release's folder"
        )
        out.add_argument("--number", type=int, help="of the campaign's release; else the latest")
        out.add_argument("--format", choices=FORMATS, default="csv", dest="format_name")
        out.add_argument("--out", type=Path, required=True, metavar="DIR")
        into = self.verb(parser, "import", self.import_labels, help="into a dataset, as given")
        into.add_argument("dataset", metavar="DATASET")
        into.add_argument("path", metavar="FILE|DIR", type=Path)
        into.add_argument("--format", choices=FORMATS, default="", dest="format_name")
        into.add_argument("--source", default="", help="of labels whose row says none")
        into.add_argument("--campaign", help="refuse classes that its question graph does not have")

    def export(
        self, release: str, number: int | None, format_name: str, out: Path, **_: Any
    ) -> Result:
        return exporting.export(_release(release, number), format_name, out)

    def show_export(self, result: Result) -> str:
        rows = [
            (origin, *(found.get(value, 0) for value in ("yes", "no", "unknown")))
            for origin, found in result["labels"].items()
        ]
        head = f"{result['images']} images as {result['format']} in {result['out']}"
        return f"{head}\n\n{table(rows, head=('origin', 'yes', 'no', 'unknown'))}"

    def import_labels(
        self,
        dataset: str,
        path: Path,
        format_name: str,
        source: str,
        campaign: str | None,
        **_: Any,
    ) -> Result:
        goal = Dataset.objects.filter(name=dataset).first()
        if goal is None:
            raise BadInput(
                f"there is no dataset {dataset!r}", cure="make it with `images add --create`"
            )
        labels, where = exporting.read_labels(path, format_name)
        try:
            return given.bring_in(
                goal,
                self._watched(labels),
                source or where,
                _campaign(campaign) if campaign else None,
            )
        except Refusal as refusal:
            raise BadInput(refusal.message, file=path) from None

    def _watched(self, labels: Iterable[Any]) -> Iterable[Any]:
        with self.progress(None, "label", "labels") as bar:
            for label in labels:
                bar.update()
                yield label


def _release(name: str, number: int | None) -> Frozen:
    if Path(name).is_dir():
        return releases.read(name)
    campaign = _campaign(name)
    found = campaign.releases.order_by("number")
    if number is not None:
        found = found.filter(number=number)
    release = found.last()
    if release is None:
        raise BadInput(
            f"{name} has no release" + (f" {number}" if number is not None else ""),
            cure=f"freeze one: campaign freeze {name} --out DIR",
        )
    return releases.read(release)


def _campaign(name: str) -> Campaign:
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        raise BadInput(f"there is no campaign or folder {name!r}", cure="check the name")
    return campaign
