"""`images add DATASET FOLDER|ZIP|MANIFEST.csv`: images into a dataset from the shell."""

from typing import Any

from django.core.management.base import CommandParser

from labeling.datasets import datasets, images
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, table
from labeling.models import Dataset, User

SHOWN = 20


class Command(ContractCommand):
    help = "Put images into a dataset: those of a folder, a zip or a manifest."

    def add_arguments(self, parser: CommandParser) -> None:
        add = self.verb(
            parser,
            "add",
            self.add,
            self.show_report,
            help="add images; duplicates by content are reported and not added twice",
        )
        add.add_argument("dataset", metavar="DATASET", help="its name")
        add.add_argument(
            "path", metavar="FOLDER|ZIP|MANIFEST.csv", help="where the photographs are"
        )
        add.add_argument("--licence", default="", help="of images whose manifest row says none")
        add.add_argument("--source", default="", help="of images whose manifest row says none")
        add.add_argument(
            "--create",
            metavar="OWNER",
            help="make the dataset if there is none, owned by this user",
        )

    def add(
        self,
        dataset: str,
        path: str,
        licence: str,
        source: str,
        create: str | None,
        **_: Any,
    ) -> Result:
        goal = _dataset(dataset, create)
        with self.progress(None, "image", "images") as bar:
            try:
                report = images.add_path(
                    goal, path, licence=licence, source=source, watch=bar.update
                )
            except Refusal as refusal:
                line = getattr(refusal, "line", None)
                raise BadInput(refusal.message, file=path, line=line) from None
        return report.as_dict()

    def show_report(self, result: Result) -> str:
        duplicates, refused = result["duplicates"], result["refused"]
        parts = [
            table(
                [
                    ("added", result["added"]),
                    ("duplicates", len(duplicates)),
                    ("refused", len(refused)),
                ]
            )
        ]
        for rows, columns in ((duplicates, ("file", "same_as")), (refused, ("file", "why"))):
            if rows:
                shown = [tuple(row[name] for name in columns) for row in rows[:SHOWN]]
                parts.append(table(shown, columns))
            if len(rows) > SHOWN:
                parts.append(f"and {len(rows) - SHOWN} more; --json lists them all")
        return "\n\n".join(parts)


def _dataset(name: str, owner: str | None) -> Dataset:
    found = Dataset.objects.filter(name=name).first()
    if found is not None:
        return found
    if owner is None:
        raise BadInput(
            f"there is no dataset {name!r}", cure="make it on the pages, or add --create OWNER"
        )
    user = User.objects.filter(username=owner).first()
    if user is None:
        raise BadInput(f"there is no user {owner!r}", cure="name an existing one")
    try:
        return datasets.create(user, name=name)
    except Refusal as refusal:
        raise BadInput(refusal.message) from None
