"""A page of images under one question: marking, sending, going back, and every way to lose it."""

import io
from pathlib import Path

import pytest

from labeling import campaigns, graphs, images
from labeling.models import Question
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ANSWERS = "**/label/answers/"
GRAPH = {
    "nodes": [
        {
            "id": "animal",
            "question": "living organism (other than people): dogs, snakes, fish, insects, etc.",
            "guidance": "Please do not include plants.",
        },
        {"id": "cat", "question": "domestic cat", "parents": ["animal"], "class": "n02121808"},
        {"id": "fruit", "question": "fruit", "parents": []},
        {"id": "apple", "question": "apple", "parents": ["fruit"], "class": "n07739125"},
    ]
}


def photographs(dataset, count):
    """Names of `count` photographs of the dataset: some real ones, again and again."""
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    real = [folder / name for name in ("chelsea.png", "coffee.png", "astronaut.png", "rocket.jpg")]
    names = []
    for index in range(count):
        path = real[index % len(real)]
        name = f"{index:03}-{path.name}"
        # Bytes after the end of the picture: another file, the same photograph.
        content = io.BytesIO(path.read_bytes() + str(index).encode())
        images.add_file(dataset, name, content, licence="public domain", source="scikit-image")
        names.append(name)
    return names


def ask(alice, dataset, names, topics=("animal",), **policy):
    """An open campaign that asks about these images."""
    campaign = campaigns.create(
        alice,
        name="grid",
        title="Which of two hundred",
        kind="hierarchy",
        dataset=dataset,
        policy=policy,
        instructions="Look at every image before you press Done.",
    )
    graphs.define(campaign, alice, GRAPH)
    campaigns.add_questions(campaign, [(name, topic) for topic in topics for name in names])
    Question.objects.update(graph=campaign.graph)
    campaigns.launch(campaign, alice)
    return campaign


@pytest.fixture
def grid(alice, bob, dataset):
    """Twelve small images under two questions, six on a page."""
    names = [f"{index:03}.png" for index in range(12)]
    for name in names:
        factories.make_image(dataset, name)
    campaign = ask(alice, dataset, names, ("animal", "fruit"), page_size=6)
    factories.join(bob, campaign)
    return campaign


def test_look(browser_as, alice, bob, dataset, site, looked_at, screenshots):
    campaign = ask(alice, dataset, photographs(dataset, 20))
    factories.join(bob, campaign)
    page = browser_as(bob)
    page.goto(site("/campaigns/grid/label/"))
    page.wait_for_selector(".tile img")
    page.wait_for_timeout(1500)
    page.click(".tile:nth-child(1) .tile-face")
    page.click(".tile:nth-child(5) .tile-face")
    page.click(".tile:nth-child(2) .tile-hard")
    page.keyboard.press("ArrowRight")
    looked_at(page, "grid")
