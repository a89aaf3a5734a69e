"""Questions that are kept undecided, in pages, releases and exports."""

import csv
import json

import pytest

from labeling.campaigns import lifecycle
from labeling.consensus import settling
from labeling.errors import Refusal
from labeling.release_files import exporting
from labeling.releases import freezing
from labeling.reports import person_page, question_page
from tests import factories
from tests.labeling.crowd import people, vote

COOT = "n02018207"
KEEP = {"votes": 2, "max_votes": 2, "undecided": "keep", "gold_share": 0}
NAMING = {"vocabulary": [{"key": "n01", "name": "cat"}, {"key": "n02", "name": "dog"}]}


def torn(alice, dataset, kind, words, settings=None, **policy):
    """Return a campaign of one image whose two people answer differently."""
    campaign = factories.make_campaign(
        alice, dataset, kind=kind, images=1, policy=KEEP | policy, settings=settings
    )
    for person, word in zip(people(campaign, 2), words, strict=True):
        vote(person, campaign, word)
    return campaign


@pytest.mark.parametrize("method", ["majority", "posterior"])
def test_the_label_is_unknown_with_the_most_probable_answer_beside_it(
    alice, dataset, tmp_path, method
):
    policy = {"method": method, "target_error": 0.05, "target_rule": "model"}
    campaign = torn(alice, dataset, "contains", ("yes", "no"), **policy)
    question = campaign.questions.get()
    assert question.state == "dropped"
    assert list(settling.rebuild(campaign)) == []

    release = freezing.read(freezing.freeze(campaign))

    [line] = release.answers()
    likely = line["likely"]
    assert line["contains"] is None
    assert likely in ("yes", "no")
    [stated] = release.labels()
    assert (stated["value"], stated["decided"], stated["likely"]) == ("unknown", False, likely)
    for name in ("csv", "jsonl", "voc", "coco"):
        exporting.export(release, name, tmp_path / name)
    [row] = csv.DictReader((tmp_path / "csv" / "labels.csv").read_text().splitlines())
    assert (row["value"], row["likely"]) == ("unknown", likely)
    [row] = map(json.loads, (tmp_path / "jsonl" / "labels.jsonl").read_text().splitlines())
    assert (row["value"], row["decided"], row["likely"]) == ("unknown", False, likely)
    [text] = [path.read_text() for path in (tmp_path / "voc").rglob("*.xml")]
    assert "<decided>0</decided>" in text
    assert f"<likely>{likely}</likely>" in text
    for name in ("csv", "jsonl", "voc", "coco"):
        pages, _ = exporting.read_labels(exporting.LabelReading(tmp_path / name))
        assert [row.value for _, labels in pages for row in labels] == ["unknown"]


def test_a_naming_label_is_of_the_class_that_is_most_probable(alice, dataset):
    words = ({"key": "n02"}, {"key": "n01"})
    campaign = torn(alice, dataset, "naming", words, NAMING)

    [line] = freezing.read(freezing.freeze(campaign)).labels()

    assert (line["wnid"], line["value"], line["decided"]) == ("n01", "unknown", False)


def test_pages_name_the_most_probable_answer_and_nobody_disagrees_with_it(alice, dataset):
    campaign = torn(alice, dataset, "contains", ("yes", "no"))

    [row] = question_page.question_history(campaign, campaign.questions.get()).settlements
    assert row.words == "undecided; most probable: No"
    for membership in campaign.memberships.filter(role="annotator"):
        [recent] = person_page.recent_answers(membership)
        assert recent.agrees is None


def test_drawings_cannot_be_kept_undecided(alice, dataset):
    with pytest.raises(Refusal) as refused:
        lifecycle.create(
            alice,
            name="boxed",
            title="Boxed",
            kind="boxes",
            dataset=dataset,
            policy={"undecided": "keep"},
        )

    assert refused.value.field == "undecided"
