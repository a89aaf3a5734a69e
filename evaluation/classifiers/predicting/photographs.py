"""The photographs of a folder, a zip or a manifest: sorted into a list file and opened one by one.

The list is a file because it may have millions of lines, `name TAB location TAB stamp TAB reason`.
location: the path below the folder, or the number of the zip's entry; "" for a refused file, which
has a reason. stamp: the size, plus the checksum of a zip's entry, to detect changes.
"""

import hashlib
import heapq
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from evaluation.readers.wsol_folders import MAX_PIXELS
from labeling import image_files
from labeling.csv_rows import rows
from labeling.datasets import image_sources
from labeling.datasets.image_sources import BadSource, Refused, SourceFile
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write

# Lines of the list sorted in memory at once, about 100 MB.
MAX_LINES_IN_MEMORY = 500_000
# An uncompressed photograph of the largest accepted size has 300 MB.
MAX_BYTES = 512 << 20
COLUMN = "image"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
DAMAGED = (*image_sources.DAMAGED, NotImplementedError, RuntimeError, ValueError)


class Unreadable(Exception):
    """A photograph that cannot be read; `str()` is a sentence with the reason."""


@dataclass(frozen=True)
class PhotographEntry:
    """A line of the list. location: where the photograph is; "" if it is refused."""

    name: str
    location: str
    stamp: str = ""
    reason: str = ""

    def line(self) -> bytes:
        return "\t".join((self.name, self.location, self.stamp, self.reason)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> "PhotographEntry":
        return cls(*line.decode().removesuffix("\n").split("\t"))


@dataclass(frozen=True)
class PhotographList:
    """The list with its numbers of readable photographs and refused files."""

    path: Path
    images: int
    refused: int
    sha256: str


@dataclass
class PhotographSource:
    """A folder, zip or manifest. After unpickling it opens its zip again."""

    path: Path
    kind: str
    _open: ExitStack = field(default_factory=ExitStack, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "kind": self.kind}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _open=ExitStack())

    def pixels(self, location: str) -> NDArray[np.uint8]:
        """Return the photograph (H, W, 3), upright, in sRGB, on white. Raises Unreadable."""
        try:
            with self._opened(location) as file:
                return np.array(image_files.upright(file, max_pixels=MAX_PIXELS))
        except image_files.BadImage as error:
            raise Unreadable(str(error)) from None
        except MemoryError:
            raise Unreadable("It does not fit into memory.") from None
        except OSError as error:
            raise Unreadable(f"It cannot be read: {(error.strerror or 'error').lower()}.") from None
        except DAMAGED:
            raise Unreadable("It is damaged. Pack the zip again.") from None

    def as_locations(self) -> dict[str, str]:
        """Return the arguments of of_locations on another machine."""
        return {"path": str(self.path.absolute()), "kind": self.kind}

    @classmethod
    def of_locations(cls, locations: Mapping[str, str]) -> "PhotographSource":
        """Return the source on this machine."""
        return cls(Path(locations["path"]), locations["kind"])

    def sha256(self, entries: Iterable[PhotographEntry]) -> str:
        """Return the hash of these lines of the list and of their files.

        A zip's entries have a checksum in their lines, so only the lines are hashed.
        """
        digest = hashlib.sha256()
        for entry in entries:
            digest.update(f"{entry.name}\t{entry.stamp}\t{entry.reason}\n".encode())
            if self.kind != "zip" and entry.location:
                # Unreadable files are skipped and reported later.
                with suppress(OSError, Unreadable), self._opened(entry.location) as file:
                    digest.update(hashlib.sha256(file.read()).digest())
        return digest.hexdigest()

    def entries(self) -> Iterator[PhotographEntry]:
        """Yield every file in any order. Raises BadInput for an invalid source."""
        entries = {"folder": self._in_folder, "zip": self._in_zip, "manifest": self._in_manifest}
        try:
            yield from entries[self.kind]()
        except BadSource as error:
            raise BadInput(error.message, file=self.path) from None
        finally:
            self.close()

    @cached_property
    def _root(self) -> Path:
        return self.path.parent if self.kind == "manifest" else self.path

    @cached_property
    def _resolved(self) -> Path:
        return self._root.resolve()

    def close(self) -> None:
        """Close the zip; the next photograph opens it again."""
        self._open.close()
        self.__dict__.pop("_archive", None)

    @cached_property
    def _archive(self) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
        file = self._open.enter_context(self.path.open("rb"))
        archive = self._open.enter_context(image_sources.open_zip(file))
        return archive, [entry for entry in archive.infolist() if not entry.is_dir()]

    def _opened(self, location: str) -> IO[bytes]:
        if self.kind == "zip":
            archive, entries = self._archive
            _refuse_large(entries[int(location)].file_size)
            return archive.open(entries[int(location)])
        # Checked again: hours may have passed since the list was written.
        file = image_sources.on_disk(self._root / location, self._resolved, location, location)
        if isinstance(file, Refused):
            raise Unreadable(file.why)
        _refuse_large(file.bytes)
        return file.open()  # type: ignore[return-value]

    def _in_folder(self) -> Iterator[PhotographEntry]:
        for file in image_sources.in_folder(self.path, in_order=False):
            yield _entry(file, file.file, str(getattr(file, "bytes", "")))

    def _in_zip(self) -> Iterator[PhotographEntry]:
        archive, entries = self._archive
        for number, file in enumerate(image_sources.in_zip(archive, self.path.stat().st_size)):
            yield _entry(file, str(number), f"{entries[number].CRC:08x}")

    def _in_manifest(self) -> Iterator[PhotographEntry]:
        for line, (image,) in rows(self.path, (COLUMN,), others=True, as_nfc=False):
            try:
                name = image_sources.clean_name(image)
            except Refusal as refusal:
                raise BadInput(
                    f"the image {image[:80]!r} cannot be taken: {_lowered(refusal.message)}",
                    self.path,
                    line,
                    "give paths below the manifest's folder",
                ) from None
            file = image_sources.on_disk(self._root / image, self._resolved, name, name)
            yield _entry(file, image, str(getattr(file, "bytes", "")))


