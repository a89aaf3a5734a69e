"""A competition by programs alone: plan, make, join, score, compare."""

import json

import pytest
from rest_framework.test import APIClient

from evaluation.models import Benchmark
from labeling.campaigns import lifecycle
from labeling.web import tokens
from tests import factories
from tests.clients import upload
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, GOLDFISH

API = "/api/v1/"


@pytest.fixture
def client(alice) -> APIClient:
    _, secret = tokens.create_token(alice, scope="write")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def make(client: APIClient, rows: list[dict], **more):
    body = {"name": "birds", "title": "Birds", "dataset": "pond", "selection": crowd.file_of(rows)}
    return client.post(API + "benchmarks/", body | more, format="multipart")


@pytest.fixture
def birds(client, dataset, wordnet) -> Benchmark:
    rows = crowd.lines()
    crowd.add_images(dataset, rows)
    policy = json.dumps({"votes": 1, "gold_share": 0})
    assert make(client, rows, policy=policy).status_code == 201
    return Benchmark.objects.get()


def test_a_plan_says_cost_and_missing_images_and_makes_nothing(client, dataset, wordnet):
    rows = crowd.lines()
    crowd.add_images(dataset, rows, but={"shared.png"})

    body = {"dataset": "pond", "selection": crowd.file_of(rows)}
    plan = client.post(API + "benchmark-plans/", body, format="multipart").json()

    assert (plan["pairs"], plan["questions"], plan["missing"]) == (3, 15, ["shared.png"])
    assert plan["estimate"]["questions"] == 15
    assert not Benchmark.objects.exists()


def test_a_policy_in_a_form_is_read_as_strictly_as_a_body(client, dataset, wordnet):
    rows = crowd.lines()
    crowd.add_images(dataset, rows)
    for policy in [
        *("[" * 100_000, "[" * 900 + "]" * 900, "9" * 5_000, "{", "[]"),
        *('{"votes": NaN}', '{"votes": 1e999}', '{"votes": "\\u0000"}', '{"\\ud800": 1}'),
    ]:
        response = make(client, rows, policy=policy)

        assert response.status_code == 400, policy
        assert [error["field"] for error in response.json()["errors"]] == ["policy"], policy


def test_json_cannot_have_a_selection(client, dataset, wordnet):
    for address in ["benchmarks/", "benchmark-plans/", "benchmark-kinds/mad/benchmarks/"]:
        answer = client.post(API + address, {"dataset": "pond"}, format="json")

        assert answer.status_code == 415, address


def test_the_same_selection_again_is_the_same_benchmark(client, birds):
    again = make(client, crowd.lines(), policy=json.dumps({"votes": 1, "gold_share": 0}))

    assert again.status_code == 201
    assert Benchmark.objects.count() == 1


def test_a_competition_is_scored_and_read_by_programs(client, birds, alice, run_jobs):
    lifecycle.launch(birds.campaign, alice)
    crowd.answer(birds.campaign, crowd.people_of(birds.campaign, 1), crowd.right_is(COOT))

    first, again = (client.post(API + "benchmarks/birds/runs/") for _ in range(2))
    run_jobs()
    run = client.get(f"{API}benchmarks/birds/runs/{first.json()['id']}/").json()

    assert (first.status_code, first.json()["state"]) == (202, "queued")
    assert again.json() == first.json()
    assert run["state"] == "done"
    assert run["result"]["classifiers"][0] == "alpha"
    assert run["result"]["ranks"][0] == 1.0
    runs_listed = client.get(API + "benchmarks/birds/runs/?state=done").json()["results"]
    assert "result" not in runs_listed[0]


