"""`score wsol` in tasks: the same result as without, each task made once."""

import json

import numpy as np
import pytest

from evaluation.scoring.wsol import stretch_tasks
from tests.evaluation.commands import made_in, refused, result_of, run
from tests.evaluation.wsol_folders import Folder

WSOL = ("score", "wsol")


@pytest.fixture(params=["boxes", "masks"])
def folder(request, tmp_path, monkeypatch) -> Folder:
    """Three images, of which a task takes two."""
    monkeypatch.setattr(stretch_tasks, "IMAGES", 2)
    made = Folder(tmp_path)
    return made.mask() if request.param == "masks" else made


@pytest.mark.ci
def test_tasks_give_the_result_of_one_run_and_are_made_once(folder):
    plain, work = result_of(*WSOL, *folder.named, "--curves"), folder.root / "work"

    tasks = result_of(*WSOL, *folder.named, "--curves", "--on", "local:2", "--work", work)
    once = made_in(work)
    again = result_of(*WSOL, *folder.named, "--curves", "--work", work)

    assert json.dumps(tasks) == json.dumps(again) == json.dumps(plain)
    assert len(once) == 2
    assert made_in(work) == once


def test_shares_of_an_array_are_joined_without_another_task(folder):
    work = folder.root / "work"
    shares = [
        result_of(*WSOL, *folder.named, "--shard", f"{index}/2", "--work", work) for index in (0, 1)
    ]
    once = made_in(work)

    joined = result_of(*WSOL, *folder.named, "--work", work)

    assert [share["tasks"] for share in shares] == [1, 1]
    assert shares[0]["shard"] == [0, 2]
    assert made_in(work) == once
    assert joined == result_of(*WSOL, *folder.named)


def test_another_score_map_is_another_task(folder):
    work = folder.root / "work"
    result_of(*WSOL, *folder.named, "--work", work)
    folder.save("d.jpeg", np.eye(16, dtype=np.float32))

    changed = result_of(*WSOL, *folder.named, "--work", work)

    assert changed == result_of(*WSOL, *folder.named)
    assert len(made_in(work)) == 3


def test_what_is_wrong_with_a_map_is_said_by_its_task(folder):
    (folder.maps / "d.jpeg.npy").write_bytes(b"no map")

    error = refused(*WSOL, *folder.named, "--on", "local:1")

    assert error["file"] == str(folder.maps / "d.jpeg.npy")
    assert error["error"] == "is not a NumPy array"


def test_a_share_without_a_place_for_it_is_refused(folder):
    code, _, err = run(*WSOL, *folder.named, "--shard", "0/2")

    assert code == 2
    assert "--shard I/N of tasks needs --work" in err
