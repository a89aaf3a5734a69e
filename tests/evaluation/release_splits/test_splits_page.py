"""The page and the API of a release's splits."""

import io
import zipfile

import pytest
from django.urls import reverse

from evaluation.models import ReleaseSplit
from evaluation.release_splits import making
from labeling.jobs import queue
from labeling.models import Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(first) -> str:
    return reverse("evaluation:splits", args=["labels", 1])


def names_in(response) -> set[str]:
    content = b"".join(response.streaming_content)
    return set(zipfile.ZipFile(io.BytesIO(content)).namelist())


def test_a_release_is_split_on_its_page(client, alice, page):
    client.force_login(alice)

    response = client.post(page, {"by": "30/70", "names": "dev, final", "seal": "on"})

    assert (response.status_code, response.url) == (302, page)
    row = ReleaseSplit.objects.get()
    assert (row.names, row.seed, row.sealed_by) == (["dev", "final"], 0, alice)
    assert b"queued" in client.get(page).content
    queue.run(row.job_id)
    text = client.get(page).content.decode()
    for expected in ("Split 1: 30/70, seed 0", "<strong>final</strong> is sealed", "Images of 2"):
        assert expected in text
    assert f"campaign=labels&amp;part={row.pk}:dev" in text
    assert page.encode() in client.get(reverse("labeling:releases", args=["labels"])).content


def test_an_earlier_split_is_extended_on_the_page(client, alice, first, grow):
    row = making.make(making.request(first, alice, by="30/70"))
    release = grow()
    client.force_login(alice)
    page = reverse("evaluation:splits", args=["labels", release.number])

    assert f"Split {row.pk} of release 1: 30/70" in client.get(page).content.decode()
    assert client.post(page, {"extend": row.pk}).status_code == 302

    [later] = release.splits.all()
    assert later.extends == row
    queue.run(later.job_id)
    assert f"It extends split {row.pk} of release 1" in client.get(page).content.decode()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({}, "Give a rule, such as"),
        ({"by": "40"}, "is not a rule"),
        ({"by": "1/2", "names": "a"}, "needs 2 different names"),
        ({"by": "1/2", "seed": "-1"}, "greater than or equal to 0"),
        ({"extend": "99"}, "Select a valid choice"),
    ],
)
def test_a_wrong_form_makes_nothing(client, alice, page, form, message):
    client.force_login(alice)

    response = client.post(page, form)

    assert response.status_code == 400
    assert message in response.content.decode()
    assert not ReleaseSplit.objects.exists()


def test_a_failed_job_is_on_the_page(client, alice, first, page):
    row = making.request(first, alice, by="30/70")
    Job.objects.filter(pk=row.job_id).update(state="failed", error="The release is damaged.")
    client.force_login(alice)

    text = client.get(f"{page}?fragment=1").content.decode()

    assert "The release is damaged." in text


def test_only_who_sealed_a_part_gets_its_list(client, alice, rita, first, page):
    row = making.make(making.request(first, alice, by="30/70", seal=True))
    site = reverse("evaluation:split_file", args=["labels", 1, row.pk])
    api = f"/api/v1{page}{row.pk}/split.zip"

    for user, expected in ((alice, {"test.txt"}), (rita, set())):
        client.force_login(user)
        for address in (site, api):
            names = names_in(client.get(address))
            assert names == {"split.json", "val.txt"} | expected
    assert "but test" in client.get(page).content.decode()


def test_the_api_splits_and_extends(client, alice, first, grow):
    client.force_login(alice)
    api = "/api/v1/campaigns/labels/releases/{}/splits/"

    def ask(number, body, status=202):
        response = client.post(api.format(number), body, content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    made = ask(1, {"by": "30/70", "names": "dev,final", "seed": 4})
    assert (made["state"], made["names"], made["counts"]) == ("queued", ["dev", "final"], None)
    assert ask(1, {"by": "30/70", "names": "dev,final", "seed": 4}) == made
    queue.run(ReleaseSplit.objects.get().job_id)
    done = client.get(f"{api.format(1)}{made['id']}/").json()
    assert (done["state"], done["counts"]["dev"]["images"]) == ("done", 6)
    release = grow()
    later = ask(release.number, {"extend": made["id"]})
    assert (later["extends"], later["method"], later["seed"]) == (made["id"], "30/70", 4)
    assert ask(release.number, {"extend": 99}, 404)["code"] == "not_found"
    assert ask(release.number, {"by": "x"}, 400)["errors"][0]["field"] == "by"
    assert client.get(f"{api.format(release.number)}{made['id']}/").status_code == 404
