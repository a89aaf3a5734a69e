"""No form asks for a file twice: what was sent is kept while the form comes back."""

import importlib
import json
import os
import pkgutil
import re
import time
from collections.abc import Iterator

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

import labeling.web.forms
from evaluation.benchmarks import forms as evaluation_forms
from evaluation.benchmarks.kinds.cds import forms as cds_forms
from evaluation.benchmarks.kinds.labeled import forms as labeled_forms
from labeling.errors import Refusal
from labeling.jobs import kept_files
from labeling.kinds import policies
from labeling.models import Campaign
from labeling.web.forms.kept import KeepsFiles, KeptFileInput
from tests import factories
from tests.evaluation import crowd

OTHERS = (evaluation_forms, cds_forms, labeled_forms)
PAIR = "pond/0.png,n02018207"


def all_forms() -> Iterator[type[forms.Form]]:
    folder = labeling.web.forms.__path__
    names = [modules.name for modules in pkgutil.iter_modules(folder, "labeling.web.forms.")]
    for module in (*map(importlib.import_module, names), *OTHERS):
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, forms.Form):
                yield thing


def uploaded(name: str, text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


@pytest.fixture
def pond(alice, dataset):
    factories.make_image(dataset, "pond/0.png")
    return dataset


def new_campaign(dataset, **more) -> dict:
    words = {"title": "Coots", "name": "coots", "kind": "contains", "dataset": dataset.pk}
    return words | policies.DEFAULTS | more


def test_a_kept_files_name_is_one_line(as_alice, pond):
    faulty = {"file": uploaded("labels.csv", "no\n"), "format": "csv"}
    page = as_alice.post("/datasets/pond/labels/", faulty).content.decode()
    token = re.search(r'_kept" value="([0-9a-f]{32}):', page)[1]

    sent = {"file_kept": f"{token}:a\0b\nc.csv", "format": "csv"}
    page = as_alice.post("/datasets/pond/labels/", sent).content.decode()

    assert "abc.csv" in page


def test_every_form_with_a_file_keeps_it():
    with_files = {
        form
        for form in all_forms()
        if any(isinstance(field, forms.FileField) for field in form.base_fields.values())
    }

    assert len(with_files) >= 10
    for form in with_files:
        assert issubclass(form, KeepsFiles), form
        for name, field in form.base_fields.items():
            if isinstance(field, forms.FileField):
                assert isinstance(field.widget, KeptFileInput), f"{form} {name}"


def test_new_campaign_keeps_its_list_over_a_fault(as_alice, pond):
    page = reverse("labeling:campaign_new")
    faulty = new_campaign(pond, title="", questions_file=uploaded("pairs.csv", PAIR))
    first = as_alice.post(page, faulty)

    assert "Kept: <b>pairs.csv</b>" in first.content.decode()
    assert first.context["estimate"].questions == 1
    made = as_alice.post(page, new_campaign(pond) | factories.kept_in(first))

    assert made.status_code == 302, made.context["form"].errors
    assert Campaign.objects.get().questions.count() == 1
    assert list(kept_files._folder().iterdir()) == []


def test_another_file_replaces_the_kept_one(as_alice, pond):
    page = reverse("labeling:campaign_new")
    first = as_alice.post(
        page, new_campaign(pond, title="", questions_file=uploaded("bad.csv", "a,b,c,d,e"))
    )
    again = new_campaign(pond, title="", questions_file=uploaded("good.csv", PAIR))

    second = as_alice.post(page, again | factories.kept_in(first))

    assert factories.kept_in(second)["questions_file_kept"].endswith(":good.csv")
    assert "questions_file" not in second.context["form"].errors


def test_a_kept_file_that_is_not_needed_can_be_left_out(as_alice, pond):
    page = reverse("labeling:campaign_new")
    first = as_alice.post(page, new_campaign(pond, questions_file=uploaded("bad.csv", "a,b,c,d,e")))
    assert "Leave it out" in first.content.decode()

    without = new_campaign(pond, questions=PAIR, questions_file_without="on")
    made = as_alice.post(page, without | factories.kept_in(first))

    assert made.status_code == 302
    assert Campaign.objects.get().questions.count() == 1


def test_several_images_are_kept_together(as_alice, pond, settings):
    page = reverse("labeling:dataset_upload", args=[pond.name])
    files = [SimpleUploadedFile(f"{n}.png", factories.picture(n), "image/png") for n in (1, 2)]
    first = as_alice.post(page, {"files": files, "licence": "x" * 300})
    kept = [":".join(pair) for pair in first.context["form"].fields["files"].widget.kept]

    done = as_alice.post(page, {"files_kept": kept, "licence": "CC0"})

    assert "2 images added" in done.content.decode()
    assert "required" not in str(first.context["form"]["files"])


def test_a_file_that_is_gone_is_asked_for_again(as_alice, alice, pond):
    page = reverse("labeling:dataset_upload", args=[pond.name])

    answer = as_alice.post(page, {"files_kept": f"{'0' * 32}:lake.zip"})

    assert answer.context["form"].errors["files"] == [kept_files.DELETED]


def test_a_selection_leads_to_a_competition_with_what_was_typed(as_alice, pond, wordnet):
    lines = "\n".join(json.dumps(line) for line in crowd.lines())
    sent = new_campaign(
        pond, questions_file=uploaded("selection.jsonl", lines), instructions="Look twice. " * 1000
    )

    page = as_alice.post(reverse("labeling:campaign_new"), sent)

    [message] = page.context["form"].errors["questions_file"]
    assert "selection by mad select" in message
    assert "they are not carried over" in page.content.decode()
    # The longest request line that gunicorn takes is 4,094 bytes.
    assert len(page.context["selection_page"]) < 4000
    there = as_alice.get(page.context["selection_page"], follow=True)
    form = there.context["form"]
    assert [form[name].value() for name in ("title", "name", "dataset")] == [
        "Coots",
        "coots",
        pond.name,
    ]
    assert "Kept: <b>selection.jsonl</b>" in there.content.decode()
    assert "required" not in str(form["selection"])


def test_questions_of_json_lines_are_no_selection(as_alice, pond):
    line = json.dumps({"image": "pond/0.png", "wnid": "n02018207", "meta": {}})
    sent = new_campaign(pond, questions_file=uploaded("pairs.jsonl", line))

    assert as_alice.post(reverse("labeling:campaign_new"), sent).status_code == 302


def test_the_oldest_files_of_a_person_make_room_for_new_ones(alice, bob, pond, monkeypatch):
    monkeypatch.setattr(kept_files, "MAX_PERSON_BYTES", 25)
    others = kept_files.keep(bob, uploaded("other.csv", "x" * 20))
    tokens = []
    for n in range(3):
        tokens.append(kept_files.keep(alice, uploaded("pairs.csv", "x" * 10)))
        os.utime(kept_files.find(alice, tokens[-1]), (time.time() - 60 + n,) * 2)

    assert kept_files.find(bob, others).is_file()
    assert [kept_files.find(alice, token).stat().st_size for token in tokens[1:]] == [10, 10]
    with pytest.raises(Refusal):
        kept_files.find(alice, tokens[0])
