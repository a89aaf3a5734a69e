"""Lists that researchers hand in: read to the letter, or refused by line."""

import pytest

from labeling.errors import Refusal
from labeling.exchange import lists
from tests.cases import for_each


@for_each(
    "content",
    [
        "image,wnid\na.png,n1\nb.png,n2\n",
        "wnid,image\nn1,a.png\nn2,b.png\n",
        "a.png,n1\n\nb.png,n2",
        "a.png , n1\r\nb.png,n2\r\n",
        b"\xef\xbb\xbfimage,wnid\na.png,n1\nb.png,n2\n",
        '{"image": "a.png", "wnid": "n1"}\n{"image": "b.png", "wnid": "n2", "rank": 1}\n',
    ],
)
def test_questions_are_read_from_csv_and_json_lines(content):
    assert lists.read_questions(content) == [("a.png", "n1"), ("b.png", "n2")]


def test_a_pair_named_twice_is_asked_once():
    assert lists.read_questions("a,n1\na,n1") == [("a", "n1")]


def test_nothing_is_an_empty_list():
    assert lists.read_questions("") == []
    assert lists.read_names(" \n\n") == []


@for_each(
    ("content", "message"),
    [
        ("a.png,n1\nb.png", "Line 2: wnid is missing. Write image,wnid on every line."),
        ("a.png,n1,more", "Line 1: 3 cells, but there are 2 columns"),
        ('a.png,"n1', "Line 1: not CSV"),
        ('{"image": "a"}', "Line 1: wnid is missing"),
        ('{"image": "a", "wnid": 7}', "Line 1: wnid is missing"),
        ('{"image": "a", "wnid": "n"}\nnot json', "Line 2: 'not json' is not JSON"),
        ('{"image": "a", "wnid": "n"}\n[1]', "Line 2: '[1]' is not an object"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_wrong_line_is_named_with_its_cure(content, message):
    with pytest.raises(Refusal) as caught:
        lists.read_questions(content)

    assert message in caught.value.message
    assert caught.value.field == "questions"


@for_each(
    ("content", "message"),
    [
        (b"n1,a\0b", "NUL bytes"),
        ("n" * 65, "wnid is longer than 64 characters"),
        ('{"wnid": "n\\u0000"}', "wnid contains a NUL"),
        ('{"wnid": "n", "name": "\\ud800"}', "name contains a NUL or a lone surrogate"),
        ('{"wnid": "n", "definition": {"a": 1}}', "definition is not a text"),
        ('{"wnid": "n", "synonyms": 3}', "synonyms is not a text"),
        ('{"wnid": "n", "synonyms": ["a", {}]}', "synonyms is not a text"),
        ('{"wnid": "n", "synonyms": NaN}', "synonyms is not a text"),
        ('{"wnid": "n", "url": "javascript:alert(1)"}', "url begins with neither"),
        ('{"wnid": "n", "url": "https://a.example/' + "a" * 400 + '"}', "url is longer than 400"),
        ('{"wnid":' * 100_000, "is not JSON"),
    ],
)
def test_what_no_column_takes_is_refused_by_its_line(content, message):
    with pytest.raises(Refusal) as caught:
        lists.read_topics(content)

    assert message in caught.value.message


def test_a_source_of_gold_longer_than_its_column_is_refused():
    with pytest.raises(Refusal) as caught:
        lists.read_gold(f"image,wnid,answer,source\na.png,n1,yes,{'s' * 201}", "contains")

    assert "source is longer than 200 characters" in caught.value.message


def test_topics_may_lack_everything_but_their_key():
    [first, second] = lists.read_topics("wnid,name,definition,synonyms\nn1\nn2,coot,a bird,x; y\n")

    assert first == {"key": "n1", "name": "n1", "definition": "", "synonyms": [], "url": ""}
    assert second["synonyms"] == ["x", "y"]


def test_gold_of_a_naming_campaign_names_a_class():
    [row, none] = lists.read_gold("a.png,label,n1\nb.png,label,none", "naming")

    assert row["answer"] == {"key": "n1"}
    assert none["answer"] == "none"


def test_a_vocabulary_may_be_keys_alone():
    assert lists.read_vocabulary("n1,coot\nn2") == [
        {"key": "n1", "name": "coot"},
        {"key": "n2", "name": ""},
    ]
