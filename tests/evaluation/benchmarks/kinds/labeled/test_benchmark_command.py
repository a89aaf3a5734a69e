"""`manage.py benchmark`: from a campaign to a score in the shell."""

import json

import numpy as np
import pytest

from evaluation.benchmarks import runs
from evaluation.management.commands import benchmark
from evaluation.models import Benchmark
from labeling.jobs import queue
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG

OPEN = ("benchmark", "open", "wsol", "--campaign", "cats", "--name", "wsol")


@pytest.fixture
def maps(cats, tmp_path):
    (tmp_path / "maps" / "cats").mkdir(parents=True)
    np.save(tmp_path / "maps" / "cats" / "1.png.npy", world.ramp())
    return tmp_path / "maps"


def test_a_benchmark_is_opened_submitted_to_and_scored(shell, cats, maps):
    opened = shell(*OPEN, "--thresholds", 20, "--split", "test", "--json")
    first = shell("benchmark", "submit", "wsol", "alpha", maps, "--json")
    again = shell("benchmark", "submit", "wsol", "alpha", maps, "--json")
    scored = shell("benchmark", "score", "wsol", "--json")

    assert [status for status, *_ in (opened, first, again, scored)] == [0] * 4
    made = json.loads(opened[1])
    assert (made["kind"], made["release"], made["settings"]["split"]) == ("wsol", 1, "test")
    assert json.loads(first[1])["changed"] is True
    assert json.loads(again[1])["changed"] is False
    result = json.loads(scored[1])
    assert result["submissions"][0]["name"] == "alpha"
    assert result == json.loads(json.dumps(Benchmark.objects.get().runs.get().result)) | {
        "benchmark": "wsol",
        "run": result["run"],
    }


def test_tables_tell_what_a_person_must_know(wordnet, shell, cats, tmp_path):
    path = world.predictions(tmp_path / "p.csv", "classification", ("cats/1.png", 1, DOG))
    arguments = ("--campaign", "cats", "--name", "names", "--split", "test")

    _, opened, _ = shell("benchmark", "open", "classification", *arguments)
    shell("benchmark", "submit", "names", "alpha", path)
    rows = world.predictions(tmp_path / "q.csv", "classification", ("cats/1.png", 1, CAT))
    shell("benchmark", "submit", "names", "alpha", rows)
    _, scored, _ = shell("benchmark", "score", "names")

    assert "several classes are in it" in opened
    assert "top5 error" in scored
    assert "alpha was scored on it 2 times" in scored


def test_the_refusal_of_a_competition_names_the_command_that_ranks(shell, birds):
    status, _, err = shell("benchmark", "score", birds.name)

    assert (status, "use mad rank or score cds" in err) == (1, True)


def test_faults_are_one_line(shell, cats):
    for command, status, message in [
        (("benchmark", "score", "nothing"), 1, "no benchmark on released labels 'nothing'"),
        (("benchmark", "submit", "nothing", "a", "b"), 1, "no benchmark on released labels"),
        ((*OPEN[:4], "nowhere", *OPEN[5:]), 1, "there is no campaign"),
        ((*OPEN, "--seed", 3), 2, "--seed is not for wsol"),
        ((*OPEN, "--release", 9), 1, "cats has no release 9"),
    ]:
        exit_status, out, err = shell(*command)

        assert (exit_status, out) == (status, ""), command
        assert message in err, command
        assert len(err.strip().splitlines()) == 1, command
        assert not Benchmark.objects.exists(), command


def test_a_run_that_another_worker_has_begun_is_waited_for(shell, cats, maps, monkeypatch):
    shell(*OPEN)
    shell("benchmark", "submit", "wsol", "alpha", maps)
    theirs = []

    def quicker(job_id):
        theirs.append(queue.claim(job_id))

    def until_they_end(seconds):
        runs.execute(theirs[0])
        queue.finish(theirs[0])

    monkeypatch.setattr(benchmark.queue, "run", quicker)
    monkeypatch.setattr(benchmark.time, "sleep", until_they_end)
    status, out, err = shell("benchmark", "score", "wsol", "--json")

    assert (status, err) == (0, "")
    assert json.loads(out)["submissions"][0]["name"] == "alpha"


def test_a_benchmark_without_classifiers_is_not_scored(shell, cats, tmp_path):
    shell(*OPEN)

    status, _, err = shell("benchmark", "score", "wsol")
    absent = shell("benchmark", "submit", "wsol", "alpha", tmp_path / "nothing.zip")
    wrong = tmp_path / "wrong.zip"
    wrong.write_bytes(b"no zip")
    bad = shell("benchmark", "submit", "wsol", "alpha", wrong)

    assert (status, err.startswith("wsol: There are no submissions yet.")) == (1, True)
    assert (absent[0], "nothing.zip: does not exist" in absent[2]) == (1, True)
    assert (bad[0], "wrong.zip: It is not a zip" in bad[2]) == (1, True)
