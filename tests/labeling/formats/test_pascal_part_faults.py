"""MATLAB files that came in wrong: each is refused with its place, whatever bytes it holds."""

import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from labeling.files import BadInput
from labeling.formats import matfiles, pascal_part
from labeling.formats.reading import LabelReading
from tests.cases import for_each
from tests.labeling import pascal_mats


def cow(size=(30, 40)):
    return pascal_mats.an_object("cow", size, (1, 1, 29, 29), seed=1)


def spoilt(**parts):
    content = pascal_mats.anno("2008_1", [cow()])
    row = content["objects"][0, 0]
    for name, value in parts.items():
        row[name] = value
    return content


def without(name):
    row = {"class": "cow", "class_ind": 10.0, "mask": np.ones((9, 9), bool), "parts": []}
    del row[name]
    return {"imname": "x", "objects": pascal_mats.struct([row])}


def one_part(mask):
    return pascal_mats.struct([{"part_name": "head", "mask": mask}])


@for_each(
    ("content", "message"),
    [
        (7.0, "anno is not a struct"),
        ("text", "anno is not a struct"),
        ({"objects": np.zeros((0, 0))}, "anno lacks imname"),
        ({"imname": "x"}, "anno lacks objects"),
        ({"imname": 7.0, "objects": np.zeros((0, 0))}, "anno.imname is not text"),
        ({"imname": "../x", "objects": np.zeros((0, 0))}, "leaves its folder"),
        ({"imname": "x", "objects": "none"}, "anno.objects is not a struct"),
        (without("class"), r"anno.objects\(1\) lacks class"),
        (without("mask"), r"anno.objects\(1\) lacks mask"),
        (without("parts"), r"anno.objects\(1\) lacks parts"),
        (spoilt(mask="mask"), r"anno.objects\(1\).mask is not a matrix of numbers"),
        (spoilt(mask=np.zeros((0, 0))), r"mask is 0 × 0"),
        (spoilt(mask=np.ones((9, 9, 3))), "not a matrix of numbers"),
        (spoilt(mask=np.full((30, 40), np.nan)), "NaN"),
        (spoilt(mask=np.ones((9, 9), bool)), "40 × 30 pixels, the first mask 9 × 9"),
        (spoilt(mask=np.array([["a"]], object)), "not a matrix of numbers"),
        (spoilt(mask=np.ones((30, 40)) * 1j), "complex numbers"),
        (spoilt(parts=one_part(np.ones((3, 3), bool))), r"parts\(1\).mask is 3 × 3 pixels"),
        (spoilt(parts="head"), r"anno.objects\(1\).parts is not a struct"),
        (spoilt(parts=pascal_mats.struct([{"mask": np.ones((30, 40))}])), "lacks part_name"),
        (spoilt(**{"class": "c" * 500}), "class is"),
    ],
)
def test_a_fault_of_a_mat_file_is_named(content, message, tmp_path):
    path = pascal_mats.save_anno(tmp_path / "x.mat", content)

    with pytest.raises(BadInput, match=message):
        list(pascal_part.read(LabelReading(path)))


@for_each(
    ("content", "message"),
    [
        (b"", "not a MATLAB v5 file"),
        (b"GIF89a" * 100, "not a MATLAB v5 file"),
        (b"\x80\x04\x95 a pickle" + bytes(200), "not a MATLAB v5 file"),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), "v7.3 file, which is not supported"),
        (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF", "v7.3 file, which is not supported"),
    ],
)
def test_what_is_no_mat_file_is_told(content, message, tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(content)

    with pytest.raises(BadInput, match=message):
        list(pascal_part.read(LabelReading(path)))


def mat_of(kind, rest):
    """A file whose anno is of that class."""
    flags = struct.pack("<IIII", 6, 8, kind, 0)
    dims = struct.pack("<IIii", 5, 8, 1, 1)
    name = struct.pack("<II", 1, 4) + b"anno" + bytes(4)
    body = flags + dims + name + rest
    matrix = struct.pack("<II", 14, len(body)) + body
    return b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + matrix


@for_each(
    ("kind", "message"),
    [(3, "a MATLAB object"), (5, "a sparse matrix"), (16, "a function handle"), (17, "opaque")],
)
def test_what_matlab_keeps_beside_numbers_is_not_read(kind, message, tmp_path):
    path = tmp_path / "x.mat"
    content = mat_of(1, struct.pack("<II", 14, len(inner := mat_of(kind, b"")[136:])) + inner)
    path.write_bytes(content)

    with pytest.raises(BadInput, match=f"has .*{message}"):
        matfiles.load(path, "anno")


def test_a_mat_file_that_claims_more_than_it_has_is_damaged(tmp_path):
    good = pascal_mats.save(tmp_path, "x", [cow()]).read_bytes()
    (size,) = struct.unpack_from("<I", good, 132)
    inside = bytearray(zlib.decompress(good[136 : 136 + size]))
    at = inside.index(struct.pack("<ii", 1, 1), 24)
    inside[at : at + 8] = struct.pack("<ii", 1, 2**31 - 1)
    packed = zlib.compress(bytes(inside))
    path = tmp_path / "x.mat"
    path.write_bytes(good[:128] + struct.pack("<II", 15, len(packed)) + packed)

    with pytest.raises(BadInput, match="damaged"):
        list(pascal_part.read(LabelReading(path)))


def test_no_bytes_of_a_mat_file_do_more_than_be_refused(tmp_path):
    path = tmp_path / "x.mat"
    savemat(path, {"anno": pascal_mats.anno("x", [cow()])})
    good = path.read_bytes()
    chance = random.Random(1)
    refused = 0
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            bad[chance.randrange(128, 1200)] = chance.choice([0, 1, 255, chance.randrange(256)])
        path.write_bytes(bad[: chance.choice([len(bad)] * 9 + [chance.randrange(len(bad))])])
        try:
            list(pascal_part.read(LabelReading(path)))
        except BadInput:
            refused += 1

    assert refused > 50


def test_good_mat_files_stay_when_somebody_takes_faults(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"no")
    pascal_mats.save(tmp_path, "b", [cow()])
    pascal_mats.save_anno(tmp_path / "c.mat", pascal_mats.anno("b", [cow()]))
    faults = []

    objects = list(pascal_part.read(LabelReading(tmp_path, on_fault=faults.append)))

    assert [parted.image for parted in objects] == ["b"]
    assert [Path(fault.file).name for fault in faults] == ["a.mat", "c.mat"]