def test_a_classifier_joins_and_the_selection_can_be_fetched(client, birds, dataset):
    pairs = tuple((name, "delta") for name in ("alpha", "beta", "gamma"))
    rows = crowd.lines(pairs)
    crowd.add_images(dataset, rows)
    address = API + "benchmarks/birds/classifiers/"

    joined = client.post(address, {"selection": crowd.file_of(rows)}, format="multipart")
    file = client.get(API + "benchmarks/birds/selection.jsonl")

    assert (joined.status_code, joined.json()) == (201, {"joined": ["delta"]})
    lines = [json.loads(line) for line in b"".join(file).splitlines()]
    assert lines[0]["meta"]["classifiers"] == ["alpha", "beta", "delta", "gamma"]
    assert any(GOLDFISH in line["labels"] for line in lines[1:])
    rows = client.get(API + "benchmarks/birds/selections/?second=delta&state=chosen").json()
    assert len(rows["results"]) == 3 * crowd.TOP_K


def test_accuracies_are_stated_by_name(client, birds):
    address = API + "benchmarks/birds/accuracies/"

    stated = client.put(address, {"accuracies": {"alpha": 76.1, "beta": 0.7}}, format="json")
    unknown = client.put(address, {"accuracies": {"omega": 1}}, format="json")

    assert stated.json() == {"changed": 2}
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (400, "accuracy")
    rows = client.get(API + "benchmarks/birds/classifiers/").json()["results"]
    assert [row["accuracy"] for row in rows] == [76.1, 0.7, None]
    # Nothing is settled: the next score compares with them.
    assert not birds.runs.exists()


def test_nothing_to_compare_is_said_and_leaves_no_run(client, birds):
    response = client.post(API + "benchmarks/birds/runs/")

    assert (response.status_code, response.json()["code"]) == (409, "nothing_to_score")
    assert response.json()["detail"].startswith("No classifiers can be compared yet")
    assert not birds.runs.exists()


def test_a_true_label_is_asked_only_where_both_were_wrong(client, birds, alice):
    lifecycle.launch(birds.campaign, alice)
    [first, second] = birds.selections.filter(state="chosen").order_by("pk")[1:3]
    crowd.answer(
        birds.campaign,
        crowd.people_of(birds.campaign, 1),
        lambda image, topic: "no" if image == first.image else "yes",
    )
    address = API + "benchmarks/birds/true-labels/"

    response = client.post(address, {"selections": [first.pk]}, format="json")
    right = client.post(address, {"selections": [second.pk]}, format="json")
    strange = client.post(address, {"selections": [10**9]}, format="json")

    assert (response.status_code, response.json()["state"]) == (201, "open")
    assert right.status_code == 400
    assert strange.status_code == 404


def test_a_selection_at_fault_is_refused_with_its_line(client, dataset, wordnet):
    body = {"name": "x", "title": "X", "dataset": "pond"}
    for content, message in [
        (b"", "first line"),
        (b"{", "not JSON"),
        (b'{"meta": {}}', "classifiers"),
        (b'{"meta": {"classifiers": ["a", "b"], "top_k": 1}}\n{"pair": ["a", "c"]}', "Line 2"),
        (b"\xff\xfe\x00", "JSON"),
    ]:
        file = upload("selection.jsonl", content)

        response = client.post(API + "benchmarks/", body | {"selection": file}, format="multipart")

        assert response.status_code == 400, content
        [error] = response.json()["errors"]
        assert error["cure"], content
        if content:
            assert message in error["message"], content
        assert not Benchmark.objects.exists(), content


def test_annotators_do_not_learn_that_a_benchmark_exists(client, birds, bob):
    factories.join(bob, birds.campaign)
    _, secret = tokens.create_token(bob, scope="write")

    response = APIClient().get(API + "benchmarks/birds/", HTTP_AUTHORIZATION=f"Bearer {secret}")

    assert response.status_code == 404


def test_a_site_without_wordnet_says_what_is_missing(client, dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path))
    body = {"dataset": "pond", "selection": crowd.file_of(crowd.lines())}

    response = client.post(API + "benchmark-plans/", body, format="multipart")

    assert (response.status_code, response.json()["code"]) == (503, "no_wordnet")
