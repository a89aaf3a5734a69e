"""STORAGES["data"] for a site on one machine: files below ASSAY_DATA."""

import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.utils.functional import cached_property


class DataFolder(FileSystemStorage):
    """Storage below settings.DATA_DIR. Tests that change MEDIA_ROOT reset the cached location."""

    @cached_property
    def base_location(self) -> Path:
        return Path(settings.DATA_DIR)

    def _save(self, name: str, content: Any) -> str:
        """Save the file so that nobody sees a part of it under its name."""
        unfinished = f"{name}.{secrets.token_hex(8)}.part"
        try:
            super()._save(unfinished, content)  # type: ignore[misc]
            os.replace(self.path(unfinished), self.path(name))
        except BaseException:
            self.delete(unfinished)
            raise
        return name
