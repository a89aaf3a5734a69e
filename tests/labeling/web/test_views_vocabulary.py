"""What the pages and the API do with a dataset's vocabulary."""

import copy
import re

import pytest

from labeling.datasets import vocabulary_store
from labeling.models import Campaign
from labeling.vocabulary.reading import build, parse, shipped
from labeling.vocabulary.types import PartVocabulary
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in, text_of, upload
from tests.labeling.vocabulary.test_types import SMALL

PAGE = "/datasets/pond/vocabulary/"
API = "/api/v1/datasets/pond/vocabulary/"
DOG = f"{PAGE}categories/n02084071/"


@pytest.fixture
def small(alice, dataset):
    return vocabulary_store.add_version(dataset, SMALL, alice)


def dog_form(version: int = 1, **changes) -> dict:
    """The form of the dog as a browser sends it, with a row for each part and an empty one."""
    rows = [
        {"key": "head", "name": "head", "ORDER": 1},
        {
            "key": "leg",
            "name": "leg",
            "several": "on",
            "aliases": "limb",
            "merge": "left: luleg, llleg\r\nright: ruleg",
            "mirror": "leg",
            "ORDER": 2,
        },
        {"key": "", "name": ""},
    ]
    sent = {
        "name": "dog",
        "aliases": "hound",
        "guidance": "",
        "version": version,
        "parts-TOTAL_FORMS": 3,
        "parts-INITIAL_FORMS": 2,
    }
    sent |= {f"parts-{n}-{key}": value for n, row in enumerate(rows) for key, value in row.items()}
    return sent | changes


def test_a_dataset_without_one_offers_the_shipped_one_by_one_click(desk, dataset):
    assert "No vocabulary yet" in text_of(desk.get(PAGE))
    assert PAGE in text_of(desk.get("/datasets/pond/"))

    page = text_of(desk.post(f"{PAGE}start/", follow=True))

    assert "Version 1 of the vocabulary is now the latest" in page
    assert vocabulary_store.current_vocabulary(dataset) == shipped()


def test_the_page_shows_categories_parts_pieces_and_guidance(desk, dataset, alice):
    vocabulary_store.start(dataset, alice)

    page = text_of(desk.get(f"{PAGE}?open=1"))

    assert "13 categories" in page
    assert "left front: <code>lfuleg, lflleg</code>" in page
    assert "Outline at least 6 windows, spread across the fuselage." in page
    assert page.count("<details id=") == page.count(" open>") == 13


def test_the_page_says_what_a_wnid_means_and_which_means_nothing(desk, dataset, alice, settings):
    settings.ASSAY_GLOSSARY = f"{__name__}.glossary"
    raw = copy.deepcopy(SMALL)
    raw["categories"] += [
        {"key": "n99999999", "name": "yeti", "like": "dog"},
        {"key": "myth", "name": "big yeti", "like": "dog"},
    ]
    vocabulary_store.add_version(dataset, raw, alice)

    page = text_of(desk.get(PAGE))
    settings.ASSAY_GLOSSARY = ""
    without = text_of(desk.get(PAGE))

    assert "In WordNet: a member of the genus Canis" in page
    assert page.count("not in WordNet") == 2
    assert "not in WordNet" not in without


def glossary(keys):
    """A glossary that knows the dog."""
    return [{"key": "n02084071", "name": "dog", "definition": "a member of the genus Canis"}]


def test_the_page_takes_few_queries_however_many_versions_there_are(
    desk, dataset, alice, django_assert_max_num_queries
):
    for number in range(6):
        raw = copy.deepcopy(SMALL) | {"title": f"Small {number}"}
        vocabulary_store.add_version(dataset, raw, alice)

    with django_assert_max_num_queries(12):
        page = text_of(desk.get(PAGE))

    assert page.count(" 1 changed") == 5


