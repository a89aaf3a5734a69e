"""From photographs and three networks' predictions to ranks, by programs alone."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests import factories
from tests.clients import API, program, upload
from tests.evaluation import real_networks
from tests.evaluation.pools.pool_rows import zipped

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]
PEOPLE = 5


def posted(client: APIClient, path: str, body: Any = None, **options: Any) -> Any:
    response = client.post(API + path, body or {}, **options)
    assert response.status_code < 300, response.content
    return response.json()


def answer_all(client: APIClient, campaign: str) -> int:
    """Answer until no questions are left for this person; return the number of answers."""
    count = 0
    while seats := posted(client, f"campaigns/{campaign}/seats/")["seats"]:
        answers = [
            {
                "id": str(uuid.uuid4()),
                "seat": seat["seat"],
                "value": real_networks.answer_to(seat["topic"]),
                "duration_ms": 900,
            }
            for seat in seats
        ]
        results = posted(client, f"campaigns/{campaign}/answers/", {"answers": answers})["results"]
        assert {result["status"] for result in results} == {"accepted"}
        count += len(answers)
    return count


@pytest.mark.ci
def test_five_programs_rank_three_networks(alice, run_jobs, shell, tmp_path: Path):
    alices = program(alice)
    folder = real_networks.predictions(tmp_path / "predictions")
    posted(alices, "datasets/", {"name": "photographs"})
    images = {"zip": upload("all.zip", real_networks.photographs())}
    posted(alices, "datasets/photographs/images/", images, format="multipart")
    run_jobs()
    pools = "datasets/photographs/pools/"
    file = {"file": upload("p.zip", zipped(folder))}
    pool = posted(alices, f"{pools}upload/", file, format="multipart")
    selections = f"{pools}{pool['id']}/selections/"
    plan = posted(alices, f"{selections}plan/", real_networks.SETTINGS)
    assert (plan["pairs"], plan["images"]) == (3, 27)
    row = posted(alices, selections, real_networks.SETTINGS)
    run_jobs()
    body = {"name": "networks", "title": "Networks"}
    posted(alices, f"{selections}{row['id']}/competition/", body)
    posted(alices, "campaigns/networks/launch/")
    secret = posted(alices, "campaigns/networks/invitations/", {"max_uses": PEOPLE})["secret"]
    people = [program(factories.make_user(f"person{number}")) for number in range(PEOPLE)]
    for person in people:
        posted(person, "invitations/accept/", {"secret": secret})
        answer_all(person, "networks")
    run_jobs()
    posted(alices, "campaigns/networks/close/")
    benchmark = f"{API}benchmarks/networks/"
    run = posted(alices, "benchmarks/networks/runs/")
    run_jobs()

    result = alices.get(f"{benchmark}runs/{run['id']}/").json()["result"]
    paths = [tmp_path / "selection.jsonl", tmp_path / "answers.jsonl"]
    paths[0].write_bytes(alices.get(f"{benchmark}selection.jsonl").getvalue())
    paths[1].write_bytes(alices.get(f"{benchmark}runs/{run['id']}/answers.jsonl").getvalue())
    arguments = ("--selection", paths[0], "--answers", paths[1], "--ablation")
    by_shell = shell.result("mad", "rank", *arguments)
    assert {key: result[key] for key in by_shell} == by_shell
    assert (result["ranks"], result["images"]) == (real_networks.RANKS, real_networks.IMAGES)
    lines = alices.get(f"{API}{selections}{row['id']}/selection.jsonl").getvalue().splitlines()
    real_networks.check_answers([json.loads(line) for line in lines[1:]])
