"""A competition whose classes are words: selection, questions, ranks, pages, true labels."""

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import competitions, true_labels
from evaluation.benchmarks.kinds.mad.forms import CompetitionForm
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark
from evaluation.pools import choosing, uploading
from labeling.campaigns import lifecycle
from labeling.errors import Refusal
from labeling.jobs import queue
from labeling.releases import freezing
from tests import factories
from tests.clients import logged_in
from tests.evaluation import crowd
from tests.evaluation.pool import make_pool
from tests.evaluation.pools.pool_rows import images_of, zipped

pytestmark = pytest.mark.django_db
# Also a wnid, what looks like one, and letters that addresses and file names give a meaning.
CLASSES = ["zebra", "street sign", "dog/cat", "100 %", "naïve", "n99999999", "n02084071", "..", "?"]
TREE = "child,parent\nall,\n" + "".join(f"{name},all\n" for name in CLASSES)
SETTINGS = {
    "top_k": 4,
    "min_confidence": 0.5,
    "max_per_label": 2,
    "reserve": 2,
    "unique_pairs": False,
    "distance": "zero-one",
}


@pytest.fixture(params=["with WordNet", "without"])
def benchmark(request, alice, tmp_path, monkeypatch) -> Benchmark:
    """An open competition, from an uploaded pool."""
    if request.param == "without":
        monkeypatch.setattr(nouns, "folders", list)
    else:
        request.getfixturevalue("wordnet")
    alice.is_researcher = True
    alice.save()
    dataset = factories.make_dataset(alice, "lake")
    folder = make_pool(tmp_path / "pool", ids=images_of(dataset, 40), classes=CLASSES)
    pool = uploading.from_zip(dataset, alice, SimpleUploadedFile("p.zip", zipped(folder)))
    file = SimpleUploadedFile("tree.csv", TREE.encode())
    row = choosing.request(choosing.settings_of(pool, SETTINGS | {"distances": file}), alice)
    queue.run(row.job_id)
    row.refresh_from_db()
    made = competitions.create(
        alice,
        name="words",
        title="Words",
        policy={"gold_share": 0, "stop_early": "never"},
        settings={"bootstrap": 50},
        **choosing.competition_arguments(row),
    )
    lifecycle.launch(made.campaign, alice)
    return made


def test_words_are_asked_ranked_and_seen(benchmark, as_alice, alice, tmp_path, shell):
    topics = set(benchmark.campaign.topics.values_list("key", flat=True))
    assert topics <= set(CLASSES)
    names = competitions.class_names(benchmark.campaign)
    assert all(names[key] == key for key in topics - {"n02084071"})
    people = crowd.people_of(benchmark.campaign)
    page = logged_in(people[0]).get("/campaigns/words/label/").content.decode()
    question = benchmark.campaign.questions.first()
    assert any(f"<strong data-class>{name}</strong>" in page for name in names.values())

    crowd.answer(
        benchmark.campaign, people, lambda image, topic: "yes" if topic in CLASSES[:5] else "no"
    )
    run = runs.request(benchmark, alice)
    queue.run_all()

    run.refresh_from_db()
    assert run.state == "done", run.error
    selection = tmp_path / "selection.jsonl"
    selection.write_bytes(
        b"".join(as_alice.get("/benchmarks/words/selection.jsonl").streaming_content)  # type: ignore[attr-defined]
    )
    folder = freezing.folder_of(run.release)
    ranked = shell.result(
        *("mad", "rank", "--selection", selection, "--answers", Path(folder) / "answers.jsonl"),
        *("--bootstrap", 50),
    )
    assert ranked["ranks"] == run.result["ranks"]
    assert ranked["scores"] == run.result["scores"]
    for address in (
        "benchmarks/words/",
        f"benchmarks/words/runs/{run.pk}/",
        f"benchmarks/words/runs/{run.pk}/pairs.csv",
        f"benchmarks/words/runs/{run.pk}/result.json",
        "benchmarks/words/pairs/0/1/",
        "benchmarks/words/accuracies/",
        "campaigns/words/",
        "campaigns/words/questions/",
        f"campaigns/words/questions/{question.pk}/",
        "campaigns/words/topics/",
        "api/v1/benchmarks/words/selections/",
        "api/v1/campaigns/words/topics/",
        "api/v1/campaigns/words/topics/zebra/",
    ):
        assert as_alice.get(f"/{address}").status_code == 200, address
    gallery = as_alice.get("/benchmarks/words/pairs/0/1/").content.decode()
    assert any(name in gallery for name in ("zebra", "street sign", "dog/cat"))


def test_the_classes_of_a_form_are_lines(alice):
    file = SimpleUploadedFile("classes.txt", "street sign\r\n\nnaïve\n".encode())
    form = CompetitionForm({}, {"vocabulary": file}, user=alice, query={})
    form.is_valid()

    assert form.cleaned_data["vocabulary"] == ["street sign", "naïve"]


def test_a_class_that_no_row_holds_is_refused(benchmark, alice):
    rows = competitions.selection_of(benchmark)
    with pytest.raises(Refusal, match="has over 64 characters"):
        competitions.create(
            alice,
            name="longer",
            title="Longer",
            dataset=benchmark.campaign.dataset,
            lines=rows,
            wordnet=None,
            vocabulary=["x" * 65],
        )


def test_true_labels_of_words_are_asked_for(benchmark, as_alice, alice):
    people = crowd.people_of(benchmark.campaign)
    crowd.answer(benchmark.campaign, people, lambda image, topic: "no")
    row = benchmark.selections.filter(state="chosen").first()

    sent = as_alice.post("/benchmarks/words/true-labels/", {"selection": row.pk})

    assert sent.status_code == 302
    benchmark.refresh_from_db()
    vocabulary = {entry["key"]: entry["name"] for entry in benchmark.naming.settings["vocabulary"]}
    assert set(vocabulary) <= set(CLASSES)
    right = next(key for key in vocabulary if key not in (row.first_label, row.second_label))
    crowd.answer(benchmark.naming, people, lambda image, topic: {"key": right})
    truths = true_labels.true_labels(benchmark, [row.image])
    assert truths == {row.image: right}
    address = f"/benchmarks/words/pairs/{row.first.position}/{row.second.position}/"
    assert vocabulary[right] in as_alice.get(address).content.decode()
    rows = as_alice.get("/api/v1/benchmarks/words/selections/").json()["results"]
    assert json.dumps(rows)
