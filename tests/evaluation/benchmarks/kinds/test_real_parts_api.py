"""From an empty site by programs alone: parts to CDS, and boxes to WSOL, of three networks."""

import io
import uuid
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from annotator.demo import networks
from annotator.demo.pools import photograph
from labeling.vocabulary import reading
from tests import factories
from tests.clients import API, program, upload
from tests.evaluation import real_parts
from tests.evaluation.pools.test_real_networks_api import posted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]
NO_GOLD = {"gold_share": 0}


def start(client, run_jobs) -> None:
    """A dataset of the four photographs."""
    posted(client, "datasets/", {"name": "photographs"})
    for name in real_parts.PHOTOGRAPHS:
        file = {"files": upload(name, photograph("skimage", name).read_bytes())}
        posted(client, "datasets/photographs/images/", file, format="multipart")
    run_jobs()


def open_campaign(client, name: str, people: int) -> list[Any]:
    """Programs of so many people who joined the campaign."""
    posted(client, f"campaigns/{name}/launch/")
    secret = posted(client, f"campaigns/{name}/invitations/", {"max_uses": people})["secret"]
    programs = [program(factories.make_user(f"person{number}")) for number in range(people)]
    for person in programs:
        posted(person, "invitations/accept/", {"secret": secret})
    return programs


def answer_all(person, campaign: str, value_of) -> int:
    """Answer what this person is asked, until nothing is left; return the number of answers."""
    count = 0
    while seats := posted(person, f"campaigns/{campaign}/seats/", {"size": 1})["seats"]:
        [seat] = seats
        answer = {"id": str(uuid.uuid4()), "seat": seat["seat"], "duration_ms": 9_000}
        body = {"answers": [answer | {"value": value_of(seat, image_of(person, seat))}]}
        [result] = posted(person, f"campaigns/{campaign}/answers/", body)["results"]
        assert result["status"] == "accepted", result
        count += 1
    return count


@cache
def pixels_of(name: str) -> Any:
    return pixels(photograph("skimage", name).read_bytes())


def pixels(content: bytes) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(content)).convert("L"), float)


def image_of(person, seat) -> str:
    """The name of the photograph that a seat shows."""
    seen = pixels(person.get(seat["image"]).getvalue())
    same = [name for name in real_parts.PHOTOGRAPHS if pixels_of(name).shape == seen.shape]
    return min(same, key=lambda name: float(np.abs(pixels_of(name) - seen).mean()))


def scored(client, benchmark: str, run_jobs) -> dict[str, Any]:
    """The result of the newest run."""
    run_jobs()
    [run, *_] = client.get(f"{API}benchmarks/{benchmark}/runs/").json()["results"]
    return client.get(f"{API}benchmarks/{benchmark}/runs/{run['id']}/").json()["result"]


def test_programs_take_parts_to_the_cds_of_three_networks(alice, run_jobs, shell, tmp_path):
    alices = program(alice)
    start(alices, run_jobs)
    words = reading.shipped().content()
    address = f"{API}datasets/photographs/vocabulary/"
    answer = alices.put(address, {"vocabulary": words}, format="json")
    assert answer.status_code == 200, answer.content
    file = {"file": upload("parts.json", real_parts.coco())}
    posted(alices, "datasets/photographs/part-imports/", file, format="multipart")
    run_jobs()
    policy = NO_GOLD | {"votes": 1, "review": "disputed"}
    body = {"name": "parts", "title": "Parts", "kind": "parts", "dataset": "photographs"}
    posted(alices, "campaigns/", body | {"policy": policy})
    posted(alices, "campaigns/parts/objects/")
    [person] = open_campaign(alices, "parts", 1)
    part_keys = {row["key"]: [part["key"] for part in row["parts"]] for row in words["categories"]}
    objects = alices.get(f"{API}datasets/photographs/objects/").json()["results"]
    drawn = {row["image"]: {part["key"] for part in row["parts"]} for row in objects}

    def value_of(seat, image):
        missing = [key for key in part_keys[seat["topic"]] if key not in drawn[image]]
        return {"parts": {key: {"state": "not_visible"} for key in missing}, "half": True}

    assert answer_all(person, "parts", value_of) == 4
    posted(alices, "campaigns/parts/releases/")
    body = {"name": "revealed", "title": "Networks, part by part", "campaign": "parts", "seed": 1}
    body |= {"orders": upload("orders.json", real_parts.orders())}
    body |= {"part_schemes": ["random", "by-eye"]}
    body |= {"mapping": upload("mapping.csv", real_parts.mapping())}
    posted(alices, "benchmark-kinds/cds/benchmarks/", body, format="multipart")
    file = {"file": upload("predictions.csv", real_parts.frame_predictions())}
    posted(alices, "benchmarks/revealed/submissions/", file, format="multipart")
    result = scored(alices, "revealed", run_jobs)

    sequences = alices.get(f"{API}benchmarks/revealed/sequences.jsonl").getvalue()
    assert real_parts.by_shell_cds(shell, sequences, tmp_path) == result["tables"]
    assert real_parts.cds_of(result["tables"]) == real_parts.CDS


@pytest.mark.ci
def test_programs_take_boxes_to_the_localization_of_three_networks(
    alice, run_jobs, shell, tmp_path
):
    alices = program(alice)
    start(alices, run_jobs)
    body = {"name": "boxes", "title": "Boxes", "kind": "boxes", "dataset": "photographs"}
    posted(alices, "campaigns/", body | {"policy": NO_GOLD})
    questions = [{"image": image, "topic": topic} for image, topic in real_parts.BOXES]
    topics = [{"key": wnid} for wnid in dict.fromkeys(wnid for _, wnid in real_parts.BOXES)]
    posted(alices, "campaigns/boxes/topics/", {"topics": topics})
    posted(alices, "campaigns/boxes/questions/", {"questions": questions})
    people = open_campaign(alices, "boxes", 3)

    def value_of(seat, image):
        box = real_parts.BOXES[image, seat["topic"]]
        answers = {"draw": {"box": box, "how": "drag", "flags": []}, "check": "good"}
        return (answers | {"cover": "complete"})[seat["shows"]["step"]]

    while sum(answer_all(person, "boxes", value_of) for person in people):
        run_jobs()
    posted(alices, "campaigns/boxes/releases/")
    body = {"name": "maps", "title": "Networks, maps", "campaign": "boxes", "kind": "wsol"}
    posted(alices, "benchmark-kinds/labeled/benchmarks/", body | {"split": "test"})
    for network in networks.NETWORKS:
        file = {"file": upload("maps.zip", real_parts.score_maps(network))}
        url = f"{API}benchmarks/maps/submissions/{network}/"
        assert alices.put(url, file, format="multipart").status_code == 200
    result = scored(alices, "maps", run_jobs)

    truth = alices.get(f"{API}benchmarks/maps/truth.zip").getvalue()
    real_parts.check_maps(shell, truth, result, tmp_path)
