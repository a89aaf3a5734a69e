"""`backup DIR`: everything that the site needs, in one folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator import backup
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = (
        "Write the database, every file and the secret key of this site into a new folder, with "
        "the SHA-256 of each. The site may go on working meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", help="a new folder outside the site's own")

    def deed(self, **options: Any) -> Result:
        with self.progress(None, "file", "copying") as bar:
            return backup.make(Path(options["folder"]), watch=bar.update)
