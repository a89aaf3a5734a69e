"""`predict` in tasks: the pool of one run, each task made once, wherever a process died."""

import json
from pathlib import Path

import pytest

from evaluation.classifiers.predicting import stretch_tasks
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.networks import CLASSES
from tests.evaluation.classifiers.predicting import pictures
from tests.evaluation.commands import files_in, made_in, refused, result_of, run

COUNT = 12

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """images/ of twelve photographs and two files that are none; a task takes two batches of 2."""
    monkeypatch.setattr(stretch_tasks, "PHOTOGRAPHS", 5)
    pictures.folder(tmp_path / "images", COUNT)
    pictures.write(tmp_path / "images", {"0/cut.jpg": pictures.of(0)[:300], "z.txt": b"hello"})
    networks.with_classes(tmp_path)
    return tmp_path


def options(folder: Path, *more: object, images: str = "images") -> tuple[object, ...]:
    network = ("--model", folder / "colours.pt", "--classes", folder / "wnids.txt", "--size", 8)
    return ("predict", folder / images, *network, "--device", "cpu", "--batch", 2, *more)


def predicted(folder: Path, *more: object) -> dict[str, bytes]:
    """What predict writes, which has skipped two files."""
    out = folder / f"pool{len(list(folder.glob('pool*')))}"
    status, printed, err = run(*options(folder, "--top", 2, *more, "--out", out), "--json")
    assert (status, err) == (0, "2 files skipped: see skipped.csv for the reasons\n")
    assert json.loads(printed)["images"] == COUNT
    return files_in(out)


def test_tasks_make_the_pool_of_one_run_and_are_made_once(folder):
    plain, work = predicted(folder), folder / "work"

    tasks = predicted(folder, "--on", "local:2", "--work", work)
    once = made_in(work)
    again = predicted(folder, "--work", work)

    assert tasks == again == plain
    assert len(once) == 4
    assert made_in(work) == once


def test_shares_of_an_array_are_joined_without_another_task(folder):
    work = folder / "work"
    shares = [
        result_of(*options(folder, "--top", 2), "--shard", f"{index}/2", "--work", work)
        for index in (0, 1)
    ]
    once = made_in(work)

    joined = predicted(folder, "--work", work)

    assert [share["tasks"] for share in shares] == [2, 2]
    assert joined == predicted(folder)
    assert made_in(work) == once


def test_a_photograph_that_changed_is_predicted_again(folder):
    work = folder / "work"
    predicted(folder, "--work", work)
    # As long as before, so that no list of sizes tells the two apart.
    file = folder / "images" / "0" / "003.jpg"
    replacement = pictures.of(4)
    file.write_bytes(file.read_bytes() + b"\0" * 2000)
    predicted(folder, "--work", work)
    file.write_bytes(replacement.ljust(file.stat().st_size, b"\0"))

    assert predicted(folder, "--work", work) == predicted(folder)
    assert len(made_in(work)) == 6


def test_a_stopped_run_goes_on_with_tasks(folder, monkeypatch):
    plain, out = predicted(folder), folder / "pool1"
    add, added = stretch_tasks.add, []

    def killed(*arguments):
        if added:
            raise KeyboardInterrupt
        added.append(1)
        add(*arguments)

    monkeypatch.setattr(stretch_tasks, "add", killed)
    status, _, _ = run(*options(folder, "--top", 2, "--on", "local:1", "--out", out))
    assert status == 130
    assert not (out / "images.txt").exists()
    monkeypatch.setattr(stretch_tasks, "add", add)

    run(*options(folder, "--top", 2, "--on", "local:1", "--out", out))

    assert files_in(out) == plain


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "give --out; only --shard I/N with --work needs none"),
        (["--shard", "3/2", "--work", "w"], "shares count from 0 or 1 to 2"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, more, sentence):
    status, out, err = run(*options(folder, *more))

    assert (status, out) == (2, "")
    assert sentence in err


def test_another_number_of_classes_is_refused_before_any_task(folder):
    (folder / "wnids.txt").write_text(f"{CLASSES[0]}\n")

    error = refused(*options(folder, "--work", folder / "work", "--out", folder / "pool"))

    assert "gives 2 × 3 for two images, the classes are 1" in error["error"]
    assert not (folder / "pool").exists()
    assert not made_in(folder / "work")
