"""Sources of images, a folder, a zip or a manifest, as one stream of files. No database.

Paths that leave their folder or archive, hidden files, links and false types become Refused with
the reason. Nothing is ever unpacked to a path that an archive names.
"""

import csv
import io
import lzma
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from labeling.csv_rows import plain_cell
from labeling.errors import Refusal

MAX_NAME_LENGTH = 400
MAX_LICENCE = 200
MAX_SOURCE = 500
MAX_QUERY = 200
# Most queries kept per image.
MAX_QUERIES = 100
# Photographs hardly shrink in a zip; a ratio above this is an attack.
MAX_ZIP_RATIO = 100
# Smaller archives may have any ratio: a few blank bitmaps are not a zip bomb.
HARMLESS_BYTES = 100 * 1024 * 1024
# zipfile keeps an object per entry: this many take about a gigabyte and half a minute.
MAX_ENTRIES = 1_000_000
# Lowest size of an image. An archive with more entries below it was made to keep a worker busy.
SMALLEST_IMAGE_BYTES, MAX_TINY = 26, 10_000
# Errors of zipfile for the content of a damaged entry. bzip2 raises OSError without a number.
DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
# Signature of an entry in a zip's directory.
ENTRY_SIGNATURE = b"PK\1\2"
# The first 46 bytes of an entry: signature, unpacked size, lengths of name, extra field, comment.
ENTRY = struct.Struct("<4s20xIHHH12x")
# A zip64 has two more records before its end.
ZIP64_RECORDS_BYTES = 56 + 20
SYSTEM_FILES = {"thumbs.db", "desktop.ini", "__macosx"}
ENCRYPTED = 0x1
UTF8_NAME = 0x800
COLUMNS = {"file", "name", "licence", "license", "source", "wnid", "image", "query"}
WNID = re.compile(r"n\d{8}")
# A query that found an image: its wnid ("" for none) and the query.
Query = tuple[str, str]
# A file in a folder or zip with `wnid,image,query` rows about its images.
CANDIDATES = "candidates.csv"
MAX_CANDIDATES_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class SourceFile:
    """A file that may be an image.

    `open` returns it from the start and may be called repeatedly.
    """

    file: str
    name: str
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    bytes: int
    licence: str = ""
    source: str = ""
    queries: tuple[Query, ...] = ()


@dataclass(frozen=True)
class Refused:
    """A file that was not accepted, and the reason as a sentence."""

    file: str
    why: str


class BadSource(Refusal):
    """A folder, zip or manifest that cannot be read at all."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message, field="file", code="bad_source")
        self.line = line


def clean_name(name: str) -> str:
    """Return the name as an image's id: a relative path with slashes, NFC. Raises Refusal.

    >>> clean_name("birds/./coot.jpg")
    'birds/coot.jpg'
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise Refusal("Its name is not UTF-8. Rename it.", field="name") from None
    name = unicodedata.normalize("NFC", name)
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise Refusal("Its name has control characters. Rename it.", field="name")
    if "\\" in name:
        raise Refusal("Its name has a backslash. Separate folders by /.", field="name")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise Refusal("Its name is an absolute path. Use a relative path.", field="name")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise Refusal(
            "Its name leaves the folder (..). Use a path inside the folder.", field="name"
        )
    clean = "/".join(parts)
    if not clean.strip():
        raise Refusal("It has no name.", field="name")
    if len(clean) > MAX_NAME_LENGTH:
        raise Refusal(f"Its name is longer than {MAX_NAME_LENGTH} characters.", field="name")
    return clean


