"""Translations: kept, shown to annotators in their language, and in no file."""

import json

import pytest

from labeling.campaigns import texts
from labeling.errors import Refusal
from labeling.models import CampaignText, Decision
from labeling.release_files import frozen
from labeling.releases import freezing
from tests.cases import for_each
from tests.clients import logged_in, text_of, upload

PAGE = "/campaigns/coots/texts/"
API = "/api/v1/campaigns/coots/texts/"


@pytest.fixture
def key(coots) -> str:
    return coots.topics.values_list("key", flat=True)[0]


@pytest.fixture
def german(coots, alice, key):
    return texts.replace(
        coots,
        alice,
        {"de": {"title": "Blässhühner", "classes": {key: {"name": "Blässhuhn", "definition": ""}}}},
    )


def test_annotators_read_their_language_and_else_the_campaigns_own(as_bob, coots, german):
    page = text_of(as_bob.get("/campaigns/coots/label/", headers={"Accept-Language": "de"}))
    english = text_of(as_bob.get("/campaigns/coots/label/"))
    home = text_of(as_bob.get("/", headers={"Accept-Language": "de"}))
    chinese = text_of(as_bob.get("/campaigns/coots/label/", headers={"Accept-Language": "zh"}))

    assert "<strong data-class>Blässhuhn</strong>?" in page
    assert '"name": "Bl\\u00e4sshuhn"' in page
    assert '<p class="label-title">Blässhühner</p>' in page
    assert "Blässhühner" in home
    assert "Blässh" not in english + chinese
    assert coots.title in english


def test_programs_read_the_campaigns_own_words(as_bob, alice, bob, coots, german, key):
    seat_page = as_bob.post(
        "/api/v1/campaigns/coots/seats/",
        {"size": 1},
        content_type="application/json",
        headers={"Accept-Language": "de"},
    ).json()
    topic = as_bob.get(f"/api/v1/campaigns/coots/topics/{key}/", headers={"Accept-Language": "de"})

    assert "Blässhuhn" not in json.dumps(seat_page, ensure_ascii=False)
    assert "Blässhuhn" not in text_of(topic)


def test_names_of_settings_are_shown_and_keys_stay(coots):
    coots.settings = {
        "question": "What is it?",
        "vocabulary": [{"key": "a", "name": "ant"}, {"key": "b", "name": "bee", "path": ["x"]}],
        "categories": {"d": {"name": "dog", "parts": [{"key": "tail", "name": "tail"}]}},
    }
    coots.languages = ["de"]
    content = {"question": "Was ist das?", "classes": {"b": "Biene"}, "parts": {"tail": "Schwanz"}}
    CampaignText.objects.create(campaign=coots, language="de", content=content)

    [worded] = texts.in_language([coots], "de")

    assert worded.settings["question"] == "Was ist das?"
    assert worded.settings["vocabulary"] == [
        {"key": "a", "name": "ant"},
        {"key": "b", "name": "Biene", "path": ["x"]},
    ]
    assert worded.settings["categories"]["d"]["parts"] == [{"key": "tail", "name": "Schwanz"}]
    assert coots.settings["vocabulary"][1]["name"] == "bee"


