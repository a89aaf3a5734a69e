"""STORAGES["data"] of a site on one machine: the files below ASSAY_DATA."""

from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.utils.functional import cached_property


class DataFolder(FileSystemStorage):
    """Files below settings.DATA_DIR, looked up again where MEDIA_ROOT changes, as in tests."""

    @cached_property
    def base_location(self) -> Path:
        return Path(settings.DATA_DIR)
