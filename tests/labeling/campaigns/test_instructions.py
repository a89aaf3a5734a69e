"""Versions of instructions, and the notice of a change."""

import re

import pytest
from django.urls import reverse

from labeling.campaigns import instructions, lifecycle, texts
from labeling.errors import Refusal
from tests import factories
from tests.cases import for_each
from tests.clients import html_of


def test_the_first_change_keeps_the_old_text_too(coots, alice):
    lifecycle.change(coots, alice, instructions="Only adults")
    lifecycle.change(coots, alice, instructions="Chicks too")

    rows = coots.instructions_versions.order_by("version")
    assert [row.version for row in rows] == [1, 2, 3]
    assert [row.text for row in rows][1:] == ["Only adults", "Chicks too"]
    assert rows[0].created_at == coots.created_at
    assert rows[2].created_at == coots.instructions_changed_at


@for_each("text", ["a\nb", "a\r\nb", " a\nb\n"])
def test_white_space_makes_no_version(coots, alice, text):
    coots.instructions = "a\nb"
    coots.save()

    lifecycle.change(coots, alice, title="Coots", instructions=text)

    assert not coots.instructions_versions.exists()
    assert coots.instructions_changed_at is None


def test_an_annotator_is_notified_once_of_each_change(client, coots, alice, bob):
    client.force_login(bob)
    url = reverse("label", args=["coots"])
    before = html_of(client.get(url))

    lifecycle.change(coots, alice, instructions="**Only** adults")
    first, second = html_of(client.get(url)), html_of(client.get(url))
    lifecycle.change(coots, alice, instructions="Chicks too")
    third = html_of(client.get(url))

    notices = ["The instructions changed on" in page for page in (before, first, second, third)]
    assert notices == [False, True, False, True]
    assert "<strong>Only</strong> adults" in first


def test_members_see_pictures_of_the_instructions(client, coots, alice, bob, charlie):
    image = coots.dataset.images.first()
    lifecycle.change(coots, alice, instructions=f"![Too loose](<image:{image.name}>)")
    client.force_login(bob)
    page = html_of(client.get(reverse("label", args=["coots"])))
    address = re.search(r'<img [^>]*src="([^"]*/instructions/[^"]*)"', page)[1]

    assert client.get(address).headers["Content-Type"].startswith("image/")
    # Neither another image of the dataset nor another campaign's signature.
    another = coots.dataset.images.last().name
    assert client.get(address.replace(image.name, another)).status_code == 404
    assert client.get(reverse("instructions_image", args=["coots", another])).status_code == 404
    client.force_login(charlie)
    assert client.get(address).status_code == 404


def test_a_removed_picture_leaves_the_instructions_readable(client, coots, alice, bob):
    image = factories.make_image(coots.dataset, "loose.png")
    lifecycle.change(coots, alice, instructions=f"![Too loose](<image:{image.name}>)")
    image.delete()
    client.force_login(bob)
    page = html_of(client.get(reverse("label", args=["coots"])))
    address = re.search(r'<img [^>]*src="([^"]*/instructions/[^"]*)"', page)[1]

    assert 'alt="Too loose"' in page
    assert client.get(address).status_code == 404


@for_each(
    ("text", "words"),
    [
        ("![x](image:missing.jpg)", "has no image missing.jpg"),
        ("![x](https://a.example/x.png)", "is outside the site"),
    ],
)
def test_an_unknown_picture_is_refused(coots, alice, text, words):
    with pytest.raises(Refusal, match=words):
        lifecycle.change(coots, alice, instructions=text)
    with pytest.raises(Refusal, match=words):
        texts.replace(coots, alice, {"de": {"instructions": text}})
    with pytest.raises(Refusal, match=words):
        lifecycle.create(
            alice, name="c", title="C", kind="contains", dataset=coots.dataset, instructions=text
        )

    assert not coots.instructions_versions.exists()


def test_who_joins_after_a_change_is_not_notified(coots, alice, charlie):
    lifecycle.change(coots, alice, instructions="Only adults")

    assert instructions.pop_change_notice(factories.join(charlie, coots), coots) is None


def test_settings_list_the_versions_with_their_authors(client, coots, alice):
    lifecycle.change(coots, alice, instructions="Only <b>adults</b>")
    client.force_login(alice)

    page = html_of(client.get(reverse("labeling:campaign_edit", args=["coots"])))

    assert "Version 2," in page
    assert "Only &lt;b&gt;adults" in page


def test_examples_have_their_word_without_scripts(client, coots, alice, bob):
    image = factories.make_image(coots.dataset, "good.png")
    lifecycle.add_example(coots, coots.topics.get().key, image, "no", "a moorhen")
    client.force_login(bob)

    assert "<b>No</b>: a moorhen" in html_of(client.get(reverse("label", args=["coots"])))
