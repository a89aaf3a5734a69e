"""PASCAL-S's fixations: the real files, and files that are not what they should be."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from evaluation.readers.fixations import read_pascal_s
from labeling.files import BadInput

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "pascal_s"


def write(folder, cells, name="fixCell"):
    """A file as MATLAB writes it: a cell row of references, each array with its axes reversed."""
    path = folder / "fixations.mat"
    with h5py.File(path, "w") as file:
        made = [file.create_dataset(f"#refs#/{n}", data=cell) for n, cell in enumerate(cells)]
        references = np.array([[dataset.ref for dataset in made]], h5py.ref_dtype)
        file.create_dataset(name, data=references, dtype=h5py.ref_dtype)
    return path


def write_sizes(folder, sizes):
    path = folder / "sizes.mat"
    with h5py.File(path, "w") as file:
        file["sizeData"] = np.array(sizes, float).T
    return path


def cell(*rows):
    return np.array(rows, float).T


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data/pascal_s is not here")
def test_the_published_files_are_read_as_they_are():
    images = read_pascal_s(DATA / "pascalFix.mat", DATA / "pascalSize.mat")

    assert len(images) == 850
    assert sum(len(fixations) for image in images for fixations in image.people) == 40314
    assert {len(image.people) for image in images} == {5, 6, 7, 8}
    # (185, 288) and (187, 238) of the first person, from 1.
    assert images[0].people[0][:2].tolist() == [[184, 287], [186, 237]]
    assert images[0].size == (375, 500)
    for image in images:
        for fixations in image.people:
            assert (fixations >= 0).all()
            assert (fixations < image.size).all()


def test_people_are_told_apart_and_places_count_from_0(tmp_path):
    path = write(tmp_path, [cell((1, 2, 3), (4, 5, 3), (6, 7, 9)), cell((8, 8, 1))])

    first, second = read_pascal_s(path)

    assert [fixations.tolist() for fixations in first.people] == [[[0, 1], [3, 4]], [[5, 6]]]
    assert [fixations.tolist() for fixations in second.people] == [[[7, 7]]]
    assert first.size is None


def test_an_image_that_nobody_looked_at_has_no_people(tmp_path):
    # MATLAB stores an empty array as its shape.
    path = write(tmp_path, [np.zeros(2, np.uint64), np.zeros((3, 0))])

    assert [image.people for image in read_pascal_s(path)] == [(), ()]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([cell((1, 1, 1)), cell((0, 2, 1))], "image 2: fixation 1 is at row 0, column 2, person 1"),
        ([cell((1, 1, 1), (1.5, 2, 1))], "image 1: fixation 2 is at row 1.5"),
        ([cell((1, np.nan, 1))], "image 1: fixation 1 is at row 1, column nan"),
        ([np.ones((2, 4))], r"image 1: has shape \(4, 2\), expected rows of"),
        ([cell((1, 1, 1), (1, 1, 2), (1, 1, 1))], "image 1: a person's fixations are not together"),
    ],
)
def test_a_bad_cell_is_named(tmp_path, cells, message):
    with pytest.raises(BadInput, match=message) as refused:
        read_pascal_s(write(tmp_path, cells))

    assert str(refused.value).startswith(str(tmp_path / "fixations.mat"))
    assert refused.value.cure


def test_a_place_outside_its_image_is_named(tmp_path):
    path = write(tmp_path, [cell((3, 4, 1))])

    assert read_pascal_s(path, write_sizes(tmp_path, [(3, 4)]))[0].size == (3, 4)
    with pytest.raises(BadInput, match="within 3 rows and 3 columns"):
        read_pascal_s(path, write_sizes(tmp_path, [(3, 3)]))


def test_files_that_are_something_else_are_refused(tmp_path):
    path = write(tmp_path, [cell((1, 1, 1))], name="other")
    text = tmp_path / "old.mat"
    text.write_text("MATLAB 5.0 MAT-file")

    with pytest.raises(BadInput, match="has no variable fixCell, it has other"):
        read_pascal_s(path)
    with pytest.raises(BadInput, match=r"old\.mat: is not a MATLAB v7\.3 file; save it"):
        read_pascal_s(text)
    with pytest.raises(BadInput, match="the file is missing"):
        read_pascal_s(tmp_path / "none.mat")
    good = write(tmp_path, [cell((1, 1, 1))])
    with pytest.raises(BadInput, match=r"has 1 image, .* has 2"):
        read_pascal_s(good, write_sizes(tmp_path, [(3, 4), (3, 4)]))
    with pytest.raises(BadInput, match="not whole pixels"):
        read_pascal_s(good, write_sizes(tmp_path, [(3, 0)]))
    with pytest.raises(BadInput, match=r"has shape \(1, 3\)"):
        read_pascal_s(good, write_sizes(tmp_path, [(3, 4, 3)]))


def test_a_variable_that_holds_numbers_instead_of_cells_is_refused(tmp_path):
    path = tmp_path / "numbers.mat"
    with h5py.File(path, "w") as file:
        file["fixCell"] = np.ones((1, 4))

    with pytest.raises(BadInput, match="fixCell is not a list of cells"):
        read_pascal_s(path)


def test_a_cell_that_leads_nowhere_is_named(tmp_path):
    path = tmp_path / "nowhere.mat"
    with h5py.File(path, "w") as file:
        file.create_dataset("fixCell", (1, 1), h5py.ref_dtype)

    with pytest.raises(BadInput, match="image 1: its cell leads nowhere"):
        read_pascal_s(path)


def declared(folder, name="fixCell", kind="f8", in_cell=False):
    """A file of a few bytes that says it holds a million million numbers."""
    path = folder / "bomb.mat"
    with h5py.File(path, "w") as file:
        dataset_name = "#refs#/0" if in_cell else name
        made = file.create_dataset(dataset_name, shape=(3, 10**12), dtype=kind, chunks=(3, 1000))
        if in_cell:
            file.create_dataset(name, data=np.array([[made.ref]], h5py.ref_dtype))
    return path


@pytest.mark.parametrize(("in_cell", "message"), [(False, "fixCell says"), (True, "image 1 says")])
def test_a_file_that_declares_more_than_any_memory_is_refused(tmp_path, in_cell, message):
    with pytest.raises(BadInput, match=f"{message} it has 3000000000000 values"):
        read_pascal_s(declared(tmp_path, in_cell=in_cell))


def test_a_number_beyond_every_image_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"image 1: fixation 2 is at row 1e\+300"):
        read_pascal_s(write(tmp_path, [cell((1, 1, 1), (1e300, 1, 1))]))


def test_a_file_that_is_broken_inside_is_refused_in_one_sentence(tmp_path):
    path = write(tmp_path, [cell((1, 2, 3))])
    whole = path.read_bytes()
    heap = whole.index(b"HEAP")
    path.write_bytes(whole[:heap] + b"PEAH" + whole[heap + 4 :])

    with pytest.raises(BadInput, match="is damaged inside"):
        read_pascal_s(path)


def test_a_name_that_leads_to_itself_is_refused(tmp_path):
    with h5py.File(tmp_path / "f.mat", "w") as file:
        file["fixCell"] = h5py.SoftLink("/fixCell")

    with pytest.raises(BadInput, match="is damaged inside"):
        read_pascal_s(tmp_path / "f.mat")
