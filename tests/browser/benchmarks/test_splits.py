"""A researcher splits a release, and makes a benchmark on one part."""

import pytest

from evaluation.models import Benchmark
from labeling.jobs import queue
from labeling.models import Job
from labeling.releases import freezing
from tests import factories
from tests.browser.conftest import expect
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_release_is_split_and_a_part_becomes_a_benchmark(
    wordnet, browser_as, alice, dataset, site, looked_at
):
    names = [factories.make_image(dataset, f"{number:02}.png").name for number in range(20)]
    labels = {(name, DOG if at % 3 else CAT): "yes" for at, name in enumerate(names)}
    freezing.freeze(boxers.labeled(alice, dataset, "contains", labels))
    page = browser_as(alice)
    page.goto(site("/campaigns/labels/releases/"))
    page.get_by_role("link", name="Splits of release 1").click()
    page.get_by_label("Rule").fill("30/70")
    page.get_by_label("Seal the last part").check()
    page.get_by_role("button", name="Split").click()
    expect(page.get_by_role("heading", name="30/70, seed 0")).to_contain_text("queued")
    queue.run(Job.objects.get(kind="split").pk)
    # The page asks for the state of the job again.
    page.get_by_text("Images of 2 classes").click()
    expect(page.get_by_text("test is sealed by alice.")).to_be_visible()
    looked_at(page, "splits")
    page.get_by_role("link", name="val", exact=True).click()
    page.get_by_label("Title").fill("Settings")
    page.get_by_label("Name", exact=True).fill("settings")
    looked_at(page, "new-on-part")
    page.get_by_role("button", name="Create benchmark").click()
    expect(page.get_by_text("Benchmark created.")).to_be_visible()

    assert Benchmark.objects.get().settings["part"].endswith(":val")
