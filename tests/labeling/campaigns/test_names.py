"""One rule of names: staff see each other by name, annotators by pseudonym, annotators nobody."""

import io
import zipfile

import pytest
from django.test import Client

from labeling.campaigns import lifecycle
from labeling.consensus import reviewing
from labeling.models import Question, User
from labeling.quality import memberships
from tests import factories
from tests.access import PEOPLE, ROWS
from tests.test_access import fill
from tests.world import World, build


@pytest.fixture(scope="module")
def built_world(once) -> World:
    """With a second researcher, and something that the reviewer decided. No name is a word."""
    with once():
        return renamed(build())


def renamed(world: World) -> World:
    for user in User.objects.all():
        user.username = f"{user.username}-quartz"
        user.save(update_fields=["username"])
        vars(world).get(user.username.removesuffix("-quartz"), user).username = user.username
    nora = factories.make_user("nora-quartz")
    for campaign in world.alice.memberships.all():
        _, secret = memberships.invite(campaign.campaign, world.alice, "researcher")
        memberships.accept(secret, nora)
    world.parts["nora"] = nora
    question = world.campaign.questions.filter(state=Question.State.OPEN).earliest("pk")
    # As in the table of tests/access.py, the question under review stays there.
    Question.objects.filter(pk=question.pk).update(state=Question.State.REVIEW, seats_free=0)
    reviewing.decide(world.campaign, question.pk, world.vera, "yes", "clear")
    lifecycle.change_state(world.campaign, world.alice, "pause")
    lifecycle.change_state(world.campaign, world.alice, "resume")
    return world


def read_as(user: User, world: World, who: str) -> dict[str, str]:
    """The text of every page that `who` may GET."""
    client = Client(raise_request_exception=False)
    client.force_login(user)
    index, payloads = PEOPLE.index(who), {}
    for row, expected in ROWS.items():
        method, route = row.split(" ", 1)
        if method != "GET" or expected[index] != "in" or "accounts/" in route or "token" in route:
            continue
        response = client.get(fill(route, world))
        content = response.getvalue()
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = b"".join(archive.read(name) for name in archive.namelist())
        payloads[route] = content.decode("utf-8", "replace")
    assert len(payloads) > 10
    return payloads


def seen(name: str, texts: dict[str, str]) -> list[str]:
    return [route for route, text in texts.items() if name in text]


def pages(texts: dict[str, str]) -> dict[str, str]:
    return {route: text for route, text in texts.items() if not route.startswith("api/")}


@pytest.mark.ci
def test_staff_see_staff_by_name_and_annotators_by_pseudonym_who_see_nobody(world):
    texts = read_as(world.parts["nora"], world, "owner")

    assert seen(world.bob.username, texts) == []
    for colleague in (world.alice, world.vera):
        assert seen(colleague.pseudonym, pages(texts)) == []
        assert seen(colleague.username, texts)
    for route in (
        "campaigns/<slug:name>/",
        "campaigns/<slug:name>/people/",
        "api/v1/campaigns/<slug:campaign>/members/",
        "api/v1/campaigns/<slug:campaign>/decisions/",
        "api/v1/campaigns/<slug:campaign>/standings/",
    ):
        assert world.vera.username in texts[route], route
    for route in ("datasets/<slug:name>/imports/", "datasets/", "datasets/<slug:name>/vocabulary/"):
        assert world.alice.username in texts[route], route
    assert seen(world.bob.pseudonym, texts)
    check_files(texts)
    check_reviewer(world)
    check_annotator(world)


def check_reviewer(world: World) -> None:
    texts = read_as(world.vera, world, "reviewer")

    assert seen(world.bob.username, texts) == []
    assert seen(world.alice.pseudonym, pages(texts)) == []
    assert world.alice.username in texts["campaigns/<slug:name>/graph/"]
    assert world.bob.pseudonym in texts["campaigns/<slug:name>/questions/<int:pk>/"]


def check_annotator(world: World) -> None:
    texts = read_as(world.bob, world, "annotator")

    for user in (world.alice, world.vera, world.parts["nora"], world.rita):
        assert seen(user.username, texts) == []
        assert seen(user.pseudonym, texts) == []


def check_files(texts: dict[str, str]) -> None:
    """Nothing that leaves the site names anybody."""
    files = {
        route: text
        for route, text in texts.items()
        if "releases/" in route and ("download" in route or "/files/" in route or "labels" in route)
    }

    assert len(files) >= 4
    for route, text in files.items():
        if "<html" in text:
            continue
        for user in User.objects.all():
            assert user.username not in text, route
            assert user.pseudonym not in text, route
