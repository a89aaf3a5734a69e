"""Which photographs a folder, a zip or a manifest has, in which order, and what is refused."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from evaluation.classifiers.predicting import photographs
from evaluation.classifiers.predicting.photographs import (
    PhotographEntry,
    Unreadable,
    source_of,
    write_list,
)
from labeling.files import BadInput
from tests.evaluation.classifiers.predicting import pictures


@pytest.fixture
def listing(tmp_path):
    """Lists a source: its entries and what write_list says of them."""

    def run(path):
        source = source_of(path)
        written = write_list(source, tmp_path / "list")
        with open(written.path, "rb") as file:
            return source, written, [PhotographEntry.of(line) for line in file]

    return run


def names(entries):
    return [entry.name for entry in entries if entry.location]


def test_names_ascend_by_their_bytes_whatever_folders_they_are_in(tmp_path, listing):
    expected_names = [
        "b.jpg",
        "a/z.jpg",
        "a.jpg",
        "a-b.jpg",
        "ä.jpg",
        "Z.jpg",
        "a/ä/1.jpg",
        "a0.jpg",
    ]
    folder = pictures.write(tmp_path / "images", dict.fromkeys(expected_names, b"x"))

    _, written, entries = listing(folder)

    assert names(entries) == sorted(expected_names, key=str.encode)
    assert (written.images, written.refused) == (8, 0)


def test_a_list_sorted_in_pieces_is_the_same_list(tmp_path, listing, monkeypatch):
    folder = pictures.write(tmp_path / "images", {f"{n * 7 % 40}/{n}.jpg": b"x" for n in range(90)})
    _, whole, _ = listing(folder)

    monkeypatch.setattr(photographs, "MAX_LINES_IN_MEMORY", 7)
    _, pieces, entries = listing(folder)

    assert pieces.sha256 == whole.sha256
    assert len(names(entries)) == 90


def test_a_folder_a_zip_and_a_manifest_have_the_same_photographs(tmp_path, listing):
    files = {"b/2.jpg": pictures.of(2), "a.jpg": pictures.of(0), "b/1.jpg": pictures.of(1)}
    folder = pictures.write(tmp_path / "images", files)
    archive = pictures.zipped(tmp_path / "images.zip", files)
    manifest = pictures.manifest(folder / "manifest.csv", files)

    by_path = {}
    for path in (archive, manifest):
        source, _, entries = listing(path)
        by_path[path] = [(each.name, source.pixels(each.location).tobytes()) for each in entries]
        source.close()

    assert by_path[archive] == by_path[manifest]
    assert [name for name, _ in by_path[archive]] == ["a.jpg", "b/1.jpg", "b/2.jpg"]
    manifest.unlink()
    source, _, entries = listing(folder)
    assert [(each.name, source.pixels(each.location).tobytes()) for each in entries] == by_path[
        archive
    ]


def test_another_file_or_another_content_in_a_zip_makes_another_list(tmp_path, listing):
    folder = pictures.write(tmp_path / "images", {"a.jpg": b"one"})
    _, first, _ = listing(folder)
    assert listing(folder)[1].sha256 == first.sha256
    pictures.write(folder, {"a.jpg": b"three"})
    assert listing(folder)[1].sha256 != first.sha256

    _, first, _ = listing(pictures.zipped(tmp_path / "a.zip", {"a.jpg": b"one"}))
    assert listing(pictures.zipped(tmp_path / "a.zip", {"a.jpg": b"two"}))[1].sha256 != first.sha256


def test_a_photograph_is_seen_upright(tmp_path, listing):
    pixels = np.zeros((8, 20, 3), np.uint8)
    pixels[:, 10:] = 255
    exif = Image.Exif()
    exif[pictures.TURNED] = 6
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", exif=exif)
    source, _, entries = listing(pictures.write(tmp_path / "images", {"a.jpg": stream.getvalue()}))

    upright = source.pixels(entries[0].location)

    assert upright.shape == (20, 8, 3)
    assert upright[:8].mean() < 20
    assert upright[12:].mean() > 235


def test_what_leaves_a_folder_or_hides_is_refused_with_its_reason(tmp_path, listing):
    (tmp_path / "secret.jpg").write_bytes(pictures.of(0))
    folder = pictures.write(
        tmp_path / "images", {"a.jpg": b"x", ".hidden.jpg": b"x", "line\nbreak.jpg": b"x"}
    )
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (folder / "loop").symlink_to(folder)

    _, written, entries = listing(folder)

    assert names(entries) == ["a.jpg"]
    assert written.refused == 4
    assert {entry.name: entry.reason for entry in entries if not entry.location} == {
        ".hidden.jpg": "It is a hidden file.",
        "line\\nbreak.jpg": "Its name has control characters. Rename it.",
        "link.jpg": "It is a link to a file outside its folder. Copy the file into the folder.",
        "loop": "It is a link to a folder. Copy the folder here.",
    }


def test_a_file_that_becomes_a_link_out_of_its_folder_is_not_opened(tmp_path, listing):
    (tmp_path / "secret.jpg").write_bytes(pictures.of(0))
    folder = pictures.write(tmp_path / "images", {"a.jpg": pictures.of(0)})
    source, _, entries = listing(folder)
    (folder / "a.jpg").unlink()
    (folder / "a.jpg").symlink_to(tmp_path / "secret.jpg")

    with pytest.raises(Unreadable, match="outside its folder"):
        source.pixels(entries[0].location)


def test_what_leaves_a_zip_is_refused_and_bombs_are(tmp_path, listing):
    archive = pictures.zipped(tmp_path / "a.zip", {"../a.jpg": b"x", "/b.jpg": b"x", "c.jpg": b"x"})

    _, _, entries = listing(archive)

    assert names(entries) == ["c.jpg"]
    assert [entry.name for entry in entries if not entry.location] == ["../a.jpg", "/b.jpg"]
    import zipfile

    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        for number in range(2):
            bomb.writestr(f"{number}.jpg", bytes(60 << 20))
    with pytest.raises(BadInput, match=r"bomb\.zip: The zip unpacks to .* zip bomb"):
        listing(tmp_path / "bomb.zip")


def test_what_cannot_be_decoded_says_why(tmp_path, listing, monkeypatch):
    folder = pictures.write(
        tmp_path / "images",
        {"cut.jpg": pictures.jpeg(size=(200, 200))[:-400], "note.txt": b"hello", "gone.jpg": b"x"},
    )
    source, _, entries = listing(folder)
    (folder / "gone.jpg").unlink()
    reasons = {}
    for entry in entries:
        with pytest.raises(Unreadable) as caught:
            source.pixels(entry.location)
        reasons[entry.name] = str(caught.value)

    assert "truncated" in reasons["cut.jpg"]
    assert "not a JPEG" in reasons["note.txt"]
    assert reasons["gone.jpg"] == "There is no such file."
    monkeypatch.setattr(photographs, "MAX_BYTES", 3)
    with pytest.raises(Unreadable, match="over 0 MiB"):
        source.pixels("note.txt")


def test_a_damaged_entry_of_a_zip_says_so(tmp_path, listing):
    archive = pictures.zipped(tmp_path / "a.zip", {"a.jpg": pictures.of(0)})
    _, _, entries = listing(archive)
    content = bytearray(archive.read_bytes())
    content[60:80] = bytes(20)
    archive.write_bytes(content)

    source = source_of(archive)
    with pytest.raises(Unreadable, match="damaged"):
        source.pixels(entries[0].location)
    source.close()


def test_a_manifest_may_have_other_columns_and_lists_what_is_missing(tmp_path, listing):
    pictures.write(tmp_path, {"a.jpg": pictures.of(0)})
    manifest = pictures.manifest(
        tmp_path / "truth.csv", ["./a.jpg,n02084071", "b.jpg,n02084071"], "image,wnid"
    )

    _, _, entries = listing(manifest)

    assert names(entries) == ["a.jpg"]
    assert [(each.name, each.reason) for each in entries if not each.location] == [
        ("b.jpg", "There is no such file.")
    ]


@pytest.mark.parametrize(
    ("header", "lines", "line", "message"),
    [
        ("file", ["a.jpg"], 1, "the column 'image' is missing"),
        ("image", ["a.jpg", "../b.jpg"], 3, "its name leaves the folder"),
        ("image", ["/etc/passwd"], 2, "its name is an absolute path"),
        ("image", ["a.jpg", "c.jpg", "./a.jpg"], 4, "the image 'a.jpg' is repeated"),
        ("image", ['""'], 2, "it has no name"),
        ("image", [], None, "names no photographs"),
        ("image", ["b.jpg"], None, "names no photographs"),
    ],
)
def test_a_wrong_manifest_is_named_with_its_line(tmp_path, listing, header, lines, line, message):
    pictures.write(tmp_path, {"a.jpg": pictures.of(0), "c.jpg": pictures.of(1)})
    manifest = pictures.manifest(tmp_path / "m.csv", lines, header)

    with pytest.raises(BadInput) as caught:
        listing(manifest)

    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == (os.fspath(manifest), line)
    assert caught.value.cure
    assert not list(tmp_path.glob(".list*"))


def test_two_names_that_are_one_are_refused(tmp_path, listing):
    archive = pictures.zipped(tmp_path / "a.zip", {"ä.jpg": b"x", "a\u0308.jpg": b"y"})

    with pytest.raises(BadInput, match=r"a\.zip: the image 'ä\.jpg' is repeated; rename one"):
        listing(archive)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "there are no photographs"),
        ("a.jpg", "is neither a folder nor a .zip nor a manifest"),
        ("empty", "has no photographs"),
        ("a.zip", "It is not a zip"),
    ],
)
def test_what_is_no_source_is_named(tmp_path, listing, name, message):
    pictures.write(tmp_path, {"a.jpg": b"x", "a.zip": b"x", "empty/.hidden": b"x"})

    with pytest.raises(BadInput, match=message) as caught:
        listing(tmp_path / name)

    assert caught.value.file == os.fspath(tmp_path / name)
