"""What the researcher's pages do with a question graph."""

import json

import pytest

from labeling.errors import Conflict
from labeling.follow_ups import opening
from labeling.graphs import store
from labeling.kinds import policies
from labeling.models import Campaign, Gold, Question, Settlement, User
from labeling.question_graph import replaying
from labeling.reports import graph_outline
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in, text_of, upload

PETS = {
    "name": "Pets",
    "nodes": [
        {"id": "animal", "question": "Is there an animal?"},
        {"id": "toy", "question": "Is there a toy?"},
        {"id": "pet", "question": "Is there a pet?", "parents": ["animal", "toy"]},
        {"id": "cat", "question": "Is there a cat?", "parents": ["pet"], "class": "n02121620"},
        {"id": "dog", "question": "Is there a dog?", "parents": ["pet"], "class": "n02084071"},
        {"id": "ball", "question": "Is there a ball?", "parents": ["toy"], "class": "n02778669"},
    ],
}


def pets(owner: User, dataset, images: int = 3, name: str = "pets") -> Campaign:
    for number in range(images):
        factories.make_image(dataset, f"{name}/{number:03}.png")
    campaign, _ = opening.draft_graph(
        owner, replaying.build(PETS), name=name, title="Pets", dataset=dataset
    )
    return campaign


@pytest.fixture
def campaign(alice, dataset) -> Campaign:
    return pets(alice, dataset)


def filled(dataset, **changes) -> dict:
    """A new campaign's form as a browser sends it."""
    return {
        "title": "Everything",
        "name": "everything",
        "kind": "hierarchy",
        "dataset": dataset.pk,
        "graph": "ilsvrc",
        "mode": "safe",
        "order": "breadth",
        **policies.DEFAULTS,
        **changes,
    }


def edges(campaign: Campaign) -> dict[str, list[str]]:
    campaign.refresh_from_db()
    return {node.id: list(node.parents) for node in store.load_graph(campaign).nodes}


# A new campaign


def test_a_new_campaign_asks_ilsvrcs_first_questions_of_every_image(desk, dataset):
    for number in range(4):
        factories.make_image(dataset, f"{number}.png")

    page = desk.post("/campaigns/new/", filled(dataset, mode="strict"))

    made = Campaign.objects.get(name="everything")
    assert page["Location"] == "/campaigns/everything/"
    assert made.settings == {"mode": "strict", "order": "breadth"}
    assert made.questions.count() == 4 * 17
    assert made.topics.count() == 245


def test_a_new_campaign_takes_a_graph_from_a_file_and_some_images(desk, dataset):
    for number in range(4):
        factories.make_image(dataset, f"{number}.png")
    file = upload("pets.json", json.dumps(PETS))

    desk.post(
        "/campaigns/new/", filled(dataset, graph="file", graph_file=file, images="0.png\n3.png")
    )

    made = Campaign.objects.get(name="everything")
    pairs = made.questions.values_list("item__image__name", "topic")
    assert sorted(pairs) == [
        ("0.png", "animal"), ("0.png", "toy"), ("3.png", "animal"), ("3.png", "toy"),
    ]  # fmt: skip


def test_a_new_campaign_on_a_graph_takes_gold_that_fits_the_graph(desk, dataset):
    for number in range(2):
        factories.make_image(dataset, f"{number}.png")

    def sent(gold: str) -> dict:
        file = upload("pets.json", json.dumps(PETS))
        return filled(dataset, graph="file", graph_file=file, gold=gold)

    page = text_of(
        desk.post("/campaigns/new/", sent("0.png,animal,no\n0.png,toy,no\n0.png,cat,yes"))
    )
    assert "0.png: " in page
    assert "above it, is no" in page
    assert not Campaign.objects.filter(name="everything").exists()
    desk.post("/campaigns/new/", sent("0.png,animal,no\n1.png,cat,yes"))

    gold = Gold.objects.filter(question__campaign__name="everything")
    pairs = gold.values_list("question__item__image__name", "question__topic", "answer")
    assert sorted(pairs) == [("0.png", "animal", "no"), ("1.png", "cat", "yes")]


