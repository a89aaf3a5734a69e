"""What the second edition's questions taken along left in a browser: it goes, answers arrive."""

import json
import uuid

import pytest
from django.http import HttpResponse
from django.views.generic import TemplateView

from labeling.assignment import claiming
from labeling.models import Answer
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/campaigns/coots/label/along/"
OLD_WORKER = "addEventListener('fetch', ({ respondWith }) => {});"
REGISTER = f"""async () => {{
  await navigator.serviceWorker.register("{PAGE}worker.js", {{ scope: "{PAGE}" }});
  const cache = await caches.open("assay-along:1:9:coots:x");
  await cache.put("/label/x/image", new Response("photograph"));
  localStorage["assay:along:1:coots"] = "{{}}";
}}"""
LEFT = """async () => [
  ...(await navigator.serviceWorker.getRegistrations()),
  ...(await caches.keys()),
  ...Object.keys(localStorage).filter((key) => key.startsWith("assay:along:")),
].length"""
UNSENT = "() => Object.keys(localStorage).filter((key) => key.startsWith('assay:answer:')).length"


@pytest.fixture
def coots(alice, bob, dataset):
    campaign = factories.make_campaign(alice, dataset, images=5, policy={"votes": 1})
    factories.join(bob, campaign)
    return campaign


def test_the_old_worker_and_its_photographs_go(browser_as, bob, coots, site, monkeypatch):
    page = browser_as(bob)
    page.goto(site("/"))
    with monkeypatch.context() as patch:
        old = HttpResponse(OLD_WORKER, content_type="text/javascript")
        patch.setattr(TemplateView, "get", lambda *args, **kwargs: old)
        page.evaluate(REGISTER)
    assert page.evaluate(LEFT) == 3

    page.goto(site("/"))

    wait_until_none(page, LEFT)


def wait_until_none(page, count):
    page.evaluate(
        f"async () => {{ while (await ({count})())"
        " await new Promise((resume) => setTimeout(resume, 20)); }"
    )


def test_answers_of_a_set_are_sent_from_the_labeling_page(browser_as, bob, coots, site):
    seats = claiming.next_page(bob, coots).seats
    key = str(uuid.uuid4())
    answer = {"id": key, "at": 1, "seat": seats[0].token, "value": "yes", "duration_ms": 900}
    answer |= {"input_method": "key", "language": "en-gb", "along": str(uuid.uuid4())}
    page = browser_as(bob)
    page.goto(site("/accounts/logout/"))
    page.evaluate(
        "([key, entry]) => localStorage.setItem(key, entry)",
        [f"assay:answer:{bob.pk}:coots:{key}", json.dumps(answer)],
    )

    page.goto(site(PAGE))

    page.wait_for_url("**/campaigns/coots/label/")
    wait_until_none(page, UNSENT)
    assert Answer.objects.get().assignment.token == seats[0].token
