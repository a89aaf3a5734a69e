"""`restore DIR`: restore a backup into an empty site."""

from dataclasses import dataclass
from pathlib import Path

from annotator.backup import private_files
from annotator.restore import restore
from labeling.management.contract import ContractCommand, Result
from labeling.management.options import argument
from labeling.plurals import count_of


@dataclass(kw_only=True)
class RestoreOptions:
    folder: Path = argument("a folder that backup wrote", metavar="DIR")


class Command(ContractCommand):
    help = (
        "Read a backup into this site, which must be empty: no rows, no files. Every file is "
        "compared with its SHA-256 first; an older backup is migrated. Run it under the site's "
        "environment: ASSAY_DATA, DATABASE_URL, SECRET_KEY."
    )

    def action(self, options: RestoreOptions) -> Result:
        with self.progress(None, "file", "restoring") as bar, private_files():
            restored = restore(options.folder, watch=bar.update)
        if not restored.same_secret_key:
            self.warn(
                "SECRET_KEY differs from the backup's. Set it to the content of secret-key in the "
                "data folder; otherwise sessions and invitations end."
            )
        if restored.missing_media:
            missing = count_of(restored.missing_media, "image")
            self.warn(f"Of the backup, {missing} could not be found in the store.")
        return restored.to_json()