def test_a_new_campaign_on_a_faulty_graph_is_not_made_and_every_fault_is_named(desk, dataset):
    circle = {
        "nodes": [
            {"id": "a", "question": "A?", "parents": ["b"]},
            {"id": "b", "question": "B?", "parents": ["a"]},
            {"id": "c", "question": "", "parents": ["nowhere"], "class": "c"},
        ]
    }
    file = upload("circle.json", json.dumps(circle))

    page = text_of(desk.post("/campaigns/new/", filled(dataset, graph="file", graph_file=file)))

    assert "is a cycle" in page
    assert "its parent nowhere is not in the graph" in page
    assert "c: the question is empty" in page
    assert not Campaign.objects.exists()


def test_a_graph_campaign_needs_a_file_when_it_says_so(desk, dataset):
    page = text_of(desk.post("/campaigns/new/", filled(dataset, graph="file")))

    assert "Choose a graph file." in page


def test_many_images_are_opened_by_a_job(desk, dataset, monkeypatch, run_jobs):
    monkeypatch.setattr(opening, "AT_ONCE", 2)
    for number in range(3):
        factories.make_image(dataset, f"{number}.png")

    desk.post("/campaigns/new/", filled(dataset))

    made = Campaign.objects.get(name="everything")
    assert not made.questions.exists()
    run_jobs()
    assert made.questions.count() == 3 * 17


def test_the_price_reckons_with_the_questions_that_a_graph_saves(desk, dataset):
    for number in range(10):
        factories.make_image(dataset, f"{number}.png")

    page = text_of(desk.post("/campaigns/new/estimate/", filled(dataset)))

    # 48.03 questions an image instead of 200.
    assert "<dd>480 <small" in page


# The outline


def test_the_outline_shows_a_shared_question_under_each_parent_and_its_own_ones_once():
    rows = graph_outline.outline(replaying.build(PETS), {})

    animal, toy = rows
    [under_animal] = animal.children
    under_toy = toy.children[0]
    assert [row.node.id for row in rows] == ["animal", "toy"]
    assert [row.node.id for row in toy.children] == ["pet", "ball"]
    assert (under_animal.elsewhere, under_toy.elsewhere) == (
        "Is there a toy?",
        "Is there an animal?",
    )
    assert [row.node.id for row in under_animal.children] == ["cat", "dog"]
    assert under_toy.children == []


def test_a_search_keeps_what_it_finds_and_what_is_above_it():
    rows = graph_outline.outline(replaying.build(PETS), {}, "BALL")

    [toy] = rows
    assert [(row.node.id, row.is_match) for row in (toy, *toy.children)] == [
        ("toy", False),
        ("ball", True),
    ]


def test_a_chain_of_thousands_is_an_outline_too():
    chain: list[dict] = [{"id": "n0", "question": "0?"}]
    chain += [
        {"id": f"n{n}", "question": f"{n}?", "parents": [f"n{n - 1}"]} for n in range(1, 3000)
    ]
    chain[-1]["class"] = "last"

    rows = graph_outline.outline(replaying.build({"nodes": chain}), {})

    depth, nodes = 0, 0
    while rows:
        depth, nodes = depth + 1, nodes + len(rows)
        rows = next((row.children for row in rows if row.children), [])
    assert (nodes, depth) == (3000, graph_outline.MAX_OUTLINE_DEPTH + 1)


def test_counts_say_what_stands_and_leave_out_gold_and_what_was_withdrawn(campaign):
    policy = campaign.policy
    for number, question in enumerate(campaign.questions.filter(topic="animal").order_by("pk")):
        if number:
            question.state, question.seats_free = Question.State.SETTLED, 0
            question.save()
            # The first verdict was turned over.
            for value in ("no", "yes") if number == 1 else ("no",):
                Settlement.objects.create(question=question, policy=policy, value=value)
    gone, golden, _ = campaign.questions.filter(topic="toy").order_by("pk")
    for question, state in ((gone, "withdrawn"), (golden, "gold")):
        question.state, question.seats_free = state, 0
        question.save()

    assert graph_outline.counts_of(campaign) == {
        "animal": {"asked": 3, "yes": 1, "no": 1, "open": 1},
        "toy": {"asked": 1, "yes": 0, "no": 0, "open": 1},
    }


