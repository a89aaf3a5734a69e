"""Where the files of a release lie, and reading them back."""

from pathlib import Path

from django.conf import settings

from labeling.files import StrPath
from labeling.jobs import shared_files
from labeling.models import Release
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen


def folder_of(release: Release) -> Path:
    """Return where the release's files lie on this machine, fetched if another one froze it."""
    parent, _, _ = release.folder.rpartition("/")
    return shared_files.find(place_of(release), stored_name(parent, release.sha256))


def read(source: Release | StrPath) -> Frozen:
    """Return a release, once its files were found to have the hashes they were frozen with.

    Raises BadInput naming the file and the cure.
    """
    if isinstance(source, Release):
        return frozen.read(folder_of(source), source.sha256)
    return frozen.read(source)


def place_of(release: Release) -> Path:
    """Return where the release lies on the machine that froze it."""
    return Path(settings.RELEASES_DIR) / release.folder


def stored_name(campaign: str, sha256: str) -> str:
    # By its content, not its number: it is put there before it has one for certain.
    return f"releases/{campaign}/{sha256}{shared_files.FOLDER}"
