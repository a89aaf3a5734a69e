"""A researcher makes a dataset's vocabulary: started by a click, changed by form, looked at."""

import pytest

from labeling.datasets import vocabulary_store
from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/datasets/pond/vocabulary/"
CAT = f"{PAGE}categories/n02121620/"


def test_a_vocabulary_is_started_and_a_part_added_by_form(page, dataset, site):
    page.goto(site("/datasets/pond/"))
    settled(page)
    page.keyboard.press("v")
    page.wait_for_url(f"**{PAGE}")
    page.get_by_role("button", name="Start from PASCAL-Part").click()
    page.get_by_text("Version 1 of the vocabulary is now the latest").wait_for()
    page.get_by_text("cat n02121620").click()
    page.get_by_role("button", name="Change cat").click()
    page.wait_for_url(f"**{CAT}")
    page.keyboard.press("n")
    # The new row has the focus: type at once.
    page.keyboard.type("collar")
    page.get_by_role("button", name="Save as the next version").click()
    page.get_by_text("Version 2 of the vocabulary is now the latest").wait_for()

    cat = vocabulary_store.current_vocabulary(dataset).category("cat")
    assert [part.key for part in cat.parts][-1] == "collar"
    assert dataset.vocabularies.count() == 2


def test_a_fault_is_said_at_the_part_and_can_be_mended(page, alice, dataset, site, axe):
    vocabulary_store.start(dataset, alice)

    page.goto(site(CAT))
    page.locator("summary", has_text="leg").click()
    pieces = page.locator("textarea[name$=-merge]:visible").first
    pieces.fill("left front: leg")
    page.get_by_role("button", name="Save as the next version").click()
    page.get_by_text("Merges into itself").wait_for()
    axe(page)
    page.locator("textarea[name$=-merge][aria-invalid=true]").fill("left front: lfleg")
    page.get_by_role("button", name="Save as the next version").click()
    page.get_by_text("Version 2 of the vocabulary is now the latest").wait_for()

    leg = vocabulary_store.current_vocabulary(dataset).category("cat").part("leg")
    assert dict(leg.merge) == {"left front": ("lfleg",)}


def test_the_pages_look_right(page, alice, dataset, site, looked_at):
    page.goto(site(PAGE))
    looked_at(page, "vocabulary-none")

    first = vocabulary_store.start(dataset, alice)
    content = vocabulary_store.read(first).content()
    cat = next(row for row in content["categories"] if row["name"] == "cat")
    cat["guidance"] = "Lions and tigers are none."
    cat["parts"] = [*cat["parts"][1:], {"key": "collar", "guidance": "Without the bell."}]
    vocabulary_store.add_version(dataset, content, alice)
    for name, path in {
        "vocabulary": PAGE,
        "vocabulary-open": f"{PAGE}?open=1",
        "vocabulary-category": CAT,
        "vocabulary-version": f"{PAGE}2/",
    }.items():
        assert page.goto(site(path)).status == 200
        if name == "vocabulary-category":
            page.locator("summary", has_text="leg").click()
        looked_at(page, name)


def test_a_fault_in_the_text_looks_right(page, alice, dataset, site, looked_at):
    vocabulary_store.start(dataset, alice)

    page.goto(site(PAGE))
    page.get_by_text("As a file or as text").click()
    page.locator("textarea[name=text]").fill("categories:\n- key: n1\n  like: cow\n- key: n1\n")
    page.get_by_role("button", name="Use this vocabulary").click()
    page.get_by_text("line 3, category 1 (n1)").wait_for()
    looked_at(page, "vocabulary-faults")
