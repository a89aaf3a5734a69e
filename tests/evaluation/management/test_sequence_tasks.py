"""`sequences` and `classify` in tasks: the files of one run, each task made once."""

from pathlib import Path

import pytest

from evaluation.classifiers import frame_tasks
from evaluation.sequences import release_tasks
from tests.evaluation.cds import scenes
from tests.evaluation.classifiers import networks
from tests.evaluation.commands import files_in, made_in, refused, result_of, run

SHOWN = ("--content-scheme", "intra-object", "--content-scheme", "low")

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """release/ and images/ of four objects on two photographs, a network and its classes."""
    monkeypatch.setattr(release_tasks, "MAX_TASK_FRAMES", 5)
    monkeypatch.setattr(frame_tasks, "FRAMES", 7)
    scenes.cats_and_cow(tmp_path)
    networks.with_classes(tmp_path)
    return tmp_path


def sequences(folder: Path, *more: object) -> tuple[object, ...]:
    return ("sequences", folder / "release", "--images", folder / "images", *SHOWN, *more)


def classify(folder: Path, *more: object, frames: bool = False) -> tuple[object, ...]:
    release = (folder / "release", "--images", folder / "images", *SHOWN)
    network = ("--model", folder / "colours.pt", "--classes", folder / "wnids.txt", "--size", 8)
    source = ("--frames", folder / "frames") if frames else release
    return ("classify", *source, *network, "--batch", 3, "--device", "cpu", *more)


@pytest.mark.ci
def test_tasks_render_the_frames_of_one_run_and_are_made_once(folder):
    work, outs = folder / "work", [folder / f"out{n}" for n in range(4)]
    plain = result_of(*sequences(folder), "--out", outs[0])

    tasks = result_of(*sequences(folder), "--out", outs[1], "--on", "local:2", "--work", work)
    once = made_in(work)
    result_of(*sequences(folder), "--out", outs[2], "--work", work)
    shares = [
        result_of(*sequences(folder), "--shard", f"{index}/2", "--work", folder / "shares")
        for index in (0, 1)
    ]

    assert files_in(outs[0]) == files_in(outs[1]) == files_in(outs[2])
    assert tasks == plain | {"out": str(outs[1])}
    assert (len(once), made_in(work)) == (2, once)
    assert [share["tasks"] for share in shares] == [1, 1]
    assert made_in(folder / "shares").keys() == once.keys()


@pytest.mark.parametrize("frames", [False, True])
def test_tasks_classify_as_one_run_does_and_are_made_once(folder, frames):
    if frames:
        result_of(*sequences(folder), "--out", folder / "frames")
    work, outs = folder / "work", [folder / f"{n}.csv" for n in range(3)]
    plain = result_of(*classify(folder, frames=frames), "--out", outs[0])
    tasks = classify(folder, "--work", work, frames=frames)

    shares = [result_of(*tasks, "--shard", f"{index}/2") for index in (0, 1)]
    once = made_in(work)
    joined = result_of(*tasks, "--out", outs[1])
    # As other processes give it, or this one.
    engine = "local:1" if frames else "local:2"
    result_of(*classify(folder, frames=frames), "--out", outs[2], "--on", engine)

    assert outs[0].read_bytes() == outs[1].read_bytes() == outs[2].read_bytes()
    assert joined == plain | {"out": str(outs[1])}
    assert made_in(work) == once
    assert sum(share["tasks"] for share in shares) == len(once) == -(-plain["frames"] // 6)


def test_a_photograph_that_is_not_there_is_named(folder):
    (folder / "images" / "b.png").unlink()

    error = refused(*sequences(folder), "--work", folder / "work", "--out", folder / "out")

    assert (error["file"], error["error"]) == ("b.png", "the photograph is missing")
    assert not (folder / "out" / "sequences.jsonl").exists()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("sequences", "release", "--lines-only", "--work", "w"), "--lines-only renders nothing"),
        (("sequences", "release"), "give --out; only --shard I/N with --work needs none"),
        (("classify", "--model", "m", "--classes", "c"), "give --out; only --shard"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, monkeypatch, command, sentence):
    monkeypatch.chdir(folder)
    images = ("--images", "images") if command[0] == "sequences" else ()

    status, out, err = run(*command, *images)

    assert (status, out) == (2, "")
    assert sentence in err
