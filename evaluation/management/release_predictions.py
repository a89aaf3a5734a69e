"""A release as predictions: its folder, or the zip that the site gives out."""

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labeling.files import BadInput
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen

HEAD = "release.json"


def is_release(path: Path) -> bool:
    """Whether the path is taken for a release: a folder with its head, or a zip."""
    return (path / HEAD).is_file() or (path.suffix.lower() == ".zip" and path.is_file())


@contextmanager
def opened(path: Path) -> Iterator[Frozen | None]:
    """The release that lies at the path, while the block runs; None where it is another file.

    Raises BadInput for a zip without one, and for one that was changed.
    """
    if not is_release(path):
        yield None
    elif path.is_dir():
        yield frozen.read(path)
    else:
        with tempfile.TemporaryDirectory(prefix="release-") as scratch:
            folder = _unpacked(path, Path(scratch))
            try:
                release = frozen.read(folder)
            except BadInput as error:
                name = Path(error.file or folder).name
                raise BadInput(f"{name} {error.message}", path, None, error.cure) from error
            yield release


def _unpacked(path: Path, scratch: Path) -> Path:
    """The folder of the release, now with its files."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            heads = [name for name in names if name.rpartition("/")[2] == HEAD]
            if not heads:
                cure = "give the zip of a frozen release, or rows of predictions"
                raise BadInput("holds no release", path, None, cure)
            folder = min(heads, key=len).removesuffix(HEAD)
            archive.extractall(scratch, [name for name in names if name.startswith(folder)])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadInput("is no zip, or a damaged one", path, None, "fetch it again") from error
    return scratch / folder
