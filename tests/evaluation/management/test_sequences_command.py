"""`manage.py sequences`: what it writes, that it goes on where it was stopped, what it refuses."""

import errno
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from evaluation.devices import versions
from evaluation.management.commands import sequences
from evaluation.readers.sequences import read_sequences
from labeling.files import BadInput
from labeling.management import release_options
from tests.evaluation.cds import scenes
from tests.evaluation.cds.scenes import CAT, COW
from tests.evaluation.commands import files_in, outcome
from tests.labeling import part_releases as cats


@pytest.fixture
def folder(tmp_path) -> Path:
    """release/ and images/: two cats on a photograph, a cat and a cow without parts on another."""
    scenes.cats_and_cow(tmp_path, parts=())
    return tmp_path


@pytest.fixture
def sequences_of(folder, shell):
    """Runs the command about the folder's release: (exit status, result or error)."""

    def run(*options: object, images: bool = True) -> tuple[int, dict]:
        where = ("--images", folder / "images") if images else ()
        return outcome(
            shell(
                "sequences", folder / "release", "--out", folder / "out", *where, *options, "--json"
            )
        )

    return run


def orders_file(folder: Path, **schemes) -> Path:
    path = folder / "given.json"
    path.write_text(json.dumps({"orders": schemes}))
    return path


def test_lines_orders_and_frames_are_written(folder, sequences_of):
    order = {CAT: ["head", "tail", "torso", "leg"]}
    path = orders_file(folder, mine=order)

    status, result = sequences_of("--orders", path, "--content-scheme", "intra-object")

    out = folder / "out"
    assert (status, result) == (
        0,
        {
            "objects": 3,
            "sequences": 3,
            "frames": 12,
            "written": 12,
            "left_out": 1,
            "left_out_first": ["b.png/cow-1"],
            "out": str(out),
            "device": "cpu",
            "versions": versions(),
        },
    )
    lines = read_sequences(out / "sequences.jsonl")
    assert lines[0].frames[:2] == ("a/1.png/cat-1/mine/intra-object/01",) * 2
    files = {f"frames/{name}.png" for line in lines for name in line.frames}
    assert set(files_in(out)) == files | {"sequences.jsonl", "orders.json"}
    last = Image.open(out / "frames" / f"{lines[0].frames[-1]}.png")
    assert np.array_equal(np.asarray(last), scenes.photograph(0)[12:54, 15:64])
    kept = json.loads((out / "orders.json").read_text())
    assert kept["orders"] == {"mine": order}
    assert kept["parts"][COW] == ["head", "horn"]


def test_a_stopped_run_goes_on_to_the_same_folder(folder, sequences_of, monkeypatch):
    schemes = ("--part-scheme", "random", "--content-scheme", "low", "--include-empty")
    sequences_of(*schemes)
    whole = files_in(folder / "out")
    (folder / "out").rename(folder / "whole")
    left, write = [5], sequences.write_png

    def full(path, frame):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, frame)

    monkeypatch.setattr(sequences, "write_png", full)
    status, error = sequences_of(*schemes)
    monkeypatch.setattr(sequences, "write_png", write)

    assert status == 1
    assert error["error"].startswith("the disk is full; ")
    assert "run the same again" in error["cure"]
    half = files_in(folder / "out")
    assert len(half) == 6
    assert half.items() <= whole.items()
    assert "sequences.jsonl" not in half
    # As a run leaves it that was killed in the middle of a file.
    (folder / "out/frames/b.png").mkdir(parents=True, exist_ok=True)
    (folder / "out/frames/b.png/.01.png.x.part").write_bytes(b"half")

    status, result = sequences_of(*schemes)

    assert (status, result["written"]) == (0, result["frames"] - 5)
    assert files_in(folder / "out") == whole
    assert sequences_of(*schemes)[1]["written"] == 0


def test_lines_alone_need_no_photographs_and_frames_may_follow(folder, sequences_of):
    status, result = sequences_of("--lines-only", images=False)

    assert (status, result["frames"], result["written"]) == (0, 48, 0)
    assert set(files_in(folder / "out")) == {"sequences.jsonl", "orders.json"}
    assert sequences_of()[1]["written"] == 48


def test_frames_need_photographs(folder, sequences_of):
    status, error = sequences_of(images=False)

    assert (status, error["error"]) == (1, "the photographs are missing")
    assert error["cure"].endswith("--images DIR")
    assert not (folder / "out").exists()


