"""`backup DIR`: everything that the site needs, in one folder."""

from dataclasses import dataclass
from pathlib import Path

from annotator import backup, checks
from labeling.management.contract import ContractCommand, Result
from labeling.management.options import argument


@dataclass(kw_only=True)
class BackupOptions:
    folder: Path = argument("a new folder outside the site's own", metavar="DIR")


class Command(ContractCommand):
    help = (
        "Write the database, every file and the secret key of this site into a new folder, with "
        "the SHA-256 of each. The site may go on working meanwhile. Run it under the site's "
        "environment: ASSAY_DATA, DATABASE_URL, SECRET_KEY."
    )

    def action(self, options: BackupOptions) -> Result:
        if checks.has_insecure_key():
            self.warn(
                "SECRET_KEY is not set here: the backup has no key. If the site has one, make the "
                "backup again under the site's environment."
            )
        with self.progress(None, "file", "copying") as bar, backup.private_files():
            return backup.make(options.folder, watch=bar.update).to_json()
