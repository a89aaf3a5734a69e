"""A stretch of images.txt is found by its bytes, and no other line is read."""

import itertools
import os

import numpy as np
import pytest

from evaluation.readers import image_lists
from evaluation.readers.image_lists import read_extent
from evaluation.readers.pools import part_of
from labeling.files import BadInput

LISTS = {
    "one length": [f"pool/{n:05d}.jpg" for n in range(1000)],
    "several lengths": [f"{n * 7919 % 1000}.jpg" for n in range(1000)],
    "letters of several bytes": ["ü" * (n % 5) + f"é{n}" for n in range(1000)],
    "as long as if all were": ["abc", "a", "abcde", "b", "bcdef", "abd"],
    "one line": ["a"],
}


@pytest.fixture(autouse=True)
def few_lines_between_marks(monkeypatch):
    monkeypatch.setattr(image_lists, "INDEX_STRIDE", 16)
    monkeypatch.setattr(image_lists, "_BLOCK_BYTES", 100)


@pytest.mark.parametrize("case", LISTS)
def test_stretches_hold_every_line_once_and_meet_at_their_bytes(tmp_path, case):
    ids = [name.encode() for name in LISTS[case]]
    path = tmp_path / "images.txt"

    for end, parts in itertools.product((b"\n", b""), (1, 2, 3, 7)):
        path.write_bytes(b"\n".join(ids) + end)
        taken, at = [], 0
        for index in range(1, parts + 1):
            stretch = read_extent(path, len(ids), part_of(len(ids), index, parts))
            assert stretch.start_byte == at
            taken += stretch.take(range(len(stretch)))
            at = stretch.stop_byte

        assert taken == ids
        assert at == path.stat().st_size


@pytest.mark.parametrize("case", ["one length", "several lengths"])
def test_a_stretch_does_not_look_at_the_lines_of_others(tmp_path, case):
    ids = LISTS[case]
    path = tmp_path / "images.txt"
    path.write_text("\n".join(ids) + "\n")
    read_extent(path, 1000, slice(0, 10))
    written = path.stat().st_mtime_ns
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:500], *(b"\0" * len(x) for x in lines[500:])]))
    os.utime(path, ns=(written, written))

    stretch = read_extent(path, 1000, slice(240, 490))

    assert stretch.take(range(250)) == [name.encode() for name in ids[240:490]]
    with pytest.raises(BadInput, match="line 501: the image id holds a NUL"):
        read_extent(path, 1000, slice(490, 510))


def test_an_index_of_another_list_is_not_believed(tmp_path):
    path = tmp_path / "images.txt"
    short_first = sorted(LISTS["several lengths"], key=len)
    path.write_text("\n".join(short_first) + "\n")
    read_extent(path, 1000, slice(0, 10))
    long_first = short_first[::-1]
    path.write_text("\n".join(long_first) + "\n")

    stretch = read_extent(path, 1000, slice(100, 300))

    assert stretch.take(range(200)) == [name.encode() for name in long_first[100:300]]


@pytest.mark.parametrize("content", [b"", b"no array", np.arange(4).tobytes()])
def test_a_broken_index_is_made_again(tmp_path, content):
    path = tmp_path / "images.txt"
    path.write_text("\n".join(LISTS["several lengths"]) + "\n")
    index = tmp_path / "images.txt.index.npy"
    index.write_bytes(content)

    stretch = read_extent(path, 1000, slice(5, 6))

    assert stretch.take([0]) == [LISTS["several lengths"][5].encode()]
    assert np.load(index)[-2] == path.stat().st_size


def test_a_folder_that_takes_no_index_is_read_all_the_same(tmp_path):
    path = tmp_path / "images.txt"
    path.write_text("\n".join(LISTS["several lengths"]) + "\n")
    (tmp_path / "images.txt.index.npy").mkdir()

    stretch = read_extent(path, 1000, slice(5, 6))

    assert stretch.take([0]) == [LISTS["several lengths"][5].encode()]


@pytest.mark.parametrize("case", ["one length", "several lengths"])
def test_a_list_of_another_number_of_lines_is_refused(tmp_path, case):
    path = tmp_path / "images.txt"
    path.write_text("\n".join(LISTS[case]) + "\n")

    with pytest.raises(BadInput, match=r"has 1000 lines, but the arrays beside it have 999"):
        read_extent(path, 999, slice(0, 10))


def test_an_id_that_is_not_utf_8_is_refused_by_its_line_in_the_whole_list(tmp_path):
    path = tmp_path / "images.txt"
    path.write_bytes(b"aa\nbb\ncc\n\xff\xff\n")

    with pytest.raises(BadInput, match="line 4: the image id is not UTF-8"):
        read_extent(path, 4, slice(2, 4))
