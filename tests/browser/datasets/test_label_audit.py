"""Doubtful labels as a researcher sees them: ranked, opened, and asked about again."""

import pytest

from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_doubtful_labels_are_asked_about_again(
    page, wordnet, alice, bob, dataset, tmp_path, site, looked_at
):
    row = ducks.make(alice, bob, dataset, tmp_path)
    ducks.scored(row, alice)
    page.goto(site("/benchmarks/ducks/label-audit/"))
    page.wait_for_selector("h1:has-text('Doubtful labels')")
    looked_at(page, "label-audit")

    page.click(f"a:has-text('{ducks.IMAGES[1]}')")
    page.wait_for_selector(f"h1:has-text('{ducks.IMAGES[1]}')")
    page.click("section a:has-text('Classification')")
    page.wait_for_selector("text=alpha")
    page.goto(site("/benchmarks/ducks/label-audit/"))
    page.fill("input[name=count]", "2")
    page.keyboard.press("Tab")
    page.click("button:has-text('Ask again')")
    page.wait_for_selector("text=2 questions ask 2 more people.")