def source_of(path: Path) -> PhotographSource:
    """Return the photographs at a path. Raises BadInput unless it is a folder, zip or manifest."""
    if path.is_dir():
        return PhotographSource(path, "folder")
    if not path.is_file():
        raise BadInput("there are no photographs", path, None, "check the path")
    kind = {".zip": "zip", ".csv": "manifest"}.get(path.suffix.lower())
    if kind is None:
        raise BadInput(
            "is neither a folder nor a .zip nor a manifest (.csv)",
            path,
            None,
            "give one of them; a manifest has the column image",
        )
    return PhotographSource(path, kind)


def write_list(source: PhotographSource, goal: Path) -> PhotographList:
    """Write the sorted list of the source's files, holding MAX_LINES_IN_MEMORY lines in memory.

    Raises BadInput: an invalid source, no photographs in it, two with the same name.
    """
    digest, counts, before = hashlib.sha256(), [0, 0], None
    with atomic_write(goal, "wb") as out:
        for line in _sorted((entry.line() for entry in source.entries()), goal.parent):
            entry = PhotographEntry.of(line)
            counts[not entry.location] += 1
            if entry.location:
                if entry.name == before:
                    raise _twice(source, entry.name)
                before = entry.name
            digest.update(line)
            out.write(line)
        if not counts[0]:
            problem = "names no photographs" if source.kind == "manifest" else "has no photographs"
            raise BadInput(problem, source.path, None, "check the path")
    return PhotographList(goal, counts[0], counts[1], digest.hexdigest())


def _sorted(lines: Iterable[bytes], folder: Path) -> Iterator[bytes]:
    """Yield the lines sorted by bytes; sorted runs are kept in temporary files and merged."""
    waiting = iter(lines)
    with ExitStack() as files:
        pieces: list[IO[bytes]] = []
        while piece := sorted(islice(waiting, MAX_LINES_IN_MEMORY)):
            pieces.append(files.enter_context(TemporaryFile(dir=folder)))
            pieces[-1].writelines(piece)
            pieces[-1].seek(0)
        yield from heapq.merge(*pieces)


def _entry(file: SourceFile | Refused, location: str, stamp: str) -> PhotographEntry:
    if isinstance(file, Refused):
        return PhotographEntry(_escaped(file.file), "", "", _escaped(file.why))
    try:
        return PhotographEntry(image_sources.clean_name(file.name), location, stamp)
    except Refusal as refusal:
        return PhotographEntry(
            _escaped(image_sources.printable(file.file)), "", "", refusal.message
        )


def _escaped(text: str) -> str:
    """Return the text as one line of UTF-8."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _refuse_large(size: int) -> None:
    if size > MAX_BYTES:
        raise Unreadable(f"It has over {MAX_BYTES >> 20} MiB.")


def _twice(source: PhotographSource, name: str) -> BadInput:
    line = None
    if source.kind == "manifest":
        lines = (
            line
            for line, (image,) in rows(source.path, (COLUMN,), others=True, as_nfc=False)
            if image_sources.clean_name(image) == name
        )
        line = list(islice(lines, 2))[1]
    return BadInput(
        f"the image {name!r} is repeated",
        source.path,
        line,
        "keep one of the two" if source.kind == "manifest" else "rename one of the two",
    )