@pytest.mark.parametrize("form", ["file", "text"])
def test_a_whole_one_becomes_the_next_version(desk, dataset, small, form):
    raw = copy.deepcopy(SMALL)
    raw["categories"][0]["parts"].append({"key": "tail"})
    text = build(raw).as_yaml()
    file = upload("v.yaml", text)

    page = text_of(
        desk.post(PAGE, {"file": file} if form == "file" else {"text": text}, follow=True)
    )

    assert "Version 2 of the vocabulary is now the latest" in page
    assert "tail" in vocabulary_store.current_vocabulary(dataset).category("dog").by_key


@for_each(
    ("text", "message"),
    [
        ("", "Choose a file, or write the vocabulary as text."),
        ("categories: [", "line 1: not YAML"),
        ("categories:\n- key: n1\n  like: cow", "line 3, category 1 (n1): is like &#x27;cow&#x27;"),
        ("title: \0", "Null characters are not allowed"),
    ],
)
def test_a_fault_is_named_with_its_line_and_nothing_is_changed(desk, dataset, small, text, message):
    page = text_of(desk.post(PAGE, {"text": text, "version": 1}))

    assert message in page
    assert "Nothing was changed" in page
    assert dataset.vocabularies.count() == 1


@for_each(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"#" * 2_000_001, "larger than 2 MB"),
        (b"#" * 500_001, "at most 500,000 fit"),
        (b"", "has no keys"),
    ],
)
def test_a_file_that_is_none_is_refused(desk, dataset, small, content, message):
    page = text_of(desk.post(PAGE, {"file": upload("v.yaml", content)}))

    assert message in page
    assert dataset.vocabularies.count() == 1


def test_what_was_opened_before_another_version_came_is_refused(desk, dataset, small, alice):
    vocabulary_store.start(dataset, alice)
    newer = build(SMALL | {"title": "Other"}).as_yaml()

    page = text_of(desk.post(PAGE, {"text": newer, "version": 1}))
    row = text_of(desk.post(DOG, dog_form(guidance="All breeds.")))

    assert "Version 2 of the vocabulary is newer than" in page
    assert "Version 2 of the vocabulary is newer than" in row
    assert dataset.vocabularies.count() == 2


def test_a_form_that_changes_nothing_makes_no_version(desk, dataset, small):
    response = desk.post(DOG, dog_form())

    assert response.status_code == 302
    assert dataset.vocabularies.count() == 1


def test_the_form_of_every_shipped_category_gives_the_category_back(desk, dataset, alice):
    vocabulary_store.start(dataset, alice)
    for category in shipped().categories:
        page = desk.get(f"{PAGE}categories/{category.key}/")
        sent = {"version": 1}
        for form in (page.context["form"], page.context["parts"].management_form):
            sent |= {field.html_name: field.value() or "" for field in form}
        for form in page.context["parts"]:
            values = {field.html_name: field.value() for field in form}
            sent |= {key: value for key, value in values.items() if value not in (None, False)}

        assert desk.post(f"{PAGE}categories/{category.key}/", sent).status_code == 302
    assert dataset.vocabularies.count() == 1


def test_a_part_is_changed_added_moved_and_taken_out(desk, dataset, small):
    changes = {
        "guidance": "All breeds.",
        "parts-0-DELETE": "on",
        "parts-1-merge": "left: luleg, llleg\nright: ruleg, rlleg",
        "parts-1-holes": "on",
        "parts-2-key": "tail",
        "parts-2-aliases": "brush, stern",
        "parts-2-ORDER": 1,
    }

    page = text_of(desk.post(DOG, dog_form(**changes), follow=True))

    assert "Version 2" in page
    dog = vocabulary_store.current_vocabulary(dataset).category("dog")
    assert dog.guidance == "All breeds."
    assert [part.key for part in dog.parts] == ["tail", "leg"]
    assert dog.part_of("rlleg") == ("leg", "right")
    assert dog.part_of("stern") == ("tail", "")
    assert dog.part("leg").holes
    # The cat's parts were its own copy.
    assert vocabulary_store.current_vocabulary(dataset).category("cat").part("head") is not None


