"""CDS benchmarks for programs."""

import json

import pytest

from evaluation.models import Benchmark, Run
from labeling.releases import freezing
from tests import factories
from tests.clients import API, program, upload
from tests.evaluation import crowd
from tests.evaluation.cds import world
from tests.labeling.parted import CAT, COW

NEW = API + "cds-benchmarks/"
ONE = API + "benchmarks/reveal/"


@pytest.fixture
def client(alice):
    return program(alice)


def test_a_benchmark_is_made_from_json(client, cats):
    body = {"name": "reveal", "title": "Reveal", "campaign": "cats", "bootstrap": 20}

    made, again = (client.post(NEW, body, format="json") for _ in range(2))

    assert (made.status_code, again.status_code) == (201, 201)
    document = made.json()
    assert (document["kind"], document["campaign"], document["release"]) == ("cds", "cats", 1)
    assert document["settings"]["part_schemes"] == ["random"]
    assert len(document["settings"]["content_schemes"]) == 4
    assert Benchmark.objects.count() == 1
    assert client.get(ONE).json() == document


def test_a_benchmark_is_made_with_files(client, cats, wordnet):
    mapping = f"category,wnid\n{CAT},{CAT}\n{COW},{COW}\n"
    orders = world.orders_of(cats, mine=list, other=lambda keys: keys[::-1])
    body = {
        "name": "reveal",
        "title": "Reveal",
        "campaign": "cats",
        "content_schemes": ["low", "intra-object"],
        "orders": upload("orders.json", json.dumps({"orders": orders})),
        "mapping": upload("mapping.csv", mapping),
    }

    made = client.post(NEW, body, format="multipart").json()

    assert made["settings"]["part_schemes"] == ["mine", "other"]
    assert made["settings"]["content_schemes"] == ["intra-object", "low"]
    assert made["settings"]["mapping"] == {CAT: [CAT], COW: [COW]}


def test_a_plan_counts_and_makes_nothing(client, alice, cats):
    body = {"campaign": "cats", "content_schemes": ["low"]}
    address = API + "cds-benchmark-plans/"

    without = client.post(address, body, format="json")
    freezing.freeze(cats, alice)
    plan = client.post(address, body, format="json")

    assert (without.status_code, without.json()["errors"][0]["field"]) == (400, "campaign")
    assert plan.status_code == 200
    assert {key: plan.json()[key] for key in ("release", "objects", "sequences", "left_out")} == {
        "release": 1,
        "objects": 3,
        "sequences": 3,
        "left_out": 0,
    }
    assert not Benchmark.objects.exists()


def test_what_cannot_be_is_refused_by_its_field(client, cats, alice):
    pool = factories.make_dataset(alice, "lake")
    factories.make_campaign(alice, pool, "coots", images=1)
    for changes, status, field in [
        ({"campaign": "nowhere"}, 404, None),
        ({"campaign": "coots"}, 400, "campaign"),
        ({"release": 7}, 404, None),
        ({"part_schemes": ["E_U"]}, 400, "part_schemes"),
        ({"content_schemes": ["sharp"]}, 400, "content_schemes.0"),
        ({"bootstrap": -1}, 400, "bootstrap"),
        ({"colour": "red"}, 400, "colour"),
    ]:
        body = {"name": "reveal", "title": "Reveal", "campaign": "cats"} | changes

        answer = client.post(NEW, body, format="json")

        assert answer.status_code == status, changes
        assert answer.json()["errors"][0]["field"] == field, changes
        assert not Benchmark.objects.exists(), changes


def test_a_file_at_fault_is_refused_by_its_field_and_line(client, cats, wordnet):
    body = {"name": "reveal", "title": "Reveal", "campaign": "cats"}
    for field, content, message in [
        ("orders", b"{", "is not JSON"),
        ("orders", b'{"orders": {"mine": {"n02121620": ["wing"]}}}', "wing"),
        ("mapping", b"category,wnid\nn02121620,dog\n", "line 2: 'dog' is not a noun"),
    ]:
        answer = client.post(NEW, body | {field: upload("f", content)}, format="multipart")

        [error] = answer.json()["errors"]
        assert (answer.status_code, error["field"]) == (400, field), field
        assert message in error["message"], field
        assert not Benchmark.objects.exists(), field


def test_another_persons_campaign_is_not_there(cats):
    stranger = factories.make_user("other", is_researcher=True)
    body = {"name": "reveal", "title": "Reveal", "campaign": "cats"}

    assert program(stranger).post(NEW, body, format="json").status_code == 404


