"""Images of a dataset by filter and order: pages are bounded and follow one another."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling.follow_ups import asking
from labeling.models import Dataset, GivenLabel, Item, Settlement, User
from labeling.reports import image_browser
from labeling.reports.image_browser import Browser, ImageFilter
from tests import factories
from tests.cases import for_each
from tests.labeling import crowd

COOT = "n02018207"


def browser(user: User, dataset: Dataset, **chosen) -> Browser:
    campaigns = image_browser.watched_campaigns(user, dataset)
    return Browser(user, dataset, ImageFilter(**chosen), campaigns)


def names(user: User, dataset: Dataset, **chosen) -> list[str]:
    return [image.name for image in browser(user, dataset, **chosen).page().images]


@pytest.fixture
def seven(dataset):
    for number in range(7):
        factories.make_image(dataset, f"{number}.png", seed=number)
    dataset.images.filter(name="3.png").update(bytes=9_000, width=900, height=900)
    dataset.images.filter(name="5.png").update(bytes=9_000, queries=[["n1", "Bläßhuhn am See"]])
    return dataset


@for_each(
    ("order", "expected"),
    [
        ("name", "0123456"),
        ("-name", "6543210"),
        ("added", "0123456"),
        ("-added", "6543210"),
        ("-size", None),
        ("size", None),
    ],
)
def test_pages_follow_one_another_in_every_order(alice, seven, order, expected):
    whole = names(alice, seven, order=order)
    forward, after = [], None
    looking = browser(alice, seven, order=order)
    while True:
        page = looking.page(after=after, size=3)
        forward += [image.name for image in page.images]
        last, after = page, page.after
        if after is None:
            break
    back = looking.page(before=last.before, size=3)

    assert forward == whole
    assert expected is None or whole == [f"{number}.png" for number in expected]
    assert [image.name for image in back.images] == whole[3:6]
    assert back.after == back.images[-1].pk
    assert [row.name for row in looking.page(before=back.before, size=3).images] == whole[:3]


def test_equal_sizes_are_shown_once_each(alice, seven):
    ordered = names(alice, seven, order="-size")
    assert ordered[:2] == ["5.png", "3.png"]
    assert sorted(ordered) == [f"{number}.png" for number in range(7)]


@for_each(
    ("chosen", "expected"),
    [
        ({"q": "3"}, ["3.png"]),
        ({"least_px": 500}, ["3.png"]),
        ({"query": "bläßhuhn".capitalize()}, ["5.png"]),
        ({"query": "whale"}, []),
        ({"campaign": "none"}, []),
    ],
)
def test_images_are_filtered_by_their_facts(alice, seven, chosen, expected):
    assert names(alice, seven, **chosen) == expected


def test_a_rare_match_is_found_piece_by_piece(alice, seven, monkeypatch):
    monkeypatch.setattr(image_browser, "SCAN", 2)
    looking = browser(alice, seven, q="5")

    first = looking.page()
    second = looking.page(after=first.after)
    third = looking.page(after=second.after)
    beyond = looking.page(after=seven.images.get(name="6.png").pk)

    assert (first.images, first.seen_to) == ([], "1.png")
    assert second.seen_to == "3.png"
    assert [image.name for image in third.images] == ["5.png"]
    assert (beyond.images, beyond.before, beyond.after) == ([], 0, None)
    assert [row.name for row in looking.page(before=beyond.before).images] == ["5.png"]


@pytest.fixture
def voted(alice, bob, dataset):
    """Two people: 000 is yes, 001 is no, 002 is disputed, plain is asked of nobody yet."""
    campaign = factories.make_campaign(alice, dataset, images=3, policy={"votes": 2})
    crowd.make_gold(campaign, alice, ["yes"])
    for user in (factories.person("bob"), factories.person("dora")):
        factories.join(user, campaign)
        values = {"coots/000.png": "yes", "coots/001.png": "no"}
        differs = "yes" if user.username == "bob" else "no"
        rows = campaign.questions.exclude(state="gold").select_related("item__image")
        votes = {row.pk: values.get(row.item.image.name, differs) for row in rows}
        gold = campaign.questions.filter(state="gold").values_list("pk", flat=True)
        crowd.vote(user, campaign, votes | dict.fromkeys(gold, "yes"))
    factories.make_image(dataset, "plain.png")
    asking.add_questions(campaign, [("plain.png", COOT)])
    return campaign


@for_each(
    ("chosen", "expected"),
    [
        ({"label": "american coot"}, ["coots/000.png"]),
        ({"label": COOT}, ["coots/000.png"]),
        ({"label": "whale"}, []),
        ({"state": "disputed"}, ["coots/002.png"]),
        ({"state": "undecided"}, ["coots/002.png", "plain.png"]),
        ({"state": "settled"}, ["coots/000.png", "coots/001.png"]),
        ({"campaign": "coots", "q": "plain"}, ["plain.png"]),
        (
            {"campaign": "coots"},
            ["coots/000.png", "coots/001.png", "coots/002.png", "plain.png"],
        ),
    ],
)
def test_images_are_filtered_by_what_people_said(alice, voted, chosen, expected):
    assert names(alice, voted.dataset, **chosen) == expected


def test_doubtful_are_settled_below_95_percent(alice, voted):
    rows = Settlement.objects.filter(question__state="settled").order_by("pk")
    rows.update(probability=0.99)
    assert names(alice, voted.dataset, state="doubtful") == []
    rows.filter(question__item__image__name="coots/001.png").update(probability=0.9)
    assert names(alice, voted.dataset, state="doubtful") == ["coots/001.png"]


def test_known_labels_count_as_labels(alice, voted):
    image = voted.dataset.images.get(name="plain.png")
    item = Item.objects.get(image=image)
    GivenLabel.objects.create(item=item, key="n02084071")
    assert names(alice, voted.dataset, label="n02084071") == ["plain.png"]


def test_the_owner_of_a_dataset_who_annotates_learns_nothing(bob, voted):
    """Bob owns the dataset and only labels in the campaign on it."""
    Dataset.objects.filter(pk=voted.dataset.pk).update(owner=bob)

    assert image_browser.watched_campaigns(bob, voted.dataset) == []
    for state in image_browser.STATE_WORDS:
        assert names(bob, voted.dataset, state=state) == []
    assert names(bob, voted.dataset, label=COOT) == []


def test_a_blocked_reviewer_sees_no_answers(bob, voted):
    voted.memberships.filter(user=bob).update(role="reviewer", stage="blocked")
    assert image_browser.watched_campaigns(bob, voted.dataset) == []


@pytest.fixture
def ranked(alice, voted):
    """Images in the order of their ids, with classes and doubts of their labels."""
    settled = Settlement.objects.filter(question__state="settled")
    settled.filter(question__item__image__name="coots/000.png").update(probability=0.99)
    settled.filter(question__item__image__name="coots/001.png").update(probability=0.9)
    item = Item.objects.get(image__name="plain.png")
    GivenLabel.objects.create(item=item, key="aardvark")
    return voted


@pytest.fixture
def many(ranked):
    """Nine more, of which nobody said anything."""
    for number in range(9):
        factories.make_image(ranked.dataset, f"more/{number}.png", seed=100 + number)
    return ranked.dataset


def test_images_are_ordered_by_what_people_said(alice, ranked):
    by_label = names(alice, ranked.dataset, order="label")
    doubtful = names(alice, ranked.dataset, order="doubtful")

    assert by_label[:2] == ["plain.png", "coots/000.png"]
    assert doubtful[:3] == ["coots/002.png", "coots/001.png", "coots/000.png"]
    assert sorted(doubtful) == sorted(by_label)


def test_the_class_that_people_named_is_a_label(alice, ranked):
    settled = Settlement.objects.filter(question__item__image__name="coots/001.png")
    settled.update(value={"key": "Zebra"})
    by_label = names(alice, ranked.dataset, order="label")
    assert by_label[:3] == ["plain.png", "coots/000.png", "coots/001.png"]


@for_each("order", list(image_browser.BLOCK_ORDERS))
def test_pages_of_blocks_follow_one_another(alice, many, order, monkeypatch):
    monkeypatch.setattr(image_browser, "SCAN", 5)
    looking = browser(alice, many, order=order)
    pages, after = [], None
    while True:
        page = looking.page(after=after, size=3)
        pages.append([image.pk for image in page.images])
        after = page.after
        if after is None:
            break
    back, before = [], 0
    while before is not None and len(back) <= len(pages):
        page = looking.page(before=before, size=3)
        back.insert(0, [image.pk for image in page.images])
        before = page.before

    ids = [pk for page in pages for pk in page]
    assert sorted(ids) == sorted(many.images.values_list("pk", flat=True))
    blocks = [pk // 5 for pk in ids]
    assert blocks == sorted(blocks)
    assert [pk for page in back for pk in page][-3:] == ids[-3:]
    assert {pk for page in back for pk in page} == set(ids)


@for_each("order", list(image_browser.BLOCK_ORDERS))
def test_a_block_without_matches_leads_to_the_next(alice, ranked, order, monkeypatch):
    monkeypatch.setattr(image_browser, "SCAN", 2)
    looking = browser(alice, ranked.dataset, order=order, q="plain")
    after, names_of = None, []
    for _ in range(20):
        page = looking.page(after=after)
        names_of += [image.name for image in page.images]
        assert bool(page.seen_to) == (page.after is not None)
        after = page.after
        if after is None:
            break
    assert names_of == ["plain.png"]
    assert after is None


def test_the_neighbours_in_a_block_are_in_its_order(alice, ranked):
    looking = browser(alice, ranked.dataset, order="doubtful")
    ids = [image.pk for image in looking.page().images]
    middle = ranked.dataset.images.get(pk=ids[1])

    assert looking.beside(middle) == {"previous": ids[0], "next": ids[2]}
    last = ranked.dataset.images.get(pk=ids[-1])
    assert looking.beside(last) == {"previous": ids[-2], "next": None}


@for_each("order", list(image_browser.BLOCK_ORDERS))
def test_a_page_of_a_block_asks_little_and_by_indexes(
    alice, ranked, order, django_assert_max_num_queries
):
    middle = ranked.dataset.images.order_by("pk")[1]
    for chosen in ({}, EVERY_FILTER):
        looking = browser(alice, ranked.dataset, order=order, **chosen)
        with django_assert_max_num_queries(6) as queries:
            looking.page(after=middle.pk)
        for query in queries:
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                    steps = [row[3] for row in cursor.fetchall()]
                assert not [step for step in steps if step.startswith("SCAN labeling_")], steps


EVERY_FILTER = {
    "q": "coots",
    "label": COOT,
    "state": "disputed",
    "campaign": "coots",
    "query": "coot",
    "prediction": COOT,
    "least_px": 5,
}


@for_each("order", list(image_browser.ORDERS))
def test_no_query_counts_skips_or_reads_the_whole_dataset(alice, voted, order):
    middle = voted.dataset.images.order_by("pk")[1]
    for chosen in ({}, EVERY_FILTER):
        looking = browser(alice, voted.dataset, order=order, **chosen)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            looking.page(after=middle.pk)
            looking.page(before=middle.pk)
            looking.beside(middle)
        for query in queries:
            sql = query["sql"]
            assert "COUNT(" not in sql
            assert "OFFSET" not in sql
            assert "LIMIT" in sql or "EXISTS" in sql[:30] or '"id" =' in sql
            if connection.vendor == "sqlite":
                _check_plan(sql)


def _check_plan(sql: str) -> None:
    """Every table is searched by an index, and the images come in the order of one."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        steps = [row[3] for row in cursor.fetchall()]
    window = "IN (SELECT" in sql
    for step in steps:
        assert not step.startswith("SCAN labeling_") or "CONSTANT" in step, (step, sql)
        # The at most SCAN images of a window are sorted once more.
        assert window or "ORDER BY" not in step, (step, sql)