@for_each(
    ("changes", "message"),
    [
        ({"parts-1-merge": "left: leg"}, "Merges into itself: leg is a piece of left"),
        ({"parts-1-merge": "luleg"}, "Line 1 has no colon"),
        ({"parts-1-merge": "left: a\nleft: b"}, "Line 2 repeats left"),
        ({"parts-1-aliases": "head"}, "The name head is also a name of the part head"),
        ({"parts-1-mirror": "wing"}, "Its mirror wing is not a part of this category"),
        ({"parts-1-several": ""}, "Merge makes 2 instances"),
        ({"parts-1-key": ""}, "Key is missing. Fill it in."),
        ({"parts-1-key": "Leg 1"}, "has other characters than"),
        ({"parts-2-key": "head"}, "The key head occurs twice"),
        ({"parts-2-name": "tail"}, "Key is missing. Fill it in."),
        ({"aliases": "cat"}, "The name cat means the category cat already"),
        ({"name": ""}, "Name is missing. Fill it in."),
        ({"parts-0-DELETE": "on", "parts-1-DELETE": "on"}, "Has no parts; list them"),
    ],
)
def test_a_fault_is_said_at_its_field_and_what_was_typed_stays(
    desk, dataset, small, changes, message
):
    page = text_of(desk.post(DOG, dog_form(**changes, **{"parts-0-guidance": "Kept words."})))

    assert message in page
    assert "Nothing was saved" in page
    assert "Kept words." in page
    assert dataset.vocabularies.count() == 1


def test_a_new_category_is_the_last_one_and_may_be_the_first(desk, dataset):
    sent = {
        "key": "n02084071",
        "name": "dog",
        "parts-TOTAL_FORMS": 1,
        "parts-INITIAL_FORMS": 0,
        "parts-0-key": "head",
    }

    desk.post(f"{PAGE}new/", sent)
    desk.post(f"{PAGE}new/", sent | {"key": "n02121620", "name": "cat", "version": 1})
    page = text_of(desk.post(f"{PAGE}new/", sent | {"name": "hound", "version": 2}))

    assert [c.name for c in vocabulary_store.current_vocabulary(dataset).categories] == [
        "dog",
        "cat",
    ]
    assert "The name n02084071 means the category dog already" in page


def test_a_category_is_taken_out_but_not_the_last(desk, dataset, small):
    desk.post(f"{DOG}remove/")
    page = text_of(desk.post(f"{PAGE}categories/n02121620/remove/", follow=True))

    assert [c.name for c in vocabulary_store.current_vocabulary(dataset).categories] == ["cat"]
    assert "has no categories" in page


def test_a_category_that_is_not_there_is_not_found(desk, dataset, small):
    assert desk.get(f"{PAGE}categories/n9/").status_code == 404
    assert desk.post(f"{PAGE}categories/n9/remove/").status_code == 404


def test_the_page_writes_the_text_of_a_version_once(
    desk, small, monkeypatch, django_assert_num_queries
):
    first = text_of(desk.get(PAGE))
    monkeypatch.setattr(PartVocabulary, "as_yaml", lambda self: "written again")

    with django_assert_num_queries(8):
        second = text_of(desk.get(PAGE))

    written = re.compile(r"<textarea.*?</textarea>", re.S)
    assert "luleg" in written.findall(first)[0]
    assert written.findall(second) == written.findall(first)


def test_a_version_says_what_it_changed_and_comes_down_as_yaml(desk, dataset, small):
    desk.post(DOG, dog_form(guidance="All breeds.", **{"parts-0-DELETE": "on"}))

    page = text_of(desk.get(f"{PAGE}2/"))
    file = desk.get(f"{PAGE}2/download")

    assert "What changed since version 1" in page
    assert "All breeds." in page
    assert "dog: head" in page
    assert parse(file.content.decode()) == vocabulary_store.current_vocabulary(dataset)
    assert file["Content-Disposition"] == 'attachment; filename="pond-vocabulary-2.yaml"'
    assert desk.get(f"{PAGE}9/").status_code == 404


