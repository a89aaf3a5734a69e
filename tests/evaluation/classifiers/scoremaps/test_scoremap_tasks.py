"""`scoremaps` in tasks: the folder of one run, each task made once."""

from pathlib import Path

import pytest

from evaluation.classifiers import opening, task_networks
from evaluation.classifiers.scoremaps import stretch_tasks
from tests.evaluation.classifiers.scoremaps import detectors
from tests.evaluation.commands import files_in, made_in, refused, result_of, run
from tests.evaluation.engines import toys

NETWORK = "tests.evaluation.classifiers.scoremaps.detectors:Colours"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Six images, of which a task takes two batches of two."""
    monkeypatch.setattr(stretch_tasks, "MAX_TASK_MAPS", 5)
    monkeypatch.setattr("evaluation.engines.local.run", toys.run_one_here)
    return detectors.world(tmp_path)


def options(folder: Path, *more: object, method: str = "cam") -> tuple[object, ...]:
    return (
        *("scoremaps", "--method", method, "--metadata", folder / "metadata", "--model", NETWORK),
        *("--classes", folder / "classes.txt", "--images", folder / "images"),
        *("--batch", 2, "--device", "cpu", *more),
    )


@pytest.mark.parametrize("method", ["cam", "vanilla-smoothgrad"])
@pytest.mark.ci
def test_tasks_make_the_folder_of_one_run_and_are_made_once(folder, method):
    samples = ("--samples", 2) if method != "cam" else ()
    work, places = folder / "work", [(folder / f"maps{n}", folder / f"{n}.csv") for n in range(3)]
    commands_to_run = [
        options(folder, *samples, "--out", out, "--predictions", classes_file, method=method)
        for out, classes_file in places
    ]
    plain = result_of(*commands_to_run[0])

    tasks = result_of(*commands_to_run[1], "--on", "local:2", "--work", work)
    once = made_in(work)
    again = result_of(*commands_to_run[2], "--work", work)

    first, second, third = (files_in(out) | {"named": csv.read_bytes()} for out, csv in places)
    assert first == second == third
    assert plain | {"out": ""} == tasks | {"out": ""} == again | {"out": ""}
    assert len(once) == 2
    assert made_in(work) == once


def test_shares_of_an_array_are_joined_without_another_task(folder):
    work = folder / "work"
    shares = [
        result_of(*options(folder), "--shard", f"{index}/2", "--work", work) for index in (0, 1)
    ]
    once = made_in(work)

    result_of(*options(folder), "--work", work, "--out", folder / "tasks")
    result_of(*options(folder), "--out", folder / "plain")

    assert [share["tasks"] for share in shares] == [1, 1]
    assert made_in(work) == once
    assert files_in(folder / "tasks") == files_in(folder / "plain")


def test_maps_that_are_there_need_no_task(folder):
    out = folder / "maps"
    result_of(*options(folder), "--out", out)
    before = files_in(out)
    lost = min(out.rglob("*.npy"))
    lost.unlink()

    result = result_of(*options(folder), "--out", out, "--work", folder / "work")

    assert (result["made"], result["resumed"]) == (1, 5)
    assert files_in(out) == before
    assert len(made_in(folder / "work")) == 1


def test_a_process_opens_its_network_once(folder, monkeypatch):
    task_networks._opened.cache_clear()
    opened, load = [], opening.load

    def counted(spec, *arguments, **keywords):
        opened.append(spec)
        return load(spec, *arguments, **keywords)

    monkeypatch.setattr(opening, "load", counted)
    result_of(*options(folder), "--work", folder / "work", "--out", folder / "maps")

    # By the command, and for its two tasks.
    assert opened == [NETWORK, NETWORK]


def test_what_does_not_suit_a_method_is_said_as_in_one_run(folder):
    blind = NETWORK.replace("Colours", "Tokens")
    arguments = tuple(blind if argument == NETWORK else argument for argument in options(folder))

    alone = refused(*arguments, "--out", folder / "plain")
    error = refused(*arguments, "--on", "local:1", "--out", folder / "maps")

    assert error == alone


@pytest.mark.parametrize(
    ("more", "status", "sentence"),
    [
        (("--work", "w"), 2, "--work does not go with center-gaussian"),
        (("--device", "gpu"), 1, "the device gpu is not usable"),
    ],
)
def test_a_center_gaussian_takes_no_engine_and_no_unknown_device(folder, more, status, sentence):
    metadata = ("--metadata", folder / "metadata", "--out", folder / "maps")

    code, out, err = run("scoremaps", "--method", "center-gaussian", *metadata, *more)

    assert (code, out) == (status, "")
    assert sentence in err
