"""Uploaded score maps: a zip or folder of <id>.npy, copied to the benchmark's folder.

Beside them there may be predictions.csv, the `id,class` rows of a classifier.
"""

import hashlib
import os
import shutil
from pathlib import Path

from labeling.datasets import archives
from labeling.datasets.image_sources import Refused, in_zip, open_zip
from labeling.errors import Refusal
from labeling.files import BadInput

# Ten thousand maps of 224 × 224 in float64 take 4 GB.
MAX_UNPACKED_BYTES = 16 * 1024**3
# The zip may contain a few other files, such as a readme.
MORE_FILES = 1000
ENDING = ".npy"
PREDICTIONS = "predictions.csv"
# Most bytes of predictions.csv, which is read as a whole.
MAX_PREDICTIONS = 64 * 1024**2
# A folder with only this file stands for the center-Gaussian baseline.
BASELINE = "center-gaussian.txt"
BASELINE_FOLDER = Path(__file__).parent / "baseline"


def unpack(path: Path, folder: Path, images: int) -> Path:
    """Unpack the maps of a zip into `folder`, a new one, and return it.

    images: the number of expected maps. Raises Refusal that names the file in the zip.
    """
    _check_entries(path, 2 * (images + MORE_FILES))
    limits = archives.ZipLimits(
        endings=(ENDING, Path(PREDICTIONS).suffix),
        files=images + MORE_FILES,
        bytes=MAX_UNPACKED_BYTES,
        cure="Pack the score maps of the benchmark's images alone, as <id>.npy.",
    )
    with path.open("rb") as file:
        archives.unpack(file, folder, limits)
    return folder


def copy(path: Path, folder: Path) -> Path:
    """Copy the maps of a folder to `folder`, a new one. Raises BadInput for a link."""
    folder.mkdir()
    for source in _files(path):
        if source.is_symlink() or not source.is_file():
            raise BadInput("is not a plain file", source, None, "put the score map itself there")
        goal = folder / source.relative_to(path)
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, goal)
    return folder


def without_top(folder: Path, first: str) -> Path:
    """Return the folder, or its only subfolder if the map of the first image is there."""
    inner = list(folder.iterdir())
    if len(inner) == 1 and not (folder / first).exists() and (inner[0] / first).is_file():
        return inner[0]
    return folder


def sha256(folder: Path) -> str:
    """Return one hash of the names and contents of the maps below a folder."""
    whole = hashlib.sha256()
    for path in _files(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
        whole.update(os.fsencode(path.relative_to(folder).as_posix()) + b"\0" + content)
    return whole.hexdigest()


def _files(folder: Path) -> list[Path]:
    """Return the files of a submission: maps in order, then those beside them."""
    besides = [folder / name for name in (PREDICTIONS, BASELINE)]
    besides = [path for path in besides if os.path.lexists(path) and not path.is_dir()]
    return [*sorted(folder.rglob(f"*{ENDING}")), *besides]


def _check_entries(path: Path, most: int) -> None:
    """Raise Refusal for more than `most` entries, and for entries that are not plain files: a link,
    an encrypted file, a zip in the zip.
    """
    with path.open("rb") as file, open_zip(file, most) as archive:
        for entry in in_zip(archive, path.stat().st_size):
            if isinstance(entry, Refused) and not _is_of_system(entry.file):
                raise Refusal(f"{entry.file[:200]}: {entry.why}", field="file")


def _is_of_system(name: str) -> bool:
    parts = name.lower().split("/")
    return any(
        part.startswith(".") or part in {"__macosx", "thumbs.db", "desktop.ini"} for part in parts
    )
