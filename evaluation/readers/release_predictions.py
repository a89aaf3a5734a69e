"""Read a release as predictions: its folder, or the zip that the site offers. No Django.

RELEASE/PSEUDONYM stands for the answers of one of its annotators.
"""

import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import class_files
from evaluation.readers.class_files import Classified
from labeling.files import BadInput, file_sha256
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen

HEAD = "release.json"
# A person in votes.jsonl, and the file of a zip that names the one whose answers count.
PSEUDONYM = re.compile(r"annotator-[0-9a-f]{1,64}")
PERSON = "annotator.txt"
NO_RELEASE = "holds no release"
CURE = "give the zip of a frozen release, or rows of predictions"
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
# Limit on the unpacked size of a zip from an untrusted user.
MAX_BYTES = 2 * 1024**3


def is_release(path: Path) -> bool:
    """Return whether the path is a release (a folder with release.json, or a zip) or a person in
    one.
    """
    path, _ = split(path)
    if path.is_dir():
        return (path / HEAD).is_file()
    return path.is_file() and (path.suffix.lower() == ".zip" or zipfile.is_zipfile(path))


def read_submission(truth: Path, path: Path, wordnet: WordNet) -> Classified:
    """Return a truth with predictions from rows or from a release. Raises BadInput."""
    with opened(path) as release:
        if release:
            try:
                return class_files.read_named(truth, release, wordnet, annotator_of(path))
            except BadInput as error:
                if error.file != str(release.folder):
                    raise
                # Name the zip, not the temporary folder to which it was unpacked.
                raise BadInput(error.message, path, error.line, error.cure) from error
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
                # Its hashes are right, but no site writes such lines.
                raise BadInput(NO_RELEASE, path, None, CURE) from error
    return class_files.read_classified(truth, path, wordnet)


def submission_sha256(classified: Classified, path: Path) -> str:
    """Return the SHA-256 of the rows of predictions, or of the release itself."""
    return classified.people.sha256 if classified.people else file_sha256(path)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of rows of predictions, or a release's own, however it was packed. Raises
    BadInput.
    """
    with opened(path) as release:
        if release is None:
            return file_sha256(path)
        return class_files.people_sha256(release, annotator_of(path))


def annotator_of(path: Path) -> str | None:
    """Return the pseudonym of the person whose answers count in this release, or None for all.
    Raises BadInput for another content of a zip's annotator.txt.
    """
    release, annotator = split(path)
    if annotator or release.is_dir():
        return annotator
    with _reading(path), zipfile.ZipFile(release) as archive:
        names = [name for name in archive.namelist() if Path(name).name == PERSON]
        if not names:
            return None
        if len(names) > 1:
            raise BadInput(f"has {len(names)} files {PERSON}", path, None, "keep one")
        with archive.open(names[0]) as file:
            annotator = file.read(1000).decode("utf-8-sig", errors="replace").strip()
    if not PSEUDONYM.fullmatch(annotator):
        raise BadInput(f"{PERSON} has no pseudonym", path, None, "write annotator-…")
    return annotator


def name_person(archive: Path, annotator: str) -> None:
    """Write into the zip of a release which person's answers count."""
    with zipfile.ZipFile(archive, "a") as file:
        # A fixed date, so that writing the zip again gives the same bytes.
        file.writestr(zipfile.ZipInfo(PERSON), annotator)


def split(path: Path) -> tuple[Path, str | None]:
    """Return the release, and the pseudonym if the path ends in one."""
    if PSEUDONYM.fullmatch(path.name) and not path.exists():
        return path.parent, path.name
    return path, None


@contextmanager
def opened(path: Path) -> Iterator[Frozen | None]:
    """Yield the release at the path, or None where it is another file.

    Raises BadInput for a zip without a release, and for a changed one.
    """
    is_one, (path, _) = is_release(path), split(path)
    if not is_one:
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
    """Return the folder with the unpacked release."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        heads = [name for name in names if name.rpartition("/")[2] == HEAD]
        if not heads:
            raise BadInput(NO_RELEASE, path, None, CURE)
        folder = min(heads, key=len).removesuffix(HEAD)
        # Extract nothing else from the zip.
        members = {f"{folder}{name}" for name in (HEAD, *frozen.ALL_FILES)} & {*names}
        if sum(archive.getinfo(name).file_size for name in members) > MAX_BYTES:
            raise BadInput(
                f"unpacks to more than {MAX_BYTES // 1024**3} GiB",
                path,
                None,
                "give a release of a naming campaign",
            )
        for name in members:
            with archive.open(name) as file, (scratch / Path(name).name).open("wb") as goal:
                shutil.copyfileobj(file, goal)
    return scratch


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise BadInput for a damaged zip."""
    try:
        yield
    except DAMAGED as error:
        raise BadInput("is not a zip, or is damaged", path, None, "fetch it again") from error
    except OSError as error:
        # bz2 raises OSError without errno for damage; a full disk has an errno.
        if error.errno is not None:
            raise
        raise BadInput("is not a zip, or is damaged", path, None, "fetch it again") from error