def test_classifiers_join_are_scored_and_read(client, reveal, wordnet, run_jobs):
    rows = world.rows_of(reveal, alpha=world.always_right, beta=world.right_at_last)
    address = ONE + "predictions/"

    joined = client.post(address, {"predictions": world.upload(rows)}, format="multipart")
    again = client.post(address, {"predictions": world.upload(rows)}, format="multipart")
    run_jobs()

    assert (joined.status_code, joined.json()) == (201, {"joined": ["alpha", "beta"]})
    assert again.json() == {"joined": []}
    entries = client.get(ONE + "classifiers/").json()["results"]
    assert [(row["name"], row["position"], row["is_people"]) for row in entries] == [
        ("alpha", 0, False),
        ("beta", 1, False),
    ]
    assert all(len(row["sha256"]) == 64 for row in entries)
    run = client.get(ONE + "runs/").json()["results"][0]
    result = client.get(f"{ONE}runs/{run['id']}/").json()["result"]
    assert result["classifiers"] == ["alpha", "beta"]
    assert result["tables"]["by_content_scheme"]
    rows = b"".join(client.get(f"{ONE}runs/{run['id']}/sequences.jsonl")).splitlines()
    assert len(rows) == 6 * 2
    assert json.loads(rows[0])["cds"] == 0
    answers = b"".join(client.get(f"{ONE}runs/{run['id']}/answers.jsonl")).splitlines()
    assert json.loads(answers[0])["answers"]["alpha"][0]["right"] is True


def test_missing_frames_are_counted_and_wrong(client, reveal, wordnet, run_jobs):
    rows = world.rows_of(reveal, alpha=world.always_right, beta=world.always_right)
    lacking = [row for row in rows if row[1] == "beta" or not row[0].startswith("cats/0.png/cat-1")]
    lines = [
        json.loads(line) for line in b"".join(client.get(ONE + "sequences.jsonl")).splitlines()
    ]
    frames = {frame for line in lines for frame in line["frames"]}
    number = sum(frame.startswith("cats/0.png/cat-1") for frame in frames)
    body = {"file": world.upload(lacking)}

    joined = client.post(ONE + "submissions/", body, format="multipart")
    run_jobs()

    assert joined.json() == {"joined": ["alpha", "beta"], "missing_frames": {"alpha": number}}
    entries = client.get(ONE + "submissions/").json()["results"]
    assert [row["missing_frames"] for row in entries] == [number, 0]
    run = client.get(ONE + "runs/").json()["results"][0]
    result = client.get(f"{ONE}runs/{run['id']}/").json()["result"]
    assert f"alpha lacks {number} frames; missing frames count as wrong." in result["notes"]
    scored = b"".join(client.get(f"{ONE}runs/{run['id']}/sequences.jsonl")).splitlines()
    scores = {
        (row["image"], row["object"], row["classifier"]): row for row in map(json.loads, scored)
    }
    wrong, right = scores["cats/0.png", "cat-1", "alpha"], scores["cats/0.png", "cat-1", "beta"]
    assert (wrong["cds"], wrong["b_cds"], right["cds"]) == (1, 1, 0)

    body = {"file": world.upload([*rows, rows[0]])}
    twice = client.post(ONE + "submissions/", body, format="multipart")
    assert twice.status_code == 400
    assert "is repeated for 'alpha'" in twice.json()["detail"]


def test_frames_and_orders_can_be_fetched(client, reveal):
    lines = b"".join(client.get(ONE + "sequences.jsonl")).splitlines()
    orders = json.loads(b"".join(client.get(ONE + "orders.json")))

    assert json.loads(lines[0])["frames"][0] == "cats/0.png/cat-1/random/intra-object/01"
    assert orders["orders"] == reveal.settings["orders"]


def test_bad_predictions_are_refused_with_their_line(client, reveal, wordnet):
    rows = world.rows_of(reveal, alpha=world.always_right)
    rows[0][2] = "dog"

    answer = client.post(
        ONE + "predictions/", {"predictions": world.upload(rows)}, format="multipart"
    )

    assert answer.status_code == 400
    assert "Line 2: 'dog' is not a noun of WordNet 3.0." in answer.json()["detail"]
    assert not Run.objects.exists()


def test_a_classifier_leaves(client, reveal, alice, wordnet, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.always_right)

    gone = client.delete(ONE + "classifiers/0/")

    assert gone.status_code == 204
    assert client.delete(ONE + "classifiers/0/").status_code == 404
    assert list(reveal.submissions.values_list("name", flat=True)) == ["beta"]
    assert Run.objects.count() == 1


def test_a_competition_and_a_cds_benchmark_have_no_doors_of_the_other(
    client, alice, reveal, wordnet
):
    crowd.make(alice, factories.make_dataset(alice, "lake"), wordnet)
    birds = API + "benchmarks/birds/"

    met = [
        client.get(birds + "sequences.jsonl"),
        client.get(birds + "orders.json"),
        client.post(birds + "predictions/"),
        client.delete(birds + "classifiers/0/"),
        client.get(ONE + "selections/"),
        client.get(ONE + "selection.jsonl"),
        client.post(ONE + "classifiers/"),
        client.put(ONE + "accuracies/"),
        client.post(ONE + "true-labels/"),
    ]

    assert [answer.status_code for answer in met] == [404] * len(met)


def test_runs_without_a_result_have_no_files(client, reveal):
    run = reveal.runs.create(state="failed")

    assert client.get(f"{ONE}runs/{run.pk}/sequences.jsonl").status_code == 404
    assert client.get(f"{ONE}runs/{run.pk + 1}/answers.jsonl").status_code == 404


def test_kinds_can_be_filtered(client, alice, reveal, wordnet):
    crowd.make(alice, factories.make_dataset(alice, "lake"), wordnet)

    names = [row["name"] for row in client.get(API + "benchmarks/?kind=cds").json()["results"]]

    assert names == ["reveal"]