def test_markup_in_its_words_is_shown_as_text(desk, dataset, alice):
    raw = copy.deepcopy(SMALL)
    raw["categories"][0]["parts"][0] |= {"name": "<b>head", "guidance": '"><script>'}
    raw["categories"][0]["parts"][1]["merge"] = {"items": ["x"], "<i>": ["y"]}
    vocabulary_store.add_version(dataset, raw, alice)

    for path in (PAGE, DOG, f"{PAGE}1/"):
        page = text_of(desk.get(path))
        assert "&lt;b&gt;head" in page
        assert "<b>head" not in page
        assert '"><script>' not in page
    assert "items: <code>x</code>" in text_of(desk.get(PAGE))


def test_a_colleague_reads_and_changes_nothing(dataset, alice, small):
    rita = factories.make_user("rita", is_researcher=True)
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)
    factories.join(rita, campaign, "researcher")
    client = logged_in(rita)

    page = text_of(client.get(PAGE))

    assert "Change dog" not in page
    assert "Replace the vocabulary" not in page
    for path in (PAGE, f"{PAGE}start/", DOG, f"{DOG}remove/", f"{PAGE}new/"):
        assert client.post(path, dog_form()).status_code == 403
    assert client.get(f"{PAGE}1/").status_code == 200
    assert dataset.vocabularies.count() == 1


def test_the_page_says_which_campaigns_ask_by_which_version(desk, dataset, alice, small):
    mine = factories.make_campaign(alice, dataset, "coots", images=1)
    other_campaign = factories.make_campaign(alice, dataset, "secret", images=1)
    other_campaign.memberships.all().delete()
    Campaign.objects.filter(pk__in=[mine.pk, other_campaign.pk]).update(vocabulary=small)
    vocabulary_store.start(dataset, alice)

    page = text_of(desk.get(PAGE))

    assert f'Used by <a href="/campaigns/coots/">{mine.title}' in page
    assert "Used by 1 campaign of other users" in page
    assert "/campaigns/secret/" not in page
    assert "Switch to version 2" in page
    assert 'href="/campaigns/coots/edit/"' in page


# The API


def test_programs_read_and_write_versions(desk, dataset):
    assert desk.get(API).status_code == 404

    made = desk.put(API, {"vocabulary": SMALL}, content_type="application/json")
    again = desk.put(API, {"vocabulary": SMALL}, content_type="application/json")

    assert made.status_code == again.status_code == 200
    assert made.json()["version"] == again.json()["version"] == 1
    assert build(desk.get(API).json()["vocabulary"]) == build(SMALL)
    assert [row["version"] for row in desk.get(f"{API}versions/").json()["results"]] == [1]
    assert desk.get(f"{API}versions/1/").json()["sha256"] == build(SMALL).digest()
    assert desk.get(f"{API}versions/2/").status_code == 404


def test_programs_are_told_every_fault(desk, dataset):
    raw = copy.deepcopy(SMALL)
    raw["categories"][1]["like"] = "cow"
    raw["categories"][0]["parts"][1]["mirror"] = "wing"

    refused = desk.put(API, {"vocabulary": raw}, content_type="application/json")

    assert refused.status_code == 400
    assert refused.json()["code"] == "bad_vocabulary"
    assert len(refused.json()["errors"]) == 2
    assert not dataset.vocabularies.exists()


def test_programs_undo_nothing_unseen(desk, dataset, alice, small):
    vocabulary_store.start(dataset, alice)
    body = {"vocabulary": SMALL | {"title": "Other"}, "version": 1}

    assert desk.put(API, body, content_type="application/json").status_code == 409
