"""Files that tasks read, identified in their arguments by their content."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.store import Store
from labeling.files import BadInput, file_sha256

SHARE_FILES = "let every machine see the same files under the same names, then run again"


def files_sha256(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' SHA-256, one after the other. Raises BadInput for a missing
    file.
    """
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(bytes.fromhex(file_sha256(path)))
        except FileNotFoundError:
            raise BadInput("is not on this machine", path, None, SHARE_FILES) from None
    return digest.hexdigest()


def refuse_others(paths: Sequence[Path], sha256: str) -> None:
    """Raise BadInput unless the files have this SHA-256."""
    if files_sha256(paths) != sha256:
        raise BadInput(
            "this file, or one of those after it, is another here than where the command began",
            paths[0],
            None,
            SHARE_FILES,
        )


def keep(store: Store, paths: Sequence[Path]) -> str:
    """Put one object with these files into the store and return its key."""
    key = f"inputs/{files_sha256(paths)}"
    if not store.has(key):
        contents = (np.frombuffer(path.read_bytes(), np.uint8) for path in paths)
        store.put(key, pack_arrays({str(number): each for number, each in enumerate(contents)}))
    return key


@contextmanager
def fetch_files(store: Store, key: str, paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield temporary copies of the files that keep() stored; errors name the files by `paths`."""
    contents, _ = unpack_arrays(store.get(key))
    with tempfile.TemporaryDirectory(prefix="assay-") as root:
        files = [Path(root) / path.relative_to(path.anchor) for path in paths]
        for number, file in enumerate(files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents[str(number)].tobytes())
        with faults_naming_origin(f"{root}/", "/"):
            yield files


@contextmanager
def faults_naming_origin(local_path: str, origin: str) -> Iterator[None]:
    """Replace `local_path` by `origin`, the source of the files, in a BadInput raised inside."""
    try:
        yield
    except BadInput as error:
        file = error.file.replace(local_path, origin) if error.file else None
        message = error.message.replace(local_path, origin)
        raise BadInput(message, file, error.line, error.cure) from error
