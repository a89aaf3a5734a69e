"""Registered models whose predictions become submissions, by a job."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from evaluation.benchmarks.kinds.cds import benchmarks as cds_benchmarks
from evaluation.benchmarks.kinds.labeled import paths
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import KINDS
from evaluation.models import Benchmark, ModelRun, Run, Submission
from evaluation.pools import making, model_runs, registering, uploading
from labeling.errors import Refusal
from labeling.jobs import child, queue
from labeling.jobs.child import ChildFailed
from labeling.models import Campaign, Dataset, Job, User
from tests.clients import upload
from tests.evaluation.benchmarks.kinds.labeled import world as labeled_world
from tests.evaluation.cds import world as cds_world
from tests.evaluation.classifiers import networks
from tests.evaluation.pools.pool_rows import zipped
from tests.labeling.parted import CAT, COW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]


@pytest.fixture
def cats(alice: User, bob: User, dataset: Dataset) -> Campaign:
    alice.is_researcher = alice.is_staff = True
    alice.save()
    return cds_world.campaign_of(alice, bob, dataset)


def register(folder: Path, *classes: str) -> None:
    """The toy network as `colours`, in a TorchScript file."""
    registering.register(
        "colours",
        str(networks.scripted(folder / "colours.pt")),
        classes=classes or networks.CLASSES,
        options=["--fit=crop", "--size=8x8"],
        source={"model": "colours.pt"},
    )


def submitted(benchmark: Benchmark, method: str = "", pool: int | None = None) -> ModelRun:
    """A run of `colours`, once its job has run."""
    run = model_runs.request(benchmark, benchmark.created_by, "colours", pool=pool, method=method)
    queue.run(run.job_id)
    return ModelRun.objects.select_related("job").get(pk=run.pk)


def test_the_frames_of_a_benchmark_become_the_submission_that_classify_makes(
    cats, alice, tmp_path, shell, monkeypatch
):
    register(tmp_path)
    reveal = cds_world.make(alice, cats)
    printed: list[str] = []
    renew = queue.renew_child

    def renewed(job: Job, last_line: str, exit_code: int | None = None) -> None:
        printed.append(last_line)
        renew(job, last_line, exit_code)

    monkeypatch.setattr(queue, "renew_child", renewed)
    run = submitted(reveal)

    assert (run.job.state, run.job.error) == (Job.State.DONE, "")
    row = reveal.submissions.get()
    assert (row.name, run.result["classifier"]) == ("colours", "colours")
    # Frames are never cropped.
    assert run.result["preparation"]["fit"] == "squash"
    count = len({frame for line in cds_benchmarks.lines_of(reveal) for frame in line.frames})
    assert any(re.fullmatch(rf"colours \d+ of {count}", line) for line in printed), printed
    schemes = [f"--content-scheme={name}" for name in cds_world.SCHEMES]
    (tmp_path / "wnids.txt").write_text("\n".join(networks.CLASSES))
    shell.result(
        *("classify", "cats", "--model", tmp_path / "colours.pt", "--size", "8", *schemes),
        *("--classes", tmp_path / "wnids.txt", "--out", tmp_path / "direct.csv"),
    )
    direct = sorted((tmp_path / "direct.csv").read_text().splitlines())
    kept = cds_benchmarks.predictions_path(row).read_text().splitlines()
    assert sorted(kept) == direct
    assert Run.objects.get().benchmark == reveal
    assert not list((tmp_path / "model_runs").iterdir())


@pytest.mark.usefixtures("commands_here")
def test_a_stopped_job_goes_on_and_makes_one_submission(cats, alice, tmp_path, monkeypatch):
    register(tmp_path)
    reveal = cds_world.make(alice, cats)
    manage = child.manage

    def dies(*arguments: object, **how: object) -> str:
        manage(*arguments, **how)  # type: ignore[arg-type]
        raise ChildFailed("killed")

    monkeypatch.setattr(child, "manage", dies)
    run = submitted(reveal)
    assert run.job.state == Job.State.QUEUED
    [folder] = (tmp_path / "model_runs").iterdir()
    photographs = {
        path: path.stat().st_mtime_ns for path in (folder / "photographs").rglob("*.png")
    }
    monkeypatch.setattr(child, "manage", manage)
    # As a later sweep of nobody else's work leaves it.
    model_runs.sweep()
    assert {path: path.stat().st_mtime_ns for path in photographs} == photographs
    queue.run(run.job_id)
    Job.objects.filter(pk=run.job_id).update(state=Job.State.QUEUED)
    queue.run(run.job_id)

    run.refresh_from_db()
    assert run.result["classifier"] == "colours"
    assert Submission.objects.count() == Run.objects.count() == 1
    assert not folder.exists()


@pytest.mark.usefixtures("commands_here")
def test_a_score_is_requested_though_an_earlier_attempt_submitted(
    cats, alice, tmp_path, monkeypatch
):
    register(tmp_path)
    reveal = cds_world.make(alice, cats)

    def dies(*_: object, **__: object) -> None:
        raise ChildFailed("the worker dies")

    with monkeypatch.context() as patched:
        patched.setattr("evaluation.benchmarks.runs.request", dies)
        run = submitted(reveal)
    assert Submission.objects.exists()
    assert not Run.objects.exists()
    queue.run(run.job_id)

    assert Run.objects.filter(benchmark=reveal).count() == 1


@pytest.mark.usefixtures("commands_here")
def test_predictions_of_a_pool_become_a_submission(cats, alice, tmp_path):
    register(tmp_path)
    species = labeled_world.make(alice, cats, "classification")
    pool = making.request(cats.dataset, alice, ["colours"])
    queue.run(pool.job_id)

    ran = submitted(species)
    by_run = species.submissions.get().sha256
    taken = submitted(species, pool=pool.pk)

    assert (ran.job.error, taken.job.error) == ("", "")
    assert species.submissions.get().sha256 == by_run
    assert taken.result == {"classifier": "colours"}
    # The dataset has images that are not in the truth.
    assert cats.dataset.images.count() > species.settings["truth"]["images"]


@pytest.mark.usefixtures("commands_here")
def test_uploaded_predictions_become_a_submission_of_one_class_per_image(
    cats, alice, as_alice: Client, tmp_path
):
    register(tmp_path)
    species = labeled_world.make(alice, cats, "classification")
    pool = making.request(cats.dataset, alice, ["colours"])
    queue.run(pool.job_id)
    pool.refresh_from_db()
    with making.unpack_pool(pool) as folder:
        for end in uploading.ARRAY_SUFFIXES:
            shutil.copy(folder / f"colours{end}", folder / f"second{end}")
        sent = uploading.from_zip(cats.dataset, alice, upload("pool.zip", zipped(folder)))

    def scored(number: int) -> dict[str, Any]:
        assert submitted(species, pool=number).job.error == ""
        queue.run_all()
        return species.runs.latest("pk").result["submissions"][0]["result"]

    whole, top = scored(pool.pk), scored(sent.pk)

    assert top["top1_error"]["value"] == whole["top1_error"]["value"]
    assert any("predictions go to rank 1" in note for note in top["notes"])
    page = as_alice.get(f"/benchmarks/{species.name}/models/").content.decode()
    assert f"from pool {sent.pk} of {sent.created_at:%Y-%m-%d}, top 1 only" in page


@pytest.mark.usefixtures("commands_here")
def test_a_run_whose_pool_was_removed_does_not_run_the_model(cats, alice, tmp_path):
    register(tmp_path)
    species = labeled_world.make(alice, cats, "classification")
    pool = making.request(cats.dataset, alice, ["colours"])
    queue.run(pool.job_id)
    run = model_runs.request(species, alice, "colours", pool=pool.pk)
    number = pool.pk
    pool.delete()

    queue.run(run.job_id)

    run.job.refresh_from_db()
    assert run.job.state == Job.State.FAILED
    assert run.job.error == f"Pool {number} was removed. Choose another one."
    assert not species.submissions.exists()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("classes", "target"),
    [((CAT, COW, networks.DOG), "true"), ((networks.DOG, COW, networks.COOT), "predicted")],
)
def test_score_maps_become_a_submission(cats, alice, tmp_path, classes, target):
    register(tmp_path, *classes)
    maps = labeled_world.make(alice, cats, thresholds=10)

    run = submitted(maps, "vanilla")

    assert (run.job.state, run.job.error) == (Job.State.DONE, "")
    assert maps.submissions.get().name == "colours vanilla"
    assert run.result["recipe"]["target"] == target
    truth = (paths.truth_folder(maps) / "image_ids.txt").read_text().split()
    assert run.result["images"] == len(truth)


@pytest.mark.ci
def test_a_method_that_the_network_does_not_have_fails_with_the_reason(cats, alice, tmp_path):
    register(tmp_path, CAT, COW, networks.DOG)

    run = submitted(labeled_world.make(alice, cats, thresholds=10), "cam")

    assert run.job.state == Job.State.FAILED
    assert "does not suit cam" in run.job.error


def test_an_onnx_file_makes_no_score_maps_and_the_page_says_why(
    cats, alice, as_alice: Client, tmp_path
):
    registering.register("net", "x.onnx", classes=networks.CLASSES, options=[], source={})
    maps = labeled_world.make(alice, cats, thresholds=10)

    with pytest.raises(Refusal, match=r"net cannot be run here\. An ONNX file gives no gradients"):
        model_runs.request(maps, alice, "net", method="cam")
    page = as_alice.get("/benchmarks/wsol/models/").content.decode()
    assert "An ONNX file gives no gradients" in page
    assert "net: run it now" not in page


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"classification", "wsol"}))
def test_other_kinds_take_files_alone(cats, alice, as_alice: Client, tmp_path, kind):
    register(tmp_path)
    benchmark = labeled_world.make(alice, cats, kind)

    with pytest.raises(Refusal, match="take only files"):
        model_runs.request(benchmark, alice, "colours")
    assert "Score a registered model" not in as_alice.get(f"/benchmarks/{kind}/").content.decode()


@pytest.mark.parametrize(
    ("asks", "field"),
    [
        ({"name": "nothing"}, "model"),
        ({"name": "colours", "pool": 1}, "pool"),
        ({"name": "colours", "method": "cam"}, "method"),
    ],
)
def test_wrong_requests_name_their_field(cats, alice, tmp_path, asks, field):
    register(tmp_path)

    with pytest.raises(Refusal) as refused:
        model_runs.request(cds_world.make(alice, cats), alice, **asks)

    assert refused.value.field == field
    assert not Job.objects.filter(kind=model_runs.KIND).exists()


def test_page_and_api_ask_for_the_same_run(cats, alice, as_alice: Client, tmp_path):
    register(tmp_path)
    reveal = cds_world.make(alice, cats)

    page = as_alice.post("/benchmarks/reveal/models/", {"source": ":colours"})
    api = as_alice.post(
        "/api/v1/benchmarks/reveal/model-runs/",
        json.dumps({"model": "colours"}),
        "application/json",
    )

    assert (page.status_code, api.status_code) == (302, 202)
    assert [run.pk for run in reveal.model_runs.all()] == [api.json()["id"]]
    address = f"/api/v1/benchmarks/reveal/model-runs/{api.json()['id']}/"
    assert as_alice.get(address).json()["state"] == "queued"
    assert (
        "Waiting for a worker"
        in as_alice.get("/benchmarks/reveal/models/?fragment=1").content.decode()
    )
