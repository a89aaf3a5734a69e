"""One parser of a sent answer, whichever way it comes."""

import json
import uuid

import pytest
from django.utils import translation

from labeling.answers import submitted_answers
from labeling.answers.submitted_answers import MAX_DURATION_MS, SubmittedAnswer
from labeling.errors import Refusal, TooLarge
from tests.cases import for_each

ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
GOOD = {"id": str(ID), "seat": "a"}


@for_each("text", [str(ID), ID.hex, f"{{{ID}}}", ID.urn, ID])
def test_an_id_may_be_written_as_any_uuid(text):
    assert submitted_answers.read({"id": text, "seat": "ab1", "value": "yes"}) == SubmittedAnswer(
        ID, "ab1", "yes"
    )


def test_new_ids_are_uuids_of_version_7_in_the_order_of_the_clock(monkeypatch):
    made = []
    for milliseconds in (1, 2**32, 2**47):
        monkeypatch.setattr("time.time_ns", lambda now=milliseconds: now * 1_000_000)
        made.append(submitted_answers.uuid7())

    assert [made_at.int >> 80 for made_at in made] == [1, 2**32, 2**47]
    assert {(made_id.version, made_id.variant) for made_id in made} == {(7, uuid.RFC_4122)}
    assert submitted_answers.read_id(submitted_answers.new_id()).version == 7


@for_each(
    ("milliseconds", "kept"),
    [
        *((None, None), (0, 0), (1_500, 1_500), (MAX_DURATION_MS + 1, MAX_DURATION_MS)),
        # As a form says it.
        *(("", None), ("1500", 1_500), ("9" * 12, MAX_DURATION_MS), ("-3", None), ("soon", None)),
    ],
)
def test_a_duration_is_an_hour_at_most_and_may_be_left_out(milliseconds, kept):
    assert submitted_answers.read_duration(milliseconds) == kept


def test_a_pages_time_is_shared_by_its_images():
    assert submitted_answers.read_duration("9000", images=3) == 3_000
    assert submitted_answers.read_duration(str(100 * MAX_DURATION_MS), images=10) == MAX_DURATION_MS


@for_each(
    ("answer", "field"),
    [
        ("yes", "answers.0"),
        ({"id": str(ID), "seat": "a", "colour": 1}, "answers.0"),
        *(({"id": value, "seat": "a"}, "answers.0.id") for value in (None, 7, "", "x" * 36)),
        *(({"id": str(ID), "seat": v}, "answers.0.seat") for v in (None, "", "a" * 33, "a-b", 7)),
        *((GOOD | {"duration_ms": v}, "answers.0.duration_ms") for v in (-1, 1.5, True, [], {})),
        *((GOOD | {"input_method": v}, "answers.0.input_method") for v in ("gaze", ["key"], "")),
        *((GOOD | {"language": value}, "answers.0.language") for value in ("tlh", ["de"])),
    ],
)
def test_what_is_no_answer_is_refused_with_its_place(answer, field):
    with pytest.raises(Refusal) as refused:
        submitted_answers.read(answer, "answers.0.")

    assert (refused.value.code, refused.value.field) == ("malformed", field)


def test_a_form_holds_a_word_or_an_object():
    form = {"id": str(ID), "seat": "a", "duration_ms": "", "csrfmiddlewaretoken": "x"}

    with translation.override("de"):
        answer = submitted_answers.read_form(form | {"value": "yes"})
    assert answer == SubmittedAnswer(ID, "a", "yes", language="de")
    assert submitted_answers.read_form(form | {"value": json.dumps({"key": "n1"})}).value == {
        "key": "n1"
    }
    for value in ("", "{", "{" * 100_000):
        with pytest.raises(Refusal, match="Draw"):
            submitted_answers.read_form(form | {"value": value}, "Draw a part.")


def test_no_more_than_a_hundred_come_at_once():
    submitted_answers.check_batch([None] * 100)
    with pytest.raises(TooLarge):
        submitted_answers.check_batch([None] * 101)
