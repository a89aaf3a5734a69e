"""The error of each label, in releases, exports, the API and on pages: only with a basis."""

import csv
import json
import re

import pytest

from labeling.formats import FORMATS
from labeling.formats.reading import LabelReading
from labeling.models import Release
from labeling.quality import auditing, stated_errors
from labeling.release_files import exporting
from labeling.releases import freezing, snapshots, stored
from tests.clients import logged_in, program, read, text_of
from tests.labeling import parted
from tests.labeling.audits import audit_all


@pytest.fixture
def audited(settled, alice):
    auditing.draw(settled, alice, 30, seed=0)
    audit_all(settled, alice, wrong=6)
    return settled


def exported(release, name, tmp_path):
    exporting.export(stored.read(release), name, tmp_path / name)
    return next((tmp_path / name).glob("labels.*"))


def test_a_release_with_a_basis_has_the_error_of_each_label(audited, tmp_path):
    measured = stated_errors.measure(audited)
    error = measured.error_of(0.9, 3)

    release = freezing.freeze(audited)

    frozen = stored.read(release)
    assert {line["error"] for line in frozen.answers()} == {error}
    assert frozen.meta["stated_error"] == release.stated_error == measured.stated.to_json()
    rows = list(csv.DictReader(exported(release, "csv", tmp_path).read_text().splitlines()))
    assert {row["error"] for row in rows} == {repr(error)}
    lines = exported(release, "jsonl", tmp_path).read_text().splitlines()
    assert {json.loads(line)["error"] for line in lines} == {error}
    for path in (tmp_path / "csv" / "labels.csv", tmp_path / "jsonl" / "labels.jsonl"):
        assert len(list(FORMATS[path.suffix[1:]].read(LabelReading(path)))) == 40


def test_without_a_basis_no_label_has_an_error(settled, tmp_path):
    release = freezing.freeze(settled)

    assert not any("error" in line for line in stored.read(release).answers())
    assert release.stated_error["basis"] is None
    for name in ("csv", "jsonl"):
        assert "error" not in exported(release, name, tmp_path).read_text()


def test_chunks_written_by_jobs_have_the_same_errors(audited, monkeypatch):
    whole = freezing.freeze(audited)
    monkeypatch.setattr(snapshots, "CHUNK", 7)

    assert freezing.freeze(audited).pk == whole.pk


def test_the_api_has_the_error_beside_the_probability(settled, alice):
    api = program(alice)
    address = f"/api/v1/campaigns/{settled.name}/questions/"
    assert {row["error"] for row in api.get(address).json()["results"]} == {None}

    auditing.draw(settled, alice, 30, seed=0)
    audit_all(settled, alice, wrong=6)

    rows = api.get(address).json()["results"]
    error = stated_errors.measure(settled).error_of(0.9, 3)
    assert {(row["probability"], row["error"]) for row in rows} == {(0.9, error)}
    assert freezing.freeze(settled).stated_error["basis"] == "audit"
    releases = api.get(f"/api/v1/campaigns/{settled.name}/releases/").json()["results"]
    assert releases[0]["stated_error"]["basis"] == "audit"


def test_pages_say_the_error_or_that_it_is_not_measured(settled, alice):
    client = logged_in(alice)
    question = settled.questions.filter(state="settled").first()
    pages = [f"/campaigns/{settled.name}/{page}" for page in ("questions/", "releases/")]
    pages.append(f"/campaigns/{settled.name}/questions/{question.pk}/")
    freezing.freeze(settled)
    for page in pages:
        assert "not measured" in text_of(client.get(page)).lower()

    auditing.draw(settled, alice, 30, seed=0)
    audit_all(settled, alice, wrong=6)
    Release.objects.all().delete()
    freezing.freeze(settled)
    for page in pages:
        assert "not measured" not in text_of(client.get(page)).lower()


def test_a_release_frozen_before_is_uncalibrated(settled, alice):
    release = freezing.freeze(settled)
    del release.counts["stated_error"]
    release.save()

    assert "uncalibrated" in text_of(logged_in(alice).get(f"/campaigns/{settled.name}/releases/"))


# The pages of a campaign that show labels or how good they are.
PAGES = (
    "",
    "progress/",
    "questions/",
    "questions/{question}/",
    "review/",
    "agreement/",
    "quality/",
    "audit/",
    "gold/",
    "people/",
    "topics/",
    "pilot/",
    "close/",
    "releases/",
)
# How pages state how often labels are wrong, and the words that stand near.
STATED = re.compile(r"(?:error|wrong|probability)\b[^.]{0,40}?\d+(?:\.\d+)? %", re.IGNORECASE)
BASIS = re.compile("measured|uncalibrated|audit|gold|crowds", re.IGNORECASE)


@pytest.mark.parametrize("is_audited", [False, True])
def test_no_page_states_an_error_without_its_basis(settled, alice, is_audited):
    if is_audited:
        auditing.draw(settled, alice, 30, seed=0)
        audit_all(settled, alice, wrong=6)
    freezing.freeze(settled)
    client = logged_in(alice)
    question = settled.questions.filter(state="settled").first()
    for page in PAGES:
        path = f"/campaigns/{settled.name}/{page.format(question=question.pk)}"
        text = " ".join(re.sub("<[^>]*>", " ", text_of(client.get(path))).split())
        for match in STATED.finditer(text):
            nearby = text[max(match.start() - 200, 0) : match.end() + 200]
            assert BASIS.search(nearby), f"{path}: {nearby}"


def test_the_error_of_parts_is_not_measured(alice, dataset):
    campaign = parted.parts_campaign(alice, dataset)

    for page in ("quality/", "releases/"):
        page_text = read(logged_in(alice), f"/campaigns/{campaign.name}/{page}")
        assert "not measured" in page_text.lower()
