"""Storage and reading of release folders."""

from pathlib import Path

from django.conf import settings

from labeling.files import StrPath
from labeling.jobs import shared_files
from labeling.models import Release
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen


def folder_of(release: Release) -> Path:
    """Return the release's folder on this machine, fetched if another machine froze it."""
    parent, _, _ = release.folder.rpartition("/")
    return shared_files.find(place_of(release), stored_name(parent, release.sha256))


def read(source: Release | StrPath) -> Frozen:
    """Return a release after its files were checked against their hashes.

    Raises BadInput, which names the faulty file.
    """
    if isinstance(source, Release):
        return frozen.read(folder_of(source), source.sha256)
    return frozen.read(source)


def place_of(release: Release) -> Path:
    """Return the release's folder on the machine that froze it."""
    return Path(settings.RELEASES_DIR) / release.folder


def stored_name(campaign: str, sha256: str) -> str:
    # By content, not by number, which may still change when the folder is stored.
    return f"releases/{campaign}/{sha256}{shared_files.FOLDER}"
