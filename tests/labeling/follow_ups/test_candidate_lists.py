import pytest

from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.follow_ups import candidate_lists
from labeling.follow_ups.candidate_lists import CandidateRow
from labeling.models import Campaign, Candidate, Job, Verification
from labeling.quality.gold import add_gold
from tests.cases import for_each
from tests.labeling.candidates import CAT, DOG, make, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("candidate_glossary")]


def test_each_image_is_asked_about_once_and_every_query_is_kept(alice, dataset):
    rows_of_cat = rows(dataset, CAT, 3)
    twice = rows_of_cat[0]._replace(query="chat birman")
    campaign = make(alice, dataset, [*rows_of_cat, twice, rows_of_cat[0]])

    assert campaign.questions.count() == 3
    first = campaign.questions.get(item__image__name="n01/00.png")
    assert candidate_lists.queries_of([first.pk]) == {first.pk: ["burmese", "chat birman"]}
    assert set(campaign.questions.values_list("by_topic", "state")) == {(True, "open")}
    assert Job.objects.filter(kind="verify", campaign=campaign).count() == 1


def test_classes_come_with_what_they_are_taken_for(alice, dataset):
    campaign = make(alice, dataset, rows(dataset, CAT, 1))

    topic = campaign.topics.get()
    assert (topic.name, topic.url) == ("Burmese cat", "https://en.wikipedia.org/wiki/Burmese_cat")
    assert topic.siblings == [{"name": "Siamese cat", "definition": "another breed"}]
    assert Verification.objects.get(topic=topic).state == "asking"


def test_a_listed_class_keeps_its_own_words_and_gains_its_siblings(alice, dataset):
    campaign = make(alice, dataset, [])
    topics = [{"key": CAT, "name": "Burmese", "definition": "ours"}]

    candidate_lists.ask(campaign, rows(dataset, CAT, 1), topics)

    topic = campaign.topics.get()
    assert (topic.name, topic.definition) == ("Burmese", "ours")
    assert topic.siblings[0]["name"] == "Siamese cat"


def test_more_candidates_leave_what_is_asked_and_add_their_queries(alice, dataset):
    campaign = make(alice, dataset, rows(dataset, CAT, 2))
    campaign.topics.update(guidance="mine", siblings=[])

    added = candidate_lists.ask(campaign, rows(dataset, CAT, 3, query="more"))

    assert (added.created, added.existing) == (1, 2)
    assert Candidate.objects.filter(question__campaign=campaign).count() == 5
    topic = campaign.topics.get()
    # A researcher's own words and choices stay.
    assert (topic.guidance, topic.siblings) == ("mine", [])


@for_each(
    ("wrong", "message"),
    [
        (CandidateRow("gone.png", CAT, "", "Line 7"), "Line 7: 'gone.png' is not in pond"),
        (
            CandidateRow("n01/00.png", "n99", "", "Line 7"),
            "Line 7: the class 'n99' has no description",
        ),
    ],
)
def test_a_candidate_at_fault_refuses_all_of_them_by_its_line(alice, dataset, wrong, message):
    rows_of_cat = rows(dataset, CAT, 2)

    with pytest.raises(Refusal, match=message) as refused:
        make(alice, dataset, [*rows_of_cat, wrong])

    assert refused.value.field == "candidates"
    assert not Campaign.objects.exists()
    assert not Candidate.objects.exists()


def test_gold_is_no_candidate(alice, dataset):
    rows_of_cat = rows(dataset, CAT, 2)
    campaign = make(alice, dataset, rows_of_cat[:1])
    add_gold(campaign, alice, [{"image": "n01/01.png", "topic": CAT, "answer": "yes"}])

    with pytest.raises(Refusal, match="is gold"):
        candidate_lists.ask(campaign, rows_of_cat)

    assert campaign.questions.get(state="gold").by_topic


def test_the_same_image_may_be_a_candidate_of_two_classes(alice, dataset):
    rows_of_cat = rows(dataset, CAT, 1)
    campaign = make(
        alice, dataset, [*rows_of_cat, rows_of_cat[0]._replace(topic=DOG, query="whippet")]
    )

    assert sorted(campaign.questions.values_list("topic", flat=True)) == [CAT, DOG]


@for_each(
    "content",
    [
        "image,wnid,query\na.png,n01,burmese cat\nb.png,n01,\n",
        "a.png,n01,burmese cat\nb.png,n01\n",
        "query,image,wnid\nburmese cat,a.png,n01\n,b.png,n01\n",
        '{"image": "a.png", "wnid": "n01", "query": "burmese cat"}\n'
        '{"image": "b.png", "wnid": "n01"}\n',
        b"\xef\xbb\xbfa.png,n01,burmese cat\r\nb.png,n01,\r\n",
    ],
)
def test_lists_name_image_class_and_query_in_every_form(content):
    candidates = lists.read_candidates(content)

    assert [row[:3] for row in candidates] == [
        ("a.png", "n01", "burmese cat"),
        ("b.png", "n01", ""),
    ]
    assert all(row.prefix.startswith("Line ") for row in candidates)


@for_each(
    ("content", "message"),
    [
        ("a.png,n01,q\nb.png", "Line 2: wnid is missing. Write image,wnid on every line."),
        ("a.png,n01,q,w", "Line 1: 4 cells, but there are 3 columns"),
        (f"a.png,n01,{'q' * 201}", "Line 1: query is longer than 200 characters"),
        ('{"image": "a.png", "wnid": "n01", "query": 3}', "Line 1: query is not a text"),
        ('{"image": "a.png"}', "Line 1: wnid is missing"),
        ('{"image": ', "Line 1: '{\"image\": ' is not JSON"),
        ('a.png,"n01', "Line 1: not CSV"),
        (b"\xff\xfe", "not UTF-8"),
        ("a\0.png,n01", "NUL"),
    ],
)
def test_a_list_at_fault_is_refused_with_its_line(content, message):
    with pytest.raises(Refusal) as refused:
        lists.read_candidates(content)

    assert message in refused.value.message
