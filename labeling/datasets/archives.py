"""Extracting uploads, single files or zips, into a folder of ours. No database.

Names inside a zip become paths only after cleaning; zip bombs and tricks are refused.
"""

import errno
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeling.datasets.image_sources import (
    DAMAGED,
    Refused,
    SourceFile,
    clean_name,
    in_zip,
    open_zip,
)
from labeling.errors import Refusal, TooLarge

MIB = 1024 * 1024


@dataclass(frozen=True)
class ZipLimits:
    """What to read of a zip, and how much. endings: of wanted files (".json"), others are skipped;
    bytes: unpacked; cure: what to do if it is too large.
    """

    endings: Collection[str]
    files: int
    bytes: int
    cure: str


def one_file(file: Any, path: Path) -> Path:
    """Save the upload to the path and return it."""
    with path.open("wb") as out:
        while part := file.read(MIB):
            out.write(part)
    return path


def unpack(file: Any, folder: Path, limits: ZipLimits) -> None:
    """Extract the zip's wanted files into the new folder. Raises Refusal."""
    folder.mkdir()
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    left = limits.bytes
    # Allow the same number of folders, which are separate entries.
    with open_zip(file, 2 * limits.files) as archive:
        for number, entry in enumerate(in_zip(archive, size), 1):
            if number > limits.files:
                raise TooLarge(
                    f"The zip has over {limits.files:,} files. {limits.cure}", field="file"
                )
            if isinstance(entry, Refused):
                # Mostly hidden files that an operating system adds.
                continue
            if Path(entry.name).suffix.lower() in limits.endings:
                left -= _unpack_one(entry, folder, left, limits)


def _unpack_one(entry: SourceFile, folder: Path, left: int, limits: ZipLimits) -> int:
    goal = folder / clean_name(entry.name)
    written = 0
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        with entry.open() as source, goal.open("xb") as out:
            while part := source.read(MIB):
                written += len(part)
                if written > left:
                    raise TooLarge(
                        f"The zip unpacks to over {limits.bytes // MIB} MiB. {limits.cure}",
                        field="file",
                    )
                out.write(part)
    except (FileExistsError, NotADirectoryError):
        raise Refusal(f"{entry.name} is in the zip twice. Pack it once.", field="file") from None
    except OSError as error:
        if error.errno is None:
            raise _damaged(entry) from None
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise Refusal(
            f"{entry.name[:80]}… has too long a name. Shorten it.", field="file"
        ) from None
    except (*DAMAGED, NotImplementedError, RuntimeError):
        raise _damaged(entry) from None
    return written


def _damaged(entry: SourceFile) -> Refusal:
    return Refusal(f"{entry.name} is damaged. Create the zip again.", field="file")