def test_the_page_shows_ilsvrcs_graph_with_few_queries(
    desk, alice, dataset, django_assert_max_num_queries
):
    opening.draft_graph(alice, store.load_ilsvrc(), name="det", title="Det", dataset=dataset)
    desk.get("/campaigns/det/graph/")

    with django_assert_max_num_queries(16):
        page = text_of(desk.get("/campaigns/det/graph/?open=1"))

    assert "245 questions about 200 classes. Every image begins with 17 of the questions." in page
    assert page.count("shared: also under") > 0
    assert page.count("<details open>") > 40


def test_a_graph_with_markup_in_its_words_is_shown_as_text(desk, alice, dataset):
    raw = {"nodes": [{"id": "x", "question": "<script>?", "class": "x", "guidance": '"><b>'}]}
    opening.draft_graph(alice, replaying.build(raw), name="odd", title="Odd", dataset=dataset)

    page = text_of(desk.get("/campaigns/odd/graph/"))

    assert "&lt;script&gt;?" in page
    assert "<script>?" not in page
    assert '"><b>' not in page


# Changing it


def test_one_click_loads_ilsvrcs_graph(desk, campaign):
    desk.post("/campaigns/pets/graph/load/")

    campaign.refresh_from_db()
    assert campaign.graph.version == 2
    assert len(store.load_graph(campaign).nodes) == 245


@pytest.mark.parametrize("form", ["file", "text", "yaml"])
def test_a_whole_graph_replaces_the_one_in_force(desk, campaign, form):
    raw = {"nodes": [*PETS["nodes"], {"id": "sky", "question": "Is there sky?", "class": "sky"}]}
    text = json.dumps(raw)
    if form == "yaml":
        text = "nodes:\n" + "".join(f"  - {json.dumps(node)}\n" for node in raw["nodes"])
    file = upload("pets.json", text)
    sent = {"graph_file": file} if form == "file" else {"graph": text}

    page = text_of(desk.post("/campaigns/pets/graph/", sent, follow=True))

    assert "Version 2 of the graph is now active" in page
    assert "sky" in edges(campaign)


@for_each(
    ("text", "message"),
    [
        ("", "Choose a file, or write the graph as text."),
        ("nodes: []", "The graph has no nodes"),
        (
            '{"nodes": [{"id": "a", "question": "\\u0000", "class": "a"}]}',
            "which is not valid text",
        ),
        (
            '{"nodes": [{"id": "a", "question": "\\ud800?", "class": "a"}]}',
            "which is not valid text",
        ),
    ],
)
def test_a_fault_is_named_and_nothing_is_changed(desk, campaign, text, message):
    before = edges(campaign)

    page = text_of(desk.post("/campaigns/pets/graph/", {"graph": text}))

    assert message in page
    assert edges(campaign) == before
    assert campaign.graphs.count() == 1


def test_an_escaped_smile_is_text(desk, campaign):
    raw = {"nodes": [{"id": "smile", "question": "Is there a \U0001f600?", "class": "smile"}]}

    desk.post("/campaigns/pets/graph/", {"graph": json.dumps(raw)})

    assert "\U0001f600" in text_of(desk.get("/campaigns/pets/graph/"))


def test_one_question_gets_other_words_and_parents(desk, campaign):
    page = text_of(desk.get("/campaigns/pets/graph/nodes/cat/"))
    assert 'value="pet" selected' in page
    # Leaves cannot be above, nor can it be above itself.
    assert 'value="dog"' not in page
    assert 'value="cat"' not in page

    desk.post(
        "/campaigns/pets/graph/nodes/cat/",
        {"question": "A cat?", "name": "cat", "guidance": "Tigers too.", "parents": ["animal"]},
    )

    assert edges(campaign)["cat"] == ["animal"]
    topic = campaign.topics.get(key="cat")
    assert (topic.name, topic.guidance) == ("cat", "Tigers too.")