def test_a_language_without_texts_costs_no_query(coots, german, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert texts.in_language([coots], "zh-hans") == [coots]
    with django_assert_num_queries(1):
        assert texts.in_language([coots], "de")[0].title == "Blässhühner"


def test_releases_stay_byte_for_byte(coots, alice, key, tmp_path):
    before = freezing.freeze(coots, None, tmp_path / "one")
    before.delete()
    texts.replace(coots, alice, {"de": {"title": "Vögel", "classes": {key: "Blässhuhn"}}})
    coots.refresh_from_db()

    after = freezing.freeze(coots, None, tmp_path / "two")

    assert after.sha256 == before.sha256
    files = [path.name for path in (tmp_path / "one").iterdir() if path.is_file()]
    assert {*frozen.FILES, "release.json"} <= {*files}
    for name in files:
        first, second = [(tmp_path / folder / name).read_bytes() for folder in ("one", "two")]
        if name == "release.json":  # Only the time of the freeze may differ.
            first, second = [
                json.loads(content) | {"created_at": ""} for content in (first, second)
            ]
        assert first == second


@for_each(
    ("payload", "message"),
    [
        ([], 'Texts are an object: {"de": {"title": …}}.'),
        ({"tlh": {}}, "tlh is not a language of this site. Use one of: en-gb, de, zh-hans."),
        ({"de": "x"}, "de is not an object. Give the language's texts by name."),
        (
            {"de": {"titel": "x"}},
            "de.titel is not a text. Use one of: title, instructions, question, classes, parts.",
        ),
        ({"de": {"title": 3}}, "de.title is not a text. Give a string."),
        ({"de": {"title": "a\0"}}, "de.title is not a text. Give a string."),
        ({"de": {"title": "x" * 201}}, "de.title has 201 characters. Shorten it to 200."),
        ({"de": {"classes": []}}, "de.classes is not an object. Give a text for each key."),
        (
            {"de": {"classes": {"no": "x"}}},
            "de.classes.no is not a class of the campaign. Remove it, or correct the key.",
        ),
        (
            {"de": {"parts": {"tail": "x"}}},
            "de.parts.tail is not a part of the campaign. Remove it, or correct the key.",
        ),
    ],
)
def test_bad_texts_are_refused_with_place_and_cure_and_change_nothing(
    coots, alice, german, payload, message
):
    with pytest.raises(Refusal) as refused:
        texts.replace(coots, alice, payload)

    assert refused.value.message == message
    assert texts.for_campaign(coots) == {"de": german["de"]}


def test_a_file_that_is_no_json_names_its_line():
    with pytest.raises(Refusal, match=r"^Line 2, column 3: .* Correct the JSON there\.$"):
        texts.read('{"de":\n {]}')


@for_each("text", ['{"de": {"title": %s}}' % ("1" * 5000), '{"\\ud800": {}}'])
def test_a_file_with_what_is_no_text_is_refused_on_its_page(as_alice, coots, german, text):
    page = as_alice.post(PAGE, {"texts": upload("texts.json", text)})

    assert "is not valid text" in text_of(page) or "Texts are strings" in text_of(page)
    assert texts.for_campaign(coots) == german


def test_a_class_takes_name_definition_and_guidance_alone(coots, alice, key):
    with pytest.raises(Refusal, match=r"Use one of: name, definition, guidance\.$"):
        texts.replace(coots, alice, {"de": {"classes": {key: {"colour": "red"}}}})


def test_coverage_names_what_is_missing_and_the_file_has_it_empty(coots, german, key):
    [row] = texts.coverage(coots)

    assert (row.language, row.name, row.translated, row.missing) == ("de", "Deutsch", 2, [])
    file = texts.with_missing_texts(coots)
    assert set(file) == {"de", "zh-hans"}
    assert file["zh-hans"] == {"title": "", "classes": {key: ""}}
    assert texts.clean(coots, file) == german


def test_texts_go_up_and_down_by_page(as_alice, coots, german, key):
    page = text_of(as_alice.get(PAGE))
    file = as_alice.get(f"{PAGE}texts.json")
    content = json.loads(text_of(file))
    content["zh-hans"]["title"] = "骨顶鸡"
    sent = upload("texts.json", json.dumps(content))
    answer = as_alice.post(PAGE, {"texts": sent})
    refused = as_alice.post(PAGE, {"texts": upload("texts.json", '{"fr": {}}')})

    assert '<th scope="row" lang="de">Deutsch</th>' in page
    assert "attachment" in file["Content-Disposition"]
    assert answer["Location"] == PAGE
    assert texts.for_campaign(coots)["zh-hans"] == {"title": "骨顶鸡"}
    assert f"<code>classes.{key}</code>" in text_of(as_alice.get(PAGE))
    assert "fr is not a language of this site" in text_of(refused)
    assert Decision.objects.filter(content__changed=["texts"]).count() == 2


def test_texts_go_up_and_down_by_the_api(alice, coots, key):
    client = logged_in(alice)

    put = client.put(API, {"texts": {"de": {"title": "V"}}}, content_type="application/json")
    bad = client.put(API, {"texts": {"xx": {}}}, content_type="application/json")

    assert put.json() == client.get(API).json()
    assert put.json()["texts"] == {"de": {"title": "V"}}
    assert put.json()["coverage"] == [{"language": "de", "given": 1, "missing": [f"classes.{key}"]}]
    assert bad.status_code == 400
    assert "xx is not a language" in bad.json()["detail"]
