"""From an ONNX file to what it predicts, by mouse."""

import pytest

from evaluation.pools import registering
from labeling.jobs import queue
from tests import factories
from tests.evaluation.cds import world
from tests.evaluation.classifiers import networks

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_an_administrator_uploads_a_model_and_removes_it(
    browser_as, site, looked_at, wordnet, tmp_path
):
    page = browser_as(factories.make_user("root", is_staff=True))
    page.goto(site("/"))
    page.locator(".user-menu summary").click()
    page.get_by_role("link", name="Models").click()
    looked_at(page, "models-none")

    page.get_by_label("Name").fill("colours")
    page.get_by_label("ONNX file").set_input_files(networks.onnx(tmp_path / "x.onnx"))
    page.get_by_label("Classes").fill("dog\nn02121620\nn02018207")
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("'dog' has several meanings").wait_for()
    looked_at(page, "models-fault")
    page.get_by_label("Classes").fill("n02084071\nn02121620\nn02018207")
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("being opened").wait_for()
    queue.run_all()
    page.get_by_text("ready", exact=True).wait_for()
    looked_at(page, "models")

    page.get_by_text("Remove colours …").click()
    page.get_by_role("button", name="Remove colours").click()
    page.get_by_text("colours was removed.").wait_for()


def test_a_model_becomes_a_submission_by_mouse(
    page, site, looked_at, alice, bob, dataset, wordnet, tmp_path
):
    reveal = world.make(alice, world.campaign_of(alice, bob, dataset))
    page.goto(site("/benchmarks/reveal/"))
    page.get_by_role("button", name="Score a registered model").click()
    page.get_by_text("No model can be run").wait_for()
    looked_at(page, "benchmark-models-none")
    spec = str(networks.scripted(tmp_path / "colours.pt"))
    options = ["--fit=crop", "--size=8x8"]
    registering.register(
        "colours", spec, classes=networks.CLASSES, options=options, source={"model": "colours.pt"}
    )

    page.reload()
    page.get_by_role("button", name="Create submission").click()
    page.get_by_text("Waiting for a worker").wait_for()
    queue.run_all()
    page.get_by_text("Submitted as colours").wait_for()
    looked_at(page, "benchmark-models")

    assert reveal.submissions.get().name == "colours"
