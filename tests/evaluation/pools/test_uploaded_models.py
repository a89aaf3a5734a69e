"""ONNX files that administrators upload: what is refused, by what, and what is kept."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files import File
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evaluation.models import RegisteredModel
from evaluation.pools import making, registering
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.jobs import child, queue
from labeling.models import Dataset, Job, User
from tests import factories
from tests.evaluation.classifiers import networks

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]
WNIDS = "\n".join(networks.CLASSES)


@pytest.fixture
def admin(alice: User) -> User:
    """Alice administers the site."""
    alice.is_staff = alice.is_researcher = True
    alice.save()
    return alice


@pytest.fixture
def lake(admin: User) -> Dataset:
    made = factories.make_dataset(admin, "lake")
    factories.make_image(made, "drake.png")
    return made


def sent(admin: User, path: Path, name: str = "colours", classes: str = WNIDS, **how: str):
    with path.open("rb") as file:
        return registering.upload(admin, name, File(file), classes=classes, **how)


def opened(model: RegisteredModel) -> Job:
    """The job that opens the file, once it has run."""
    assert model.job_id is not None
    queue.run(model.job_id)
    return Job.objects.get(pk=model.job_id)


def of_nodes(
    path: Path, *nodes: Any, shape: tuple[int | str, ...] = ("n", 3, 8, 8), **tensors: Any
) -> Path:
    """A file whose nodes turn `images` into `logits`."""
    from onnx import TensorProto, helper, numpy_helper

    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "made up",
        [value("images", TensorProto.FLOAT, shape)],
        [value("logits", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 9
    onnx.save(made, path)
    return path


def never_ending(path: Path) -> Path:
    """A loop that counts to 2^62 before the logits."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go on"]),
            helper.make_node("Add", ["sum", "sum"], ["next"]),
        ],
        "body",
        [
            value("step", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("sum", TensorProto.FLOAT, None),
        ],
        [value("go on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, None)],
    )
    return of_nodes(
        path,
        helper.make_node("ReduceMean", ["images", "axes"], ["means"], keepdims=0),
        helper.make_node("Loop", ["count", "yes", "means"], ["logits"], body=body),
        axes=np.array([2, 3]),
        count=np.array(1 << 62),
        yes=np.array(True),
    )


def greedy(path: Path) -> Path:
    """Makes 16 GiB of zeros before the logits."""
    from onnx import helper

    return of_nodes(
        path,
        helper.make_node("ReduceMean", ["images", "axes"], ["means"], keepdims=0),
        helper.make_node("Expand", ["means", "wide"], ["copies"]),
        helper.make_node("ReduceMean", ["copies", "first"], ["logits"], keepdims=0),
        axes=np.array([2, 3]),
        wide=np.array([1 << 30, 2, 3]),
        first=np.array([0]),
    )


def declared(path: Path) -> Path:
    """A tensor that states 2 GiB and has 4 bytes."""
    networks.onnx(path)
    model = onnx.load(path)
    model.graph.initializer[1].dims.append(1 << 29)
    onnx.save(model, path)
    return path


def truncated(path: Path) -> Path:
    path.write_bytes(networks.onnx(path).read_bytes()[:-40])
    return path


def foreign(path: Path) -> Path:
    networks.onnx(path)
    model = onnx.load(path)
    model.graph.node[2].domain = "example.org"
    onnx.save(model, path)
    return path


def crumbled(path: Path) -> Path:
    """A node with 600,000 empty attributes, in little over a megabyte."""
    networks.onnx(path)
    model = onnx.load(path)
    model.graph.node[0].attribute.extend([onnx.AttributeProto()] * 600_000)
    onnx.save(model, path)
    return path


def text(path: Path) -> Path:
    path.write_text("no model")
    return path


def empty(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize("size", [8, pytest.param("side", marks=pytest.mark.ci)])
def test_an_uploaded_model_makes_a_pool(admin, lake, tmp_path, size):
    path = networks.onnx(tmp_path / "x.onnx", size=size)
    model = sent(admin, path, classes=f"{networks.DOG}\ntrue cat\nn02018207\n", size="8")
    path.unlink()

    with pytest.raises(Refusal, match="No model is registered as 'colours'"):
        making.request(lake, admin, ["colours"])
    job = opened(model)
    pool = making.request(lake, admin, ["colours"])
    assert pool.job is not None
    queue.run(pool.job.pk)

    pool.job.refresh_from_db()
    pool.refresh_from_db(fields=["result"])
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert model.classes == networks.CLASSES
    assert (pool.job.state, pool.job.error) == (Job.State.DONE, "")
    assert pool.result["colours"]["sha256"] == model.source["sha256"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (truncated, "cannot be read as ONNX"),
        (empty, "cannot be read as ONNX"),
        (text, "cannot be read as ONNX"),
        (networks.onnx_outside, "has tensors in other files"),
        (crumbled, "has over 500,000 parts"),
        (foreign, "has the operator 'Mul' of 'example.org'"),
    ],
)
def test_a_file_that_must_not_be_loaded_is_not_kept(
    admin, tmp_path, make: Callable[[Path], Path], message
):
    with pytest.raises(Refusal, match=f"The file {message}") as refused:
        sent(admin, make(tmp_path / "x.onnx"))

    assert refused.value.field == "file"
    assert not RegisteredModel.objects.exists()
    assert not (tmp_path / "models").exists()


def of_shape(*shape: int | str) -> Callable[[Path], Path]:
    from onnx import helper

    return lambda path: of_nodes(
        path, helper.make_node("Identity", ["images"], ["logits"]), shape=shape
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (networks.onnx, "the classes are 2"),
        (of_shape("n", 8, 8, 3), r"takes \(n, 8, 8, 3\), expected \(images, 3, height, width\)"),
        (of_shape("n", 12), r"takes \(n, 12\), expected"),
        (declared, "cannot be read as ONNX"),
        (greedy, r"^It needs over 4 GiB of memory\.$"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_its_job(
    admin, tmp_path, make: Callable[[Path], Path], message
):
    model = sent(admin, make(tmp_path / "x.onnx"), classes="\n".join(networks.CLASSES[:2]))

    job = opened(model)

    assert job.state == Job.State.FAILED
    assert job.attempts == 1
    assert re.search(message, job.error)
    with pytest.raises(Refusal, match="No model is registered"):
        making.request(factories.make_dataset(admin, "pond"), admin, ["colours"])


@pytest.mark.ci
def test_a_file_that_never_ends_is_ended(admin, tmp_path, monkeypatch):
    limits = child.ChildLimits(memory=registering.LIMITS.memory, cpu=8)
    monkeypatch.setattr(registering, "LIMITS", limits)

    job = opened(sent(admin, never_ending(tmp_path / "x.onnx")))

    assert (job.state, job.error) == (Job.State.FAILED, "It took over 8 seconds of processor time.")


def test_a_file_that_sleeps_is_ended(admin, tmp_path, monkeypatch):
    limits = child.ChildLimits(memory=registering.LIMITS.memory, cpu=600, seconds=1)
    monkeypatch.setattr(registering, "LIMITS", limits)

    job = opened(sent(admin, networks.onnx(tmp_path / "x.onnx")))

    assert (job.state, job.error) == (Job.State.FAILED, "It took over 1 seconds.")


@pytest.mark.ci
def test_a_kept_file_that_changed_is_not_run(admin, lake, tmp_path):
    model = sent(admin, networks.onnx(tmp_path / "x.onnx"))
    opened(model)
    with (tmp_path / model.spec).open("ab") as file:
        file.write(b" ")

    pool = making.request(lake, admin, ["colours"])
    assert pool.job is not None
    queue.run(pool.job.pk)

    pool.job.refresh_from_db()
    pool.refresh_from_db(fields=["result"])
    assert "has changed since it was registered" in pool.job.error
    assert pool.job.exit_code is None


def test_a_file_stays_until_its_last_model_is_removed(
    admin, tmp_path, django_capture_on_commit_callbacks
):
    path = networks.onnx(tmp_path / "x.onnx")
    first, _ = sent(admin, path), sent(admin, path, "hues")
    kept = []
    for name in ("colours", "hues"):
        with django_capture_on_commit_callbacks(execute=True):
            registering.remove_uploaded(admin, name)
        kept.append((tmp_path / first.spec).exists())

    assert kept == [True, False]
    assert not Job.objects.filter(kind=registering.KIND).exists()


def test_only_administrators_upload_and_remove(bob, tmp_path):
    bob.is_researcher = True
    with pytest.raises(NotAllowed):
        sent(bob, networks.onnx(tmp_path / "x.onnx"))
    with pytest.raises(NotAllowed):
        registering.remove_uploaded(bob, "colours")


def test_what_a_command_registered_is_neither_replaced_nor_removed(admin, tmp_path):
    registering.register("colours", "x.pt", classes=["n02084071"], options=[], source={})

    with pytest.raises(Conflict, match="already called colours"):
        sent(admin, networks.onnx(tmp_path / "x.onnx"))
    with pytest.raises(Conflict, match=r"manage\.py models remove"):
        registering.remove_uploaded(admin, "colours")


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"name": "../x"}, "name"),
        ({"classes": "n02084071\n\nn02084071"}, "classes"),
        ({"classes": "dog\ndog"}, "classes"),
        ({"classes": "crane"}, "classes"),
        ({"classes": " "}, "classes"),
        ({"size": "0"}, "size"),
        ({"mean": "1,2"}, "mean"),
        ({"std": "0,1,1"}, "std"),
        ({"fit": "zoom"}, "fit"),
    ],
)
def test_wrong_fields_are_refused_by_name(admin, tmp_path, how, field):
    path = networks.onnx(tmp_path / "x.onnx")

    with pytest.raises(Refusal) as refused:
        sent(admin, path, **how)

    assert refused.value.field == field
    assert not RegisteredModel.objects.exists()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"classes": "a" * 100_000}, "Line 1 has 100,000 characters. Give a wnid"),
        ({"size": "9" * 5000}, f"Give pixels, such as 224 or 240x320, not '{'9' * 40}'."),
    ],
)
def test_long_texts_are_not_sent_back(admin, tmp_path, how, message):
    with pytest.raises(Refusal) as refused:
        sent(admin, networks.onnx(tmp_path / "x.onnx"), **how)

    assert refused.value.message.startswith(message)


