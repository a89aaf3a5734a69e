"""The list of questions turns by key: no page counts rows or passes over those before it."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling.follow_ups import asking
from labeling.reports import questions_page
from labeling.reports.questions_page import Filter
from tests import factories
from tests.cases import for_each

ALL = Filter()


@pytest.fixture
def pond(alice, dataset):
    """Seven questions: two withdrawn, one settled, four open."""
    campaign = factories.make_campaign(alice, dataset, "pond", images=7)
    pks = list(campaign.questions.order_by("pk").values_list("pk", flat=True))
    asking.withdraw_questions(campaign, pks[1:3], None, "")
    factories.put(campaign, [pks[4]], state="settled", seats_free=0)
    return campaign


def ids(page):
    return [question.pk for question in page.questions]


def all_ids(campaign, **fields):
    return list(campaign.questions.filter(**fields).order_by("pk").values_list("pk", flat=True))


def test_pages_follow_each_other_and_lead_back(pond):
    first = questions_page.page(pond, ALL, 3)
    second = questions_page.page(pond, ALL, 3, after=first.after)
    third = questions_page.page(pond, ALL, 3, after=second.after)

    assert ids(first) + ids(second) + ids(third) == all_ids(pond)
    assert (first.before, third.after) == (None, None)
    assert ids(questions_page.page(pond, ALL, 3, before=third.before)) == ids(second)
    assert questions_page.page(pond, ALL, 3, before=second.before) == first


@for_each("state", ["open", "withdrawn", "settled", "dropped"])
def test_a_state_is_listed_alone_with_its_number(pond, state):
    page = questions_page.page(pond, Filter(state=state), 3)

    expected = all_ids(pond, state=state)
    assert ids(page) == expected[:3]
    assert page.total == len(expected)


def test_gold_is_not_listed(pond):
    factories.put(pond, all_ids(pond)[:1], state="gold", seats_free=0)

    page = questions_page.page(pond, ALL, 10)

    assert ids(page) == all_ids(pond)[1:]
    assert page.total == 6


def test_beyond_the_end_is_the_last_page_and_before_the_start_the_first(pond):
    last = questions_page.page(pond, ALL, 3, after=10**15)
    first = questions_page.page(pond, ALL, 3, before=1)

    assert ids(last) == all_ids(pond)[-3:]
    assert (last.after, last.before) == (None, ids(last)[0])
    assert ids(first) == all_ids(pond)[:3]


def test_what_is_narrowed_further_is_counted_only_where_it_fits_a_page(pond):
    assert questions_page.page(pond, Filter(search="pond"), 3).total is None
    assert questions_page.page(pond, Filter(search="003"), 3).total == 1
    assert questions_page.page(pond, Filter(topic="n02018207"), 10).total == 7
    assert questions_page.page(pond, Filter(topic="none"), 10).questions == []


def test_no_page_counts_or_passes_over_rows(pond):
    with CaptureQueriesContext(connection) as queries:
        questions_page.page(pond, ALL, 3, after=all_ids(pond)[2])

    statements = [query["sql"] for query in queries][1:]
    assert len(statements) == len(questions_page.LISTED_STATES) + 4
    assert [sql for sql in statements if re.search("COUNT|OFFSET", sql)] == []


def test_the_page_shows_links_to_its_neighbours(as_alice, pond, monkeypatch):
    monkeypatch.setattr("labeling.web.views.questions.PAGE_SIZE", 3)

    first = as_alice.get("/campaigns/pond/questions/?state=open&page=2").content.decode()
    after = re.search(r"\?state=open&amp;after=(\d+)", first)
    second = as_alice.get(f"/campaigns/pond/questions/?state=open&after={after[1]}")

    assert "4 questions" in first
    assert f"?state=open&amp;before={ids(second.context['key_page'])[0]}" in second.content.decode()
    assert as_alice.get("/campaigns/pond/questions/?after=x&before=" + "9" * 40).status_code == 200


def test_a_question_that_is_settled_while_the_list_is_read_is_on_it_once(pond):
    first = pond.questions.filter(state="open").earliest("pk").pk
    moved = []

    def settle(execute, sql, params, many, context):
        rows = execute(sql, params, many, context)
        if not moved and 'FROM "labeling_question"' in sql:
            moved.append(first)
            factories.put(pond, moved, state="settled", seats_free=0)
        return rows

    with connection.execute_wrapper(settle):
        page = questions_page.page(pond, ALL, 7)

    assert ids(page).count(first) == 1
