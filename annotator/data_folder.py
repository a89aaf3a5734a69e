"""STORAGES["data"] for a site on one machine: files below ASSAY_DATA."""

from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.utils.functional import cached_property


class DataFolder(FileSystemStorage):
    """Storage below settings.DATA_DIR. Tests that change MEDIA_ROOT reset the cached location."""

    @cached_property
    def base_location(self) -> Path:
        return Path(settings.DATA_DIR)
