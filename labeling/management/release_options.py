"""Options that select a release and its photographs, shared by commands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from labeling.exchange import export_files
from labeling.files import BadInput
from labeling.management.options import argument, option
from labeling.models import Campaign, Release
from labeling.release_files.frozen import Frozen
from labeling.releases import freezing

Open = Callable[[str], IO[bytes]]


RELEASE_HELP = "a campaign's name, or a release's folder"


@dataclass(kw_only=True)
class ReleaseOptions:
    """The release, and the folder of its photographs."""

    release: str = argument(RELEASE_HELP, metavar="CAMPAIGN|RELEASE")
    number: int | None = option("number of the campaign's release (default: the latest)")
    images: Path | None = option("folder of the photographs, by name", metavar="DIR")


def find_release(name: str, number: int | None = None) -> tuple[Frozen, Release | None]:
    """Return the release, and its row if it was named by its campaign."""
    if Path(name).is_dir():
        return freezing.read(name), None
    campaign = find_campaign(name, "campaign or folder")
    releases = campaign.releases.order_by("number")
    if number is not None:
        releases = releases.filter(number=number)
    release = releases.last()
    if release is None:
        raise BadInput(
            f"{name} has no release" + (f" {number}" if number is not None else ""),
            cure=f"freeze one: campaign freeze {name} --out DIR",
        )
    return freezing.read(release), release


def find_campaign(name: str, kind: str = "campaign") -> Campaign:
    """Return the campaign. Raises BadInput, which names what is missing."""
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        raise BadInput(f"there is no {kind} {name!r}", cure="check the name")
    return campaign


def open_images(options: ReleaseOptions, release: Release | None) -> Open | None:
    """Return a function that opens a photograph by name: from --images, else from the dataset."""
    if options.images is not None:
        return images_in(options.images)
    return None if release is None else export_files.images_of(release)


def images_in(folder: Path) -> Open:
    """Return a function that opens a photograph of the folder by name."""
    return partial(_open, folder)


def _open(folder: Path, name: str) -> IO[bytes]:
    # Releases and their image names are untrusted.
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise BadInput(
            "the image's name leads out of the folder of photographs",
            file=name,
            cure="use an unaltered release",
        )
    return (folder / name).open("rb")