def test_a_change_that_leaves_a_fault_is_refused_with_the_node(desk, campaign):
    page = text_of(desk.post("/campaigns/pets/graph/nodes/ball/", {"question": "", "parents": []}))
    assert "Question is missing" in page

    # Without its only child, "toy" would still have "pet"; take that too and it leads nowhere.
    desk.post("/campaigns/pets/graph/nodes/ball/", {"question": "Ball?", "parents": []})
    page = text_of(
        desk.post("/campaigns/pets/graph/nodes/pet/", {"question": "Pet?", "parents": ["animal"]})
    )

    assert "toy: has neither children nor a class" in page
    assert edges(campaign)["pet"] == ["animal", "toy"]


def test_a_version_says_what_it_changed(desk, campaign):
    desk.post("/campaigns/pets/graph/nodes/cat/", {"question": "A cat?", "parents": ["animal"]})

    page = text_of(desk.get("/campaigns/pets/graph/2/"))

    assert "What changed since version 1" in page
    assert "<td>pet</td><td>animal</td>" in page
    assert "Is there a cat?" in page


def test_a_download_uploads_again_as_the_same_graph(desk, campaign):
    response = desk.get("/campaigns/pets/graph/1/download")

    assert response["Content-Disposition"] == 'attachment; filename="pets-graph-1.json"'
    desk.post("/campaigns/pets/graph/", {"graph": response.content.decode()})
    campaign.refresh_from_db()
    assert campaign.graph.version == 1


def test_a_campaign_that_asks_by_no_graph_takes_none(desk, coots):
    page = text_of(desk.post("/campaigns/coots/graph/load/", follow=True))

    assert "asks by no graph" in page
    assert not coots.graphs.exists()


def test_a_reviewer_reads_the_graph_and_changes_nothing(campaign):
    factories.join(factories.make_user("vera"), campaign, "reviewer")
    client = logged_in(User.objects.get(username="vera"))

    page = text_of(client.get("/campaigns/pets/graph/"))

    assert "Is there a pet?" in page
    assert "Use this graph" not in page
    assert client.post("/campaigns/pets/graph/load/").status_code == 403


# Two researchers at once


def test_a_graph_changed_by_somebody_else_meanwhile_is_not_overwritten(desk, campaign):
    """Both opened the page at version 1; what the first saved must not be undone by the second."""
    address = f"/campaigns/{campaign.name}/graph/"
    seen = desk.get(address).context["form"]
    whole = {"graph": json.dumps(PETS | {"name": "My pets"}), "version": seen["version"].value()}
    cat = {"question": "Is there a cat?", "parents": ["pet"], "version": 1}
    first = desk.post(f"{address}nodes/cat/", cat | {"guidance": "No lions."})
    assert first.status_code == 302

    second = text_of(desk.post(address, whole))
    third = text_of(desk.post(f"{address}nodes/cat/", cat | {"guidance": "Lions too."}))

    for page in (second, third):
        assert "Version 2 of the graph is newer than the one you edited" in page
    campaign.refresh_from_db()
    assert campaign.graphs.count() == 2
    assert store.load_graph(campaign).node("cat").guidance == "No lions."
    assert "Lions too." in third


def test_a_program_may_say_which_version_it_changes(campaign):
    store.define(campaign, None, PETS | {"name": "Two"}, instead_of=1)

    with pytest.raises(Conflict, match="Version 2"):
        store.define(campaign, None, PETS | {"name": "Three"}, instead_of=1)
    assert store.define(campaign, None, PETS | {"name": "Two"}, instead_of=1).version == 2
    assert store.define(campaign, None, PETS | {"name": "Three"}).version == 3
