"""Folders, zips and manifests: what is found in them, and what is refused with which words."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from labeling.datasets.image_sources import (
    BadSource,
    Refused,
    SourceFile,
    clean_name,
    count_entries,
    in_folder,
    in_manifest,
    in_zip,
    open_zip,
)
from labeling.errors import Refusal
from tests.cases import for_each
from tests.labeling import samples


def write(folder: Path, *names: str, content: bytes = b"x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def names(entries) -> list[str]:
    return [each.name for each in entries if isinstance(each, SourceFile)]


def refusals(entries) -> dict[str, str]:
    return {each.file: each.why for each in entries if isinstance(each, Refused)}


def entries_of(stream) -> list[SourceFile | Refused]:
    size = len(stream.getvalue())
    return list(in_zip(open_zip(stream), size))


# Names


@for_each(
    ("raw", "clean"),
    [
        ("coot.jpg", "coot.jpg"),
        ("./birds//coot.jpg", "birds/coot.jpg"),
        ("bl\u0061\u0308ss.jpg", "bl\u00e4ss.jpg"),
        ("..coot.jpg", "..coot.jpg"),
    ],
)
def test_a_name_is_a_relative_path_in_one_form(raw, clean):
    assert clean_name(raw) == clean


@for_each(
    ("name", "why"),
    [
        ("../coot.jpg", "leaves the folder"),
        ("birds/../../coot.jpg", "leaves the folder"),
        ("/etc/passwd", "absolute"),
        ("C:/coot.jpg", "absolute"),
        ("c:coot.jpg", "absolute"),
        ("birds\\coot.jpg", "backslash"),
        ("..\\coot.jpg", "backslash"),
        ("coot\n.jpg", "control"),
        ("coot\0.jpg", "control"),
        ("coot\x85.jpg", "control"),
        ("", "no name"),
        ("./", "no name"),
        ("  ", "no name"),
        ("a" * 401, "longer than 400"),
        ("coot\udcff.jpg", "not UTF-8"),
    ],
)
def test_a_name_that_is_none_is_refused(name, why):
    with pytest.raises(Refusal, match=why):
        clean_name(name)


# Folders


def test_a_folder_is_walked_in_order_and_names_are_its_paths(tmp_path):
    write(tmp_path, "b.jpg", "a/2.jpg", "a/1.jpg")

    assert names(in_folder(tmp_path)) == ["a/1.jpg", "a/2.jpg", "b.jpg"]


def test_hidden_files_and_folders_and_the_systems_own_are_told(tmp_path):
    write(tmp_path, ".DS_Store", ".git/x", "Thumbs.db", "__MACOSX/a.jpg", "a.jpg")

    entries = list(in_folder(tmp_path))

    assert names(entries) == ["a.jpg"]
    assert set(refusals(entries)) == {".DS_Store", ".git", "Thumbs.db", "__MACOSX"}
    assert "hidden" in refusals(entries)[".git"]
    assert "operating system" in refusals(entries)["Thumbs.db"]


def test_links_count_by_where_they_lead(tmp_path):
    root, outside = tmp_path / "in", tmp_path / "out"
    write(root, "a.jpg")
    write(outside, "secret.jpg")
    (root / "inside.jpg").symlink_to(root / "a.jpg")
    (root / "leak.jpg").symlink_to(outside / "secret.jpg")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "nowhere.jpg").symlink_to(root / "gone.jpg")
    (root / "circle").symlink_to(root / "circle")

    entries = list(in_folder(root))

    assert names(entries) == ["a.jpg", "inside.jpg"]
    assert set(refusals(entries)) == {"leak.jpg", "folder", "loop", "nowhere.jpg", "circle"}
    assert "outside its folder" in refusals(entries)["leak.jpg"]
    assert "no such file" in refusals(entries)["nowhere.jpg"]


def test_a_pipe_is_refused_and_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")

    assert refusals(in_folder(tmp_path)) == {"pipe.jpg": "It is not a file."}


def test_a_name_that_is_not_utf8_can_be_reported(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/coot\xff.jpg")).write_bytes(b"x")

    (entry,) = in_folder(tmp_path)

    assert entry.file == "coot\\xff.jpg"


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(BadSource, match="not a folder"):
        list(in_folder(tmp_path / "nowhere"))


# Zips


def test_a_zip_is_read_in_place_and_names_are_its_paths():
    entries = entries_of(samples.zipped({"birds/": b"", "birds/coot.jpg": b"abc"}))

    assert names(entries) == ["birds/coot.jpg"]
    with entries[0].open() as file:
        assert file.read() == b"abc"


@for_each("name", ["../up.jpg", "/abs.jpg", "C:\\win.jpg", "a\\b.jpg", "x\0.jpg"])
def test_a_slip_keeps_its_name_so_that_it_is_refused(name):
    # writestr cuts at NUL; put the name in afterwards, as an attacker would.
    stream = samples.zipped({name.replace("\0", "\1"): b"abc"})
    content = stream.getvalue().replace(name.replace("\0", "\1").encode(), name.encode())
    stream.seek(0)
    stream.write(content)

    (entry,) = entries_of(stream)

    with pytest.raises(Refusal):
        clean_name(entry.name)


def test_encrypted_linked_nested_and_hidden_entries_are_refused_each_by_name():
    stream = samples.zipped({"plain.jpg": b"x", "more.zip": b"x", ".hid/a.jpg": b"x"})
    with zipfile.ZipFile(stream, "a") as archive:
        link = zipfile.ZipInfo("link.jpg")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        locked = zipfile.ZipInfo("locked.jpg")
        archive.writestr(locked, b"x")
        archive.getinfo("locked.jpg").flag_bits |= 1
    stream.seek(0)

    entries = entries_of(stream)

    assert names(entries) == ["plain.jpg"]
    why = refusals(entries)
    assert "archive inside" in why["more.zip"]
    assert "link" in why["link.jpg"]
    assert "encrypted" in why["locked.jpg"]
    assert "hidden" in why[".hid/a.jpg"]


def test_a_name_in_utf8_that_does_not_say_so_is_read_as_utf8():
    name = "Blässhuhn.jpg"
    stream = samples.zipped({"BlXXsshuhn.jpg": b"x"})
    content = stream.getvalue().replace(b"BlXXsshuhn.jpg", name.encode())
    stream.seek(0)
    stream.write(content)

    assert names(entries_of(stream)) == [name]


def test_a_zip_bomb_is_refused_whole():
    stream = samples.zipped({f"{i}.bmp": b"\0" * 60_000_000 for i in range(2)})

    with pytest.raises(BadSource, match="zip bomb"):
        entries_of(stream)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 40])
def test_what_is_no_zip_is_refused(content):
    with pytest.raises(BadSource, match="not a zip"):
        open_zip(io.BytesIO(content))


@pytest.mark.parametrize("count", [0, 1, 300, 70_000])
def test_entries_are_counted_without_reading_them(count, monkeypatch):
    # From 65,536 on the directory's end is written in another form (zip64).
    stream = samples.zipped({f"{n}.png": b"x" * 26 for n in range(count)})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    assert count_entries(stream) == count


def test_entries_are_counted_whatever_the_end_of_the_directory_states():
    content = bytearray(samples.zipped({f"{n}.png": b"" for n in range(30)}).getvalue())
    end = content.rindex(b"PK\5\6")
    content[end + 8 : end + 12] = b"\1\0\1\0"

    assert count_entries(io.BytesIO(bytes(content))) == 30


def test_a_zip_of_many_empty_files_is_refused_by_its_directory(monkeypatch):
    stream = samples.zipped({f"{n}.png": b"" for n in range(10_001)} | {"a.png": b"x" * 99})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(BadSource, match="more than 10,000 files that are empty"):
        count_entries(stream)


def test_a_zip_that_unpacks_to_too_much_is_refused_by_its_directory(monkeypatch):
    stream = samples.zipped({"a.png": bytes(101 * 2**20)})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(BadSource, match="zip bomb"):
        count_entries(stream)


def test_a_zip_behind_other_bytes_is_counted_and_read():
    stream = io.BytesIO(b"#!/bin/sh\n" + samples.zipped({"a.png": b"", "b.png": b""}).getvalue())

    assert count_entries(stream) == len(open_zip(stream).infolist()) == 2


def test_a_zip_of_too_many_entries_is_refused_before_they_are_read(monkeypatch):
    stream = samples.zipped({f"{n}.png": b"" for n in range(30)})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(BadSource, match="more than 29 files and folders"):
        open_zip(stream, 29)


# Manifests


def manifest(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "manifest.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_manifest_gives_file_name_licence_and_source(tmp_path):
    write(tmp_path, "a.jpg", "sub/b.jpg")
    path = manifest(
        tmp_path, "file,name,licence,source\na.jpg,birds/coot.jpg,CC0,https://x.org\nsub/b.jpg,,,\n"
    )

    first, second = in_manifest(path)

    assert (first.name, first.licence, first.source) == ("birds/coot.jpg", "CC0", "https://x.org")
    assert (second.name, second.licence, second.source) == ("sub/b.jpg", "", "")


def test_a_manifest_from_a_spreadsheet_is_read(tmp_path):
    write(tmp_path, "a.jpg")
    path = manifest(tmp_path, "name,file\r\nx.jpg,a.jpg\r\n", "utf-8-sig")

    assert names(in_manifest(path)) == ["x.jpg"]


def test_rows_that_lead_nowhere_or_out_are_told_with_their_line(tmp_path):
    folder = tmp_path / "in"
    write(folder, "a.jpg")
    write(tmp_path, "secret.jpg")
    (folder / "leak.jpg").symlink_to(tmp_path / "secret.jpg")
    path = manifest(
        folder, 'file\nmissing.jpg\n../secret.jpg\n/etc/passwd\nleak.jpg\n""\na.jpg,x\na.jpg\n'
    )

    entries = list(in_manifest(path))

    assert names(entries) == ["a.jpg"]
    why = refusals(entries)
    assert "no such file" in why["missing.jpg (line 2)"]
    assert "leaves the folder" in why["../secret.jpg (line 3)"]
    assert "absolute" in why["/etc/passwd (line 4)"]
    assert "outside its folder" in why["leak.jpg (line 5)"]
    assert "no name" in why["no file (line 6)"]
    assert "more cells" in why["a.jpg (line 7)"]


@for_each(
    ("text", "why"),
    [
        ("", "no column file"),
        ("path,name\na,b\n", "no column file"),
        ("file,colour\na,b\n", "unknown column 'colour'"),
        ("file,file\na,b\n", "twice"),
        ('file\n"a\n', "not valid CSV"),
    ],
)
def test_a_manifest_that_is_none_is_refused_with_the_cure(tmp_path, text, why):
    with pytest.raises(BadSource, match=why):
        list(in_manifest(manifest(tmp_path, text)))


def test_a_manifest_in_another_encoding_is_refused(tmp_path):
    with pytest.raises(BadSource, match="not UTF-8"):
        list(in_manifest(manifest(tmp_path, "file\nBläss.jpg\n", "latin-1")))
