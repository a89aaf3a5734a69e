"""Images of a dataset by filter and order: pages are bounded and follow one another."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from labeling.datasets import image_ranks
from labeling.datasets.image_orders import COLUMNS, RANKS
from labeling.follow_ups import asking
from labeling.models import Dataset, GivenLabel, ImageRank, Item, Job, Settlement, User
from labeling.reports import image_browser, image_page
from labeling.reports.image_browser import Browser, ImageFilter
from tests import factories
from tests.cases import for_each
from tests.labeling import crowd

COOT = "n02018207"


def browser(user: User, dataset: Dataset, **chosen) -> Browser:
    campaigns = image_browser.watched_campaigns(user, dataset)
    predictions = image_browser.predictions_on(user, dataset)
    return Browser(dataset, ImageFilter(**chosen), campaigns, predictions)


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
    monkeypatch.setattr(image_browser, "SCAN_IMAGES", 2)
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
        ({"campaign": "coots"}, ["coots/000.png", "coots/001.png", "coots/002.png", "plain.png"]),
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


def walk(looking: Browser, size: int = 3) -> list[int]:
    """Return the ids of all images from the first page on."""
    ids, after = [], None
    while True:
        page = looking.page(after=after, size=size)
        ids += [image.pk for image in page.images]
        after = page.after
        if after is None:
            return ids


def walk_back(looking: Browser, size: int = 3) -> list[int]:
    """Return the ids of all images from the last page back to the first, in order."""
    ids: list[int] = []
    before = 0
    while before is not None:
        page = looking.page(before=before, size=size)
        ids = [image.pk for image in page.images if image.pk not in ids] + ids
        before = page.before
    return ids


@pytest.fixture
def stored(monkeypatch, run_jobs):
    """Sorts a dataset by the job, two images at a time."""

    def sort(dataset: Dataset) -> None:
        monkeypatch.setattr(image_ranks, "BLOCK", 2)
        image_ranks.enqueue_sort(dataset)
        run_jobs()
        dataset.refresh_from_db()
        assert dataset.sorted_at is not None

    return sort


@pytest.mark.parametrize("order", list(RANKS))
def test_the_stored_order_is_that_of_a_small_dataset(alice, many, order, stored, monkeypatch):
    small = [image.pk for image in browser(alice, many, order=order).page().images]
    stored(many)
    assert browser(alice, many, order=order).order.is_stored
    for scan in (3, 2_000):
        monkeypatch.setattr(image_browser, "SCAN_IMAGES", scan)
        looking = browser(alice, many, order=order)
        assert walk(looking) == walk_back(looking) == small


@pytest.mark.parametrize("order", list(RANKS))
def test_sorting_again_follows_what_people_said_since(alice, many, order, stored, monkeypatch):
    stored(many)
    settled = Settlement.objects.filter(question__item__image__name="coots/001.png")
    settled.update(value={"key": "Aaa"}, probability=0.2)
    GivenLabel.objects.all().delete()
    many.images.filter(name="more/3.png").delete()
    Dataset.objects.filter(pk=many.pk).update(sort_queued_at=None)
    many.refresh_from_db()
    stored(many)

    by_stored = names(alice, many, order=order)
    monkeypatch.setattr(image_ranks, "BLOCK", 2_000)
    assert by_stored == names(alice, many, order=order)
    assert by_stored.index("coots/001.png") < by_stored.index("coots/000.png")


def test_a_dataset_is_not_sorted_again_soon(many, stored):
    stored(many)
    image_ranks.enqueue_sort(many)
    assert Job.objects.filter(kind=image_ranks.KIND).count() == 1
    Dataset.objects.filter(pk=many.pk).update(sort_queued_at=timezone.now() - timedelta(hours=1))
    many.refresh_from_db()
    image_ranks.enqueue_sort(many)
    assert Job.objects.filter(kind=image_ranks.KIND).count() == 2


@pytest.fixture
def two_campaigns(alice, ranked, stored):
    """A second campaign says zebra of the images that the first one knows."""
    dataset = ranked.dataset
    second = factories.make_campaign(alice, dataset, name="zebras", images=1)
    stored(dataset)
    ImageRank.objects.bulk_create(
        ImageRank(
            dataset=dataset, campaign=second, image_id=row.image_id, label="0zebra", doubt=row.doubt
        )
        for row in ImageRank.objects.filter(campaign=ranked)
    )
    return second


@for_each("order", list(RANKS))
@for_each("scan", [1, 2, 2_000])
def test_an_image_of_two_campaigns_has_one_place(alice, two_campaigns, order, scan, monkeypatch):
    monkeypatch.setattr(image_browser, "SCAN_IMAGES", scan)
    looking = browser(alice, two_campaigns.dataset, order=order)
    ids = sorted(two_campaigns.dataset.images.values_list("pk", flat=True))

    assert sorted(walk(looking)) == ids
    assert walk_back(looking) == walk(looking)


def test_the_campaigns_label_comes_before_the_known_one(alice, two_campaigns, monkeypatch):
    images = two_campaigns.dataset.images
    GivenLabel.objects.create(item=Item.objects.get(image__name="coots/000.png"), key="aaa")
    ImageRank.objects.filter(image=images.get(name="coots/000.png"), campaign=None).update(
        label="0aaa"
    )
    for block in (2, 2_000):
        monkeypatch.setattr(image_ranks, "BLOCK", block)
        by_label = names(alice, two_campaigns.dataset, order="label")
        assert by_label[:2] == ["plain.png", "coots/000.png"]


def test_people_without_a_campaign_see_the_order_of_known_labels(alice, bob, two_campaigns):
    Dataset.objects.filter(pk=two_campaigns.dataset.pk).update(owner=bob)
    ids = list(two_campaigns.dataset.images.order_by("pk").values_list("pk", flat=True))
    plain = two_campaigns.dataset.images.get(name="plain.png").pk

    by_label = [
        image.pk for image in browser(bob, two_campaigns.dataset, order="label").page().images
    ]
    doubtful = browser(bob, two_campaigns.dataset, order="doubtful")
    assert by_label == [plain, *(pk for pk in ids if pk != plain)]
    assert [image.pk for image in doubtful.page().images] == ids
    foreign = ImageRank.objects.filter(campaign=two_campaigns).earliest("pk")
    assert [image.pk for image in doubtful.page(after=-foreign.pk).images] == ids


@pytest.mark.parametrize("order", list(RANKS))
def test_a_rare_match_is_found_in_pieces(alice, ranked, order, stored, monkeypatch):
    stored(ranked.dataset)
    monkeypatch.setattr(image_browser, "SCAN_IMAGES", 2)
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


def test_the_neighbours_are_in_the_order(alice, ranked):
    looking = browser(alice, ranked.dataset, order="doubtful")
    ids = [image.pk for image in looking.page().images]
    middle = ranked.dataset.images.get(pk=ids[1])

    assert looking.neighbour(middle, back=True) == ids[0]
    assert looking.neighbour(middle, back=False) == ids[2]
    last = ranked.dataset.images.get(pk=ids[-1])
    assert looking.neighbour(last, back=True) == ids[-2]
    assert looking.neighbour(last, back=False) is None


EVERY_FILTER = {
    "q": "coots",
    "label": COOT,
    "state": "disputed",
    "campaign": "coots",
    "query": "coot",
    "prediction": COOT,
    "least_px": 5,
}


@pytest.mark.parametrize("order", [*COLUMNS, *RANKS])
def test_no_query_counts_skips_or_reads_the_whole_dataset(alice, voted, order, stored):
    stored(voted.dataset)
    middle = voted.dataset.images.order_by("pk")[1]
    for chosen in ({}, EVERY_FILTER):
        looking = browser(alice, voted.dataset, order=order, **chosen)
        with CaptureQueriesContext(connection) as queries:
            looking.page(after=middle.pk)
            looking.page(before=middle.pk)
            looking.neighbour(middle, back=True)
            looking.neighbour(middle, back=False)
        for query in queries:
            sql = query["sql"]
            assert "COUNT(" not in sql
            assert "OFFSET" not in sql
            # The images of a window are read by their ids.
            assert "LIMIT" in sql or '"labeling_image"."id" IN (' in sql or '"id" =' in sql
            if connection.vendor == "sqlite":
                _check_plan(sql)


def test_the_page_of_an_image_reads_the_questions_of_its_items_only(alice, voted):
    campaigns = image_browser.watched_campaigns(alice, voted.dataset)
    with CaptureQueriesContext(connection) as queries:
        image_page.facts(alice, voted.dataset.images.earliest("pk"), campaigns)
    statements = [query["sql"] for query in queries if 'FROM "labeling_question"' in query["sql"]]

    assert statements
    for sql in statements:
        if connection.vendor == "sqlite":
            _check_plan(sql.partition(" ORDER BY ")[0])


def _check_plan(sql: str) -> None:
    """Every table is searched by an index, and the images come in the order of one."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        steps = [row[3] for row in cursor.fetchall()]
    window = "IN (SELECT" in sql
    for step in steps:
        # That index has all questions of a campaign.
        assert "question_by_state_and_id" not in step, (step, sql)
        assert not step.startswith("SCAN labeling_") or "CONSTANT" in step, (step, sql)
        # The at most SCAN images of a window are sorted once more, as are those of each campaign.
        assert window or "UNION ALL" in sql or "ORDER BY" not in step, (step, sql)