def test_a_byte_order_mark_before_the_classes_is_ignored(admin, tmp_path):
    model = sent(admin, networks.onnx(tmp_path / "x.onnx"), classes=f"\ufeff{WNIDS}\r\n")

    assert model.classes == networks.CLASSES


def test_classes_outside_wordnet_are_refused_with_what_takes_them(admin, tmp_path):
    with pytest.raises(Refusal, match=r"Line 2: .*upload its predictions to a pool"):
        sent(admin, networks.onnx(tmp_path / "x.onnx"), classes="n02084071\nboat with oars\ncat")


def test_large_files_are_refused(admin, tmp_path, monkeypatch):
    monkeypatch.setattr(registering, "MAX_BYTES", 100)

    with pytest.raises(Refusal, match="larger than"):
        sent(admin, networks.onnx(tmp_path / "x.onnx"))


def test_without_onnxruntime_the_page_says_so(admin, as_alice: Client, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    page = as_alice.get("/models/").content.decode()

    assert "onnxruntime is not installed" in page
    assert 'name="file"' not in page
    with pytest.raises(Refusal, match="onnxruntime is not installed"):
        sent(admin, networks.onnx(tmp_path / "x.onnx"))


def test_page_and_api_take_the_same_file(admin, as_alice: Client, tmp_path):
    content = networks.onnx(tmp_path / "x.onnx").read_bytes()

    def body(name: str) -> dict[str, object]:
        file = SimpleUploadedFile("x.onnx", content)
        return {"name": name, "file": file, "classes": WNIDS, "std": "0.5,0.5,0.5", "fit": "pad"}

    page = as_alice.post("/models/", body("one"))
    api = as_alice.post("/api/v1/models/", body("two"))

    assert (page.status_code, api.status_code) == (302, 202)
    assert (api.json()["state"], api.json()["is_uploaded"]) == ("queued", True)
    first, second = RegisteredModel.objects.order_by("name")
    assert (first.spec, first.options) == (second.spec, second.options)
    assert first.options == ["--fit=pad", "--std=0.5,0.5,0.5"]
    assert "being opened" in as_alice.get("/models/?fragment=1").content.decode()
    assert as_alice.post("/models/one/remove/").status_code == 302
    assert as_alice.delete("/api/v1/models/two/").status_code == 204
    assert not RegisteredModel.objects.exists()
