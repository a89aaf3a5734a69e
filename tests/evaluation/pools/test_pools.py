"""Pools that the site makes: names in, a job and a child process, a zip out."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evaluation import tasks
from evaluation.models import Pool, RegisteredModel
from evaluation.pools import making
from labeling.errors import Conflict, Refusal, StoreUnreachable
from labeling.jobs import queue
from labeling.jobs.child import ChildFailed
from labeling.models import Dataset, Job
from tests import factories
from tests.evaluation.classifiers import networks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]


@pytest.fixture
def dataset(alice) -> Dataset:
    alice.is_researcher = True
    alice.save()
    made = factories.make_dataset(alice, "lake")
    for name in ("coots/b.png", "coots/a.png", "drake.png"):
        factories.make_image(made, name)
    return made


@pytest.fixture
def model(tmp_path, shell) -> dict[str, Any]:
    """What the registration of the toy network printed."""
    networks.with_classes(tmp_path)
    return shell.result(
        *("models", "register", "colours", "--model", tmp_path / "colours.pt", "--size", "8"),
        *("--classes", tmp_path / "wnids.txt"),
    )


def make(dataset: Dataset, *names: str) -> Pool:
    pool = making.request(dataset, dataset.owner, names)
    queue.run(pool.job_id)
    pool.refresh_from_db()
    return pool


@pytest.mark.parametrize("engine", ["", "local:2"])
def test_a_registered_model_makes_the_pool_that_predict_makes(
    dataset, model, tmp_path, shell, settings, engine
):
    settings.ASSAY_ENGINE = engine
    pool = make(dataset, "colours")

    assert pool.job.state == Job.State.DONE, pool.job.error
    assert pool.job.exit_code == 0
    with making.open_file(pool) as file, zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "pool")
    assert (tmp_path / "pool" / "images.txt").read_text().split() == [
        "coots/a.png",
        "coots/b.png",
        "drake.png",
    ]
    photographs = tmp_path / "photographs"
    for image in dataset.images.all():
        (photographs / image.name).parent.mkdir(parents=True, exist_ok=True)
        with image.file.open("rb") as file:
            (photographs / image.name).write_bytes(file.read())
    shell.result(
        *("predict", photographs, "--model", f"colours={tmp_path / 'colours.pt'}", "--size", "8"),
        *("--classes", tmp_path / "wnids.txt", "--top", "5", "--out", tmp_path / "direct"),
    )
    for name in ("colours.labels.npy", "colours.confidences.npy", "colours.csv", "classes.txt"):
        content = (tmp_path / "pool" / name).read_bytes()
        assert content == (tmp_path / "direct" / name).read_bytes()
    assert pool.result["colours"]["images"] == 3
    assert pool.result["colours"]["sha256"] == model["sha256"]
    assert not list((Path(tmp_path) / "pools").glob("*.work"))


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (ChildFailed("killed"), [True, True, False]),
        (StoreUnreachable("The object store does not answer."), [True] * 4),
        (Refusal("no photograph"), [False]),
    ],
)
def test_what_was_made_is_kept_while_the_job_will_be_tried_again(
    dataset, model, tmp_path, monkeypatch, fault, kept
):
    def manage(*_: object, **__: object) -> str:
        raise fault

    monkeypatch.setattr("labeling.jobs.child.manage", manage)
    pool = making.request(dataset, dataset.owner, ["colours"])

    met = []
    for _ in kept:
        queue.run(pool.job_id)
        met.append((tmp_path / "pools" / f"{pool.pk}.work").is_dir())

    assert met == kept


@pytest.mark.usefixtures("commands_here")
@pytest.mark.parametrize("when", ["the next pool", "the night"])
def test_what_nobody_goes_on_with_is_swept(dataset, model, tmp_path, when):
    def left(state: str, **of_pool: Any) -> Path:
        job = Job.objects.create(kind="predict", key=f"{Job.objects.count()}", state=state)
        pool = Pool.objects.create(
            dataset=dataset, names=["x"], job=job, created_by=dataset.owner, **of_pool
        )
        folder = tmp_path / "pools" / f"{pool.pk}.work"
        folder.mkdir(parents=True)
        return folder

    waits, runs = left("queued"), left("running")
    # Done by another worker, given up since its workers died, and of a dataset that is gone.
    done, given_up, deleted = left("done", file="pools/1.zip"), left("failed"), left("queued")
    Pool.objects.filter(pk=int(deleted.stem)).delete()

    if when == "the night":
        tasks.nightly()
    else:
        make(dataset, "colours")

    assert [each.is_dir() for each in (waits, runs)] == [True, True]
    assert [each.exists() for each in (done, given_up, deleted)] == [False] * 3


def test_engine_and_store_come_from_settings_alone(dataset, model, settings, monkeypatch):
    seen: list[Any] = []

    def manage(job: Job, folder: Path, *arguments: str, environment: dict[str, str]) -> str:
        seen.append((arguments, environment))
        raise Refusal("enough")

    monkeypatch.setattr("labeling.jobs.child.manage", manage)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-store")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-the-cluster")
    make(dataset, "colours")
    settings.ASSAY_ENGINE, settings.ASSAY_WORK = "ray:auto", "s3://bucket/work"
    pool = make(dataset, "colours")

    (plain, without), (on_engine, with_secrets) = seen
    assert "--on" not in plain
    assert not without.keys() & {"AWS_SECRET_ACCESS_KEY", "RAY_AUTH_TOKEN"}
    line = " ".join(on_engine)
    assert "--on ray:auto --work s3://bucket/work" in line
    assert {"AWS_SECRET_ACCESS_KEY", "RAY_AUTH_TOKEN"} <= with_secrets.keys()
    assert (pool.job.state, pool.job.error) == (Job.State.FAILED, "enough")


def test_a_file_that_is_not_the_registered_one_is_not_run(dataset, model, tmp_path):
    with (tmp_path / "colours.pt").open("ab") as file:
        file.write(b" ")

    pool = make(dataset, "colours")

    assert pool.job.state == Job.State.FAILED
    assert "has changed since it was registered" in pool.job.error
    assert pool.job.exit_code is None


def test_the_same_models_wait_once(dataset, model):
    first = making.request(dataset, dataset.owner, ["colours"])

    assert making.request(dataset, dataset.owner, ["colours", "colours"]) == first


def test_models_of_other_classes_and_empty_datasets_are_refused(dataset, model, alice):
    RegisteredModel.objects.create(
        name="other", spec="x", classes=networks.CLASSES[:2], source={}, options=[]
    )

    with pytest.raises(Refusal, match=r"other has other classes than colours"):
        making.request(dataset, alice, ["colours", "other"])
    with pytest.raises(Conflict, match="empty has no images yet"):
        making.request(factories.make_dataset(alice, "empty"), alice, ["colours"])


def test_names_that_are_no_words_are_refused(shell, tmp_path):
    for name in ["../x", "a b", "", ".x", "x" * 101]:
        (tmp_path / "wnids.txt").write_text("n02084071\n")

        refused = shell.refusal(
            *("models", "register", name, "--model", "x.pt", "--classes", tmp_path / "wnids.txt")
        )

        assert refused["error"].startswith("the model's name is"), name


def test_a_removed_model_can_no_more_be_named(dataset, model, shell):
    assert shell.result("models", "list")["models"][0]["name"] == "colours"
    shell.result("models", "remove", "colours")

    with pytest.raises(Refusal, match="No model is registered as 'colours'"):
        making.request(dataset, dataset.owner, ["colours"])
    assert "no model is called" in shell.refusal("models", "remove", "colours")["error"]


@pytest.mark.usefixtures("commands_here")
def test_the_page_asks_for_a_pool_and_gives_its_zip(dataset, model, as_alice):
    page = as_alice.get("/datasets/lake/pools/")
    assert b"colours (3 classes)" in page.content

    sent = as_alice.post("/datasets/lake/pools/", {"models": ["colours"]})

    assert sent.status_code == 302
    pool = Pool.objects.get()
    address = f"/datasets/lake/pools/{pool.pk}/pool.zip"
    assert as_alice.get(address).status_code == 404
    queue.run(pool.job_id)
    content = b"".join(as_alice.get(address).streaming_content)  # type: ignore[attr-defined]
    assert "colours.labels.npy" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert address.encode() in as_alice.get("/datasets/lake/pools/").content


def test_only_registered_names_are_taken(dataset, model, as_alice):
    for value in [
        "s3://bucket/model.onnx",
        "https://example.org/m.pt",
        "/srv/model.pt",
        "timm:vit",
    ]:
        page = as_alice.post("/datasets/lake/pools/", {"models": [value]})
        api = as_alice.post(
            "/api/v1/datasets/lake/pools/", json.dumps({"models": [value]}), "application/json"
        )

        assert page.status_code == api.status_code == 400, value
        assert not Pool.objects.exists(), value
        assert not Job.objects.filter(kind="predict").exists(), value


def test_the_api_tells_a_models_name_and_not_its_path(dataset, model, as_alice, tmp_path):
    models = as_alice.get("/api/v1/models/").json()["results"]
    made = as_alice.post(
        "/api/v1/datasets/lake/pools/", json.dumps({"models": ["colours"]}), "application/json"
    )

    assert [(row["name"], row["classes"]) for row in models] == [("colours", 3)]
    assert str(tmp_path) not in json.dumps(models)
    assert (made.status_code, made.json()["state"]) == (202, "queued")
