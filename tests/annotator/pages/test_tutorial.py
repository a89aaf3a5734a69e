"""The tutorial of each kind: pictures that are there, answers among the choices, its end kept."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import get_template
from django.urls import reverse
from PIL import Image

from annotator.kinds.tutorials import BY_KIND as ITEMS
from labeling.kinds import KINDS
from labeling.models import User
from tests.cases import for_each
from tests.clients import logged_in, text_of

pytestmark = pytest.mark.django_db


def test_every_kind_has_a_tutorial_of_three():
    assert set(ITEMS) == set(KINDS)
    for items in ITEMS.values():
        assert len(items) == 3
        for item in items:
            assert item.right in {value for value, _, _ in item.choices}
            with Image.open(finders.find(f"tutorial/{item.picture.file}")) as picture:
                assert picture.size == (item.picture.width, item.picture.height)
            for shape in item.shapes:
                for x, y in shape.points:
                    assert 0 <= x <= item.picture.width
                    assert 0 <= y <= item.picture.height


def test_states_of_parts_have_the_words_and_keys_of_the_page():
    states = re.findall(
        r'data-state="(\w+)"[^>]*>\s*{% translate "([^"]+)" %\} <kbd>(.)</kbd>',
        get_template("annotator/_parts_states.html").template.source,
    )

    assert len(states) == 3
    assert [row for row in ITEMS["parts"][1].choices if row[0] != "draw"] == states[1:]


@for_each("kind", sorted(ITEMS))
def test_its_keys_are_those_of_the_real_questions(kind):
    offered = KINDS[kind].choices({"vocabulary": []})
    real = {row["value"]: row["key"] for row in offered if row["key"]}
    for item in ITEMS[kind]:
        keys = [key for _, _, key in item.choices]
        assert len({*keys, "s"}) == len(keys) + 1
        assert all(real.get(value, key) == key for value, _, key in item.choices)


def test_it_comes_once_for_each_kind_and_may_be_skipped(bob, coots):
    User.objects.filter(pk=bob.pk).update(tutorials=["parts"])
    client, label = logged_in(bob), reverse("label", args=["coots"])
    page = reverse("tutorial", args=["coots"])

    assert client.get(label)["Location"] == page
    assert client.post(page, {"end": "1"})["Location"] == label
    assert client.get(label).status_code == 200
    bob.refresh_from_db()
    assert bob.tutorials == ["contains", "parts"]


@for_each("item", ["0", "4", "x", ""])
def test_an_item_that_is_not_there_is_the_first(bob, coots, item):
    page = reverse("tutorial", args=["coots"])

    assert "tutorial, 1 of 3" in text_of(logged_in(bob).get(page, {"item": item}))


def test_no_outline_crosses_the_letter_of_another(bob, coots):
    type(coots).objects.filter(pk=coots.pk).update(kind="boxes")

    drawn = logged_in(bob).get(reverse("tutorial", args=["coots"])).content.decode()

    assert drawn.count("<text ") == 2
    assert drawn.rindex("<polygon ") < drawn.index("<text ")


@for_each("kind", sorted(ITEMS))
def test_the_pages_of_every_kind_say_what_is_right(bob, coots, kind):
    type(coots).objects.filter(pk=coots.pk).update(kind=kind)
    page = reverse("tutorial", args=["coots"])
    for number, item in enumerate(ITEMS[kind], 1):
        wrong = next(value for value, _, _ in item.choices if value != item.right)

        text = text_of(logged_in(bob).post(page, {"item": str(number), "answer": wrong}))
        praised = text_of(logged_in(bob).post(page, {"item": str(number), "answer": item.right}))

        assert "Not right" in text
        assert {value: words for value, words, _ in item.choices}[item.right] in text
        assert "✓ Right" in praised