def test_a_folder_of_other_frames_is_left_alone(folder, sequences_of):
    sequences_of("--content-scheme", "intra-object")
    before = files_in(folder / "out")

    status, error = sequences_of("--content-scheme", "intra-object", "--seed", 4)

    assert status == 1
    assert "another release, or shown in another way" in error["error"]
    assert files_in(folder / "out") == before


def test_a_photograph_that_does_not_fit_is_named_and_nothing_is_half_written(folder, sequences_of):
    (folder / "images/b.png").write_bytes(scenes.png(scenes.photograph(1, 40, 30)))

    status, error = sequences_of("--content-scheme", "intra-object")

    assert (status, error["file"]) == (1, "b.png")
    assert error["error"] == "the photograph has 40 × 30 pixels, the release says 90 × 64"
    assert not (folder / "out/sequences.jsonl").exists()
    assert not list((folder / "out").rglob("*.part"))


def mat(path: Path, cells: list[np.ndarray]) -> Path:
    """pascalFix.mat with rows (row, column, person) from 1."""
    with h5py.File(path, "w") as file:
        cell = file.create_dataset("fixCell", (1, len(cells)), h5py.ref_dtype)
        for number, rows in enumerate(cells):
            file[f"fixations {number}"] = rows.T.astype(float)
            cell[0, number] = file[f"fixations {number}"].ref
    return path


def test_orders_follow_where_people_look(folder, sequences_of):
    # Rows and columns from 1: two on the head, one on the torso, of one person.
    looks = np.array([[20, 26, 1], [24, 30, 1], [31, 54, 1]])
    fixations = mat(folder / "fix.mat", [looks, looks])
    image_list = folder / "images.txt"
    image_list.write_text("\nb.png\n")

    status, result = sequences_of(
        "--fixations", fixations, "--fixation-images", image_list, "--lines-only"
    )

    kept = json.loads((folder / "out/orders.json").read_text())
    assert (status, result["sequences"]) == (0, 3 * 5 * 4)
    assert list(kept["orders"]) == ["E_U", "E_US", "E_A", "E_AS", "random"]
    assert kept["orders"]["E_U"][CAT] == ["head", "torso", "leg", "tail"]
    assert kept["shares"]["E_U"][CAT]["head"] == pytest.approx(2 / 3)
    assert kept["settings"]["fixations"]["images"] == 1


def test_options_that_do_not_go_together_are_wrong_usage(folder, shell):
    where = ("sequences", folder / "release", "--out", folder / "out")
    for options, error in (
        (("--part-scheme", "E_U"), "give --fixations"),
        (("--part-scheme", "mine"), "give --orders FILE"),
        (("--drop-first",), "goes with --fixations"),
    ):
        status, _, err = shell(*where, *options)

        assert status == 2
        assert error in err


def test_a_campaign_brings_its_own_photographs(alice, bob, dataset, tmp_path, shell):
    release = cats.release(alice, bob, dataset)

    status, out, err = shell("sequences", "cats", "--out", tmp_path / "out", "--json")

    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["objects"], result["left_out"]) == (3, 0)
    assert (
        result["written"]
        == result["frames"]
        == len(list((tmp_path / "out").rglob("*.png/*/*/*/*")))
    )
    kept = json.loads((tmp_path / "out/orders.json").read_text())
    assert kept["settings"]["release"]["sha256"] == release.sha256


def test_a_table_names_what_was_left_out(folder, shell):
    status, out, _ = shell("sequences", folder / "release", "--out", folder / "out", "--lines-only")

    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["left", "out", "1"] in rows
    assert ["left", "out", "first", "b.png/cow-1"] in rows


def test_a_release_without_drawn_parts_is_refused(tmp_path, shell):
    objects = {"b.png": [scenes.cow("b.png", parts=())]}
    scenes.release(tmp_path / "release", objects)

    status, _, err = shell(
        "sequences", tmp_path / "release", "--out", tmp_path / "out", "--lines-only"
    )

    assert status == 1
    assert "no object of the release has a drawn part; let people draw some" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../outside.png", "/etc/hostname", "a/../../outside.png"])
def test_an_image_name_that_climbs_out_of_the_folder_is_refused(folder, name):
    (folder / "outside.png").write_bytes(b"not yours")

    with pytest.raises(BadInput, match="leads out of the folder of photographs"):
        release_options.images_in(folder / "images")(name)