def printable(name: str) -> str:
    r"""Return the name for a report, with \x escapes for bytes that are not UTF-8, and for NUL,
    which PostgreSQL rejects in text.
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def in_folder(folder: Path, in_order: bool = True) -> Iterator[SourceFile | Refused]:
    """Yield every file below the folder, each folder sorted by name.

    Without in_order, use the system's order and keep no list.
    """
    if not folder.is_dir():
        raise BadSource(f"{printable(str(folder))} is not a folder.")
    files = _walk(folder, folder, folder.resolve(), in_order)
    if (folder / CANDIDATES).is_file():
        with (folder / CANDIDATES).open("rb") as file:
            files = _with_queries(files, file)
    yield from files


def _with_queries(
    files: Iterator[SourceFile | Refused], candidate_list: IO[bytes]
) -> Iterator[SourceFile | Refused]:
    """Yield the files, without the list of candidates, each with its queries.

    Raises BadSource with the line.
    """
    queries: dict[str, list[Query]] = {}
    if len(content := candidate_list.read(MAX_CANDIDATES_BYTES + 1)) > MAX_CANDIDATES_BYTES:
        raise BadSource(
            f"{CANDIDATES} is larger than {MAX_CANDIDATES_BYTES // 2**20} MiB. Split it."
        )
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        if {"wnid", "image", "query"} - set(rows.fieldnames or ()):
            raise BadSource(f"{CANDIDATES} needs the columns wnid, image and query.", line=1)
        for row in rows:
            try:
                row_queries = _queries(
                    {key: plain_cell(row[key] or "").strip() for key in ("wnid", "query")}
                )
                name = clean_name(plain_cell(row["image"] or ""))
                queries.setdefault(name, []).extend(row_queries)
            except Refusal as refusal:
                raise BadSource(
                    f"{CANDIDATES}, line {rows.line_num}: {refusal.message}", line=rows.line_num
                ) from None
    except UnicodeDecodeError:
        raise BadSource(f"{CANDIDATES} is not UTF-8. Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise BadSource(f"{CANDIDATES} is not valid CSV: {error}.", line=rows.line_num) from None

    def own_of(name: str) -> tuple[Query, ...]:
        try:
            return merged(queries.get(clean_name(name), ()))
        except Refusal:
            return ()

    return (
        replace(entry, queries=own_of(entry.name)) if isinstance(entry, SourceFile) else entry
        for entry in files
        if entry.file != CANDIDATES
    )


def _walk(folder: Path, top: Path, root: Path, in_order: bool) -> Iterator[SourceFile | Refused]:
    try:
        entries: Iterable[os.DirEntry[str]] = os.scandir(folder)
        if in_order:
            entries = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield Refused(_below(folder, top), _unreadable(error))
        return
    for entry in entries:
        path = Path(entry.path)
        file = _below(path, top)
        if hidden := _hidden(entry.name):
            yield Refused(file, hidden)
        elif entry.is_symlink() and path.is_dir():
            yield Refused(file, "It is a link to a folder. Copy the folder here.")
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(path, top, root, in_order)
        else:
            yield on_disk(path, root, file, path.relative_to(top).as_posix())


def on_disk(path: Path, root: Path, file: str, name: str) -> SourceFile | Refused:
    """Return a file below root; links are judged by their target."""
    try:
        goal = path.resolve(strict=True)
        if not goal.is_relative_to(root):
            return Refused(
                file, "It is a link to a file outside its folder. Copy the file into the folder."
            )
        status = goal.stat()
    except FileNotFoundError:
        return Refused(file, "There is no such file.")
    except (OSError, RuntimeError, ValueError) as error:
        return Refused(file, _unreadable(error))
    if not stat.S_ISREG(status.st_mode):
        return Refused(file, "It is not a file.")
    return SourceFile(file, name, partial(_open_file, goal), status.st_size)


def _open_file(path: Path) -> IO[bytes]:
    return path.open("rb")


def in_zip(archive: zipfile.ZipFile, size: int) -> Iterator[SourceFile | Refused]:
    """Yield every file of the archive in its order. size: bytes of the archive, to detect a zip
    bomb.
    """
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    _check_ratio(sum(entry.file_size for entry in entries), size)
    files: Iterator[SourceFile | Refused] = (_entry(archive, entry) for entry in entries)
    candidate_entry = next((entry for entry in entries if entry.filename == CANDIDATES), None)
    if candidate_entry is not None and not _refuse_entry(candidate_entry, CANDIDATES):
        with _reading_zip(), archive.open(candidate_entry) as file:
            files = _with_queries(files, file)
    yield from files


def _check_ratio(unpacked: int, size: int) -> None:
    if unpacked > max(HARMLESS_BYTES, MAX_ZIP_RATIO * size):
        raise BadSource(
            f"The zip unpacks to {unpacked:,} bytes from {size:,} (a zip bomb?). "
            "Pack the images as they are."
        )


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SourceFile | Refused:
    name = _zip_name(entry)
    if why := _refuse_entry(entry, name):
        return Refused(printable(name), why)
    return SourceFile(printable(name), name, partial(archive.open, entry), entry.file_size)


def open_zip(file: IO[bytes], most: int | None = None) -> zipfile.ZipFile:
    """Return the archive.

    Raises BadSource if it is not a zip or has more than `most` entries (MAX_ENTRIES).
    """
    count_entries(file, most)
    with _reading_zip():
        archive = zipfile.ZipFile(file)
        if any(entry.header_offset < 0 for entry in archive.infolist()):
            raise zipfile.BadZipFile("its first bytes are missing")
        return archive


def count_entries(file: IO[bytes], most: int | None = None) -> int:
    """Return the number of entries in the zip's directory without loading them: millions of empty
    ones would take minutes and gigabytes. Raises BadSource for more than `most` entries
    (MAX_ENTRIES), more than MAX_TINY entries too small for images, too large an unpacked size, and
    files that are not zips.
    """
    most = MAX_ENTRIES if most is None else most
    with _reading_zip():
        # ZipFile reads by the directory's size. The stated count may be wrong.
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if end is None:
            raise zipfile.BadZipFile("File is not a zip file")
    signature, left, offset = end[0], end[5], end[9] - end[5]
    if signature == zipfile.stringEndArchive64:  # type: ignore[attr-defined]
        offset -= ZIP64_RECORDS_BYTES
    count = tiny = unpacked = 0
    file.seek(max(0, offset))
    for size, is_folder in _directory(file, left):
        count, unpacked = count + 1, unpacked + size
        tiny += size < SMALLEST_IMAGE_BYTES and not is_folder
        if count > most:
            raise BadSource(
                f"The zip has more than {most:,} files and folders. Include only the images, or "
                "split it."
            )
        if tiny > MAX_TINY:
            raise BadSource(
                f"The zip has more than {MAX_TINY:,} files that are empty or too small for an "
                "image. Include only the images."
            )
    _check_ratio(unpacked, file.seek(0, io.SEEK_END))
    return count


def _directory(file: IO[bytes], left: int) -> Iterator[tuple[int, bool]]:
    """Yield the unpacked size of each entry in a directory of `left` bytes, and whether it is a
    folder. Stops at a fault, which zipfile reports when it reads the directory next.
    """
    buffer, at = b"", 0
    while left > 0 or at < len(buffer):
        # Name, extra field and comment take at most 64 KiB each.
        if len(buffer) - at < 1 << 18 and left > 0:
            part = file.read(min(left, 1 << 20))
            left = left - len(part) if part else 0
            buffer, at = buffer[at:] + part, 0
        if len(buffer) - at < ENTRY.size:
            return
        signature, size, *lengths = ENTRY.unpack_from(buffer, at)
        if signature != ENTRY_SIGNATURE:
            return
        start = at + ENTRY.size
        yield size, buffer[start : start + lengths[0]].endswith(b"/")
        at = start + sum(lengths)


@contextmanager
def _reading_zip() -> Iterator[None]:
    try:
        yield
    except (*DAMAGED, NotImplementedError, UnicodeDecodeError, ValueError) as error:
        raise BadSource(
            f"It is not a zip file, or a damaged one ({error}). Create the zip again."
        ) from None


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """Return the name in UTF-8: many tools write UTF-8 without the flag, and zipfile reads it as
    cp437.
    """
    if entry.flag_bits & UTF8_NAME:
        return entry.orig_filename
    try:
        return entry.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.orig_filename


def _refuse_entry(entry: zipfile.ZipInfo, name: str) -> str:
    if entry.flag_bits & ENCRYPTED:
        return "It is encrypted. Pack it without a password."
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "It is a link. Pack the file itself."
    for part in name.split("/"):
        if hidden := _hidden(part):
            return hidden
    if name.lower().endswith(".zip"):
        return "It is an archive inside the archive. Unpack it first."
    return ""


def in_manifest(path: Path) -> Iterator[SourceFile | Refused]:
    """Yield every row's file.

    Columns: file (or image), and optionally name, licence, source, wnid and query. Paths are
    relative to the manifest and must stay below its folder. With queries, an image comes once, with
    all its queries. Raises BadSource with the line.
    """
    root = path.parent.resolve()
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, strict=True)
            names = _check_columns(rows.fieldnames)
            entries = (_from_row(row, rows.line_num, path.parent, root) for row in rows)
            yield from _joined(entries) if {"wnid", "query"} & names else entries
    except FileNotFoundError:
        raise BadSource(f"There is no manifest {path.name}.") from None
    except UnicodeDecodeError:
        raise BadSource("The manifest is not UTF-8. Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise BadSource(f"The manifest is not valid CSV: {error}.", line=rows.line_num) from None


def _joined(rows: Iterable[SourceFile | Refused]) -> Iterator[SourceFile | Refused]:
    """Yield refused files first, then each file once, in order of its first row, with the queries
    of all its rows.
    """
    entries: dict[tuple[str, str], SourceFile] = {}
    queries: dict[tuple[str, str], list[Query]] = {}
    for row in rows:
        if isinstance(row, Refused):
            yield row
            continue
        key = row.file, row.name
        entries.setdefault(key, row)
        queries.setdefault(key, []).extend(row.queries)
    for key, row in entries.items():
        yield replace(row, queries=merged(queries[key]))


def merged(queries: Iterable[Query]) -> tuple[Query, ...]:
    """Return the distinct queries, sorted, at most MAX_QUERIES."""
    return tuple(sorted(set(queries))[:MAX_QUERIES])


def _check_columns(names: object) -> set[str]:
    """Raise BadSource for missing or unknown columns."""
    names = [str(name).strip() for name in names] if isinstance(names, list) else []
    if not {"file", "image"} & set(names):
        raise BadSource("The manifest has no column file. Name the columns in its first line.")
    unknown = sorted(set(names) - COLUMNS)
    if unknown:
        raise BadSource(
            f"The manifest has an unknown column {unknown[0]!r}; known are file (or image), name, "
            "licence, source, wnid and query.",
            line=1,
        )
    if len(set(names)) < len(names) or {"file", "image"} <= set(names):
        raise BadSource("The manifest names a column twice.", line=1)
    return set(names)


def _from_row(
    row: dict[str | None, str | list[str] | None], line: int, folder: Path, root: Path
) -> SourceFile | Refused:
    cells = {
        str(key).strip(): plain_cell(value).strip()
        for key, value in row.items()
        if isinstance(value, str)
    }
    file = cells.get("file") or cells.get("image") or ""
    label = f"{printable(file) or 'no file'} (line {line})"
    if None in row:
        return Refused(label, "The line has more cells than there are columns.")
    try:
        path = clean_name(file)
        queries = _queries(cells)
    except Refusal as refusal:
        return Refused(label, refusal.message)
    entry = on_disk(folder / path, root, file, cells.get("name") or path)
    if isinstance(entry, Refused):
        return Refused(label, entry.why)
    licence = cells.get("licence") or cells.get("license") or ""
    return replace(entry, licence=licence, source=cells.get("source", ""), queries=queries)


def _queries(cells: Mapping[str, str]) -> tuple[Query, ...]:
    """Return the query of a row, if any. Raises Refusal."""
    wnid, query = cells.get("wnid", ""), cells.get("query", "")
    if wnid and not WNID.fullmatch(wnid):
        raise Refusal(
            f"{wnid[:40]!r} is not a wnid such as n02084071. Correct it, or leave it empty."
        )
    if len(query) > MAX_QUERY or any(
        unicodedata.category(character) == "Cc" for character in query
    ):
        raise Refusal(f"The query has control characters, or more than {MAX_QUERY}. Shorten it.")
    return ((wnid, query),) if wnid or query else ()


def _hidden(name: str) -> str:
    if name.startswith(".") and name not in {".", ".."}:
        return "It is a hidden file."
    if name.lower() in SYSTEM_FILES:
        return "It belongs to the operating system, not to the images."
    return ""


def _unreadable(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return f"It cannot be read: {reason.lower()}."


def _below(path: Path, top: Path) -> str:
    return printable(path.relative_to(top).as_posix())
