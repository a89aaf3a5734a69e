"""Graphs, standings, blocks, calibrations, audits and figures, by programs alone."""

import pytest

from labeling.campaigns import lifecycle
from labeling.models import Campaign, Decision, Membership
from tests import factories
from tests.cases import for_each
from tests.labeling.crowd import crowd
from tests.labeling.web.test_views_graph import PETS
from tests.labeling.web.test_views_quality import golden, member

API = "/api/v1/campaigns/"


@pytest.fixture
def pets(alices, dataset) -> Campaign:
    body = {"name": "pets", "title": "Pets", "kind": "hierarchy", "dataset": "pond"}
    assert alices.post(API, body).status_code == 201
    for number in range(3):
        factories.make_image(dataset, f"{number}.png")
    return Campaign.objects.get(name="pets")


# Graphs


def test_a_campaign_on_a_graph_is_made_by_programs_alone(alices, pets):
    assert alices.get(f"{API}pets/graph/").status_code == 404
    made = alices.put(f"{API}pets/graph/", {"graph": PETS, "reason": "pilot"})
    again = alices.put(f"{API}pets/graph/", {"graph": PETS})

    assert (made.status_code, made.json()["version"], again.json()["version"]) == (200, 1, 1)
    assert alices.get(f"{API}pets/graph/").json() == made.json()
    assert Decision.objects.get(kind="graph").reason == "pilot"
    opened = alices.post(f"{API}pets/graph/images/", {"images": ["0.png"]})
    assert (opened.status_code, opened.json()) == (202, {"opened": 2})
    assert alices.post(f"{API}pets/graph/images/").json() == {"opened": 4}
    assert alices.post(f"{API}pets/launch/").json()["state"] == "open"


def test_every_fault_of_a_graph_is_an_error_with_its_cure_and_changes_nothing(alices, pets):
    alices.put(f"{API}pets/graph/", {"graph": PETS})
    faulty = {
        "nodes": [
            {"id": "a", "question": "A?", "parents": ["nowhere"], "class": "a"},
            {"id": "b", "question": "B?"},
        ]
    }

    response = alices.put(f"{API}pets/graph/", {"graph": faulty})

    problem = response.json()
    assert (response.status_code, problem["code"]) == (400, "bad_graph")
    assert [error["field"] for error in problem["errors"]] == ["graph"] * len(problem["errors"])
    assert {
        "field": "graph",
        "message": "b: has neither children nor a class",
        "cure": "Add one.",
    } in problem["errors"]
    assert any("nowhere" in error["message"] for error in problem["errors"])
    assert pets.graphs.count() == 1


def test_images_that_are_not_there_open_nothing(alices, pets):
    alices.put(f"{API}pets/graph/", {"graph": PETS})

    response = alices.post(f"{API}pets/graph/images/", {"images": ["0.png", "no.png"]})

    assert response.status_code == 400
    assert "no.png" in response.json()["detail"]
    assert not pets.questions.exists()


# People


def test_a_block_and_its_lifting(alices, coots):
    people = crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    person = member(coots, people[4])

    made = alices.post(f"{API}coots/blocks/", {"member": person.pk, "reason": "guesses"})

    assert made.status_code == 201
    assert made.json() == {
        "member": person.pk,
        "changed": True,
        "answers": 6,
        "decided": 0,
        "reopened": 6,
    }
    again = alices.post(f"{API}coots/blocks/", {"member": person.pk, "reason": "guesses"})
    assert (again.status_code, again.json()["changed"]) == (201, False)
    [row] = alices.get(f"{API}coots/blocks/").json()["results"]
    assert (row["member"], row["stage"]) == (person.pk, "blocked")
    assert alices.delete(f"{API}coots/blocks/{person.pk}/").status_code == 204
    assert alices.get(f"{API}coots/blocks/").json()["results"] == []
    assert coots.questions.filter(state="settled").count() == 6


@for_each("body", [{}, {"member": 1}, {"reason": "x"}, {"member": 0, "reason": "x"}])
def test_a_block_names_a_member_and_a_reason(alices, coots, body):
    assert alices.post(f"{API}coots/blocks/", body).status_code == 400
    assert not coots.memberships.filter(stage="blocked").exists()


def test_somebody_is_paused_and_pardoned_with_reasons(alices, coots, bob):
    person = member(coots, bob)

    paused = alices.post(f"{API}coots/members/{person.pk}/pause/", {"reason": "a word first"})
    assert (paused.status_code, paused.json()["stage"]) == (200, "paused")
    [row] = alices.get(f"{API}coots/standings/?stage=paused").json()["results"]
    assert row["member"] == person.pk
    twice = alices.post(f"{API}coots/members/{person.pk}/pause/", {"reason": "again"})
    assert twice.status_code == 409
    pardoned = alices.post(f"{API}coots/members/{person.pk}/pardon/", {"reason": "talked"})
    assert pardoned.json()["stage"] == "working"


# Rules


def test_rules_that_stop_everybody_are_refused_until_confirmed(alices, coots, alice, bob):
    lifecycle.change_policy(coots, alice, {"gold_action": "none", "gold_share": 0.5})
    coots.refresh_from_db()
    golden(coots, alice, 12)
    people = crowd(coots, ["no"], pages=3)
    Membership.objects.filter(user=bob).update(stage="paused")
    body = {"content": {"gold_action": "block"}}

    preview = alices.post(f"{API}coots/policies/preview/", body).json()
    assert [(row["pseudonym"], row["action"]) for row in preview] == [
        (people[0].pseudonym, "block")
    ]
    refused = alices.post(f"{API}coots/policies/", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "blocks_everyone")
    assert coots.policies.count() == 2
    assert alices.post(f"{API}coots/policies/", body | {"confirmed": True}).status_code == 201


# Figures


def test_figures_and_an_audit(alices, coots):
    assert alices.get(f"{API}coots/audits/").status_code == 404
    assert alices.get(f"{API}coots/quality/").json()["alpha"] is None
    crowd(coots, ["yes", "yes", "yes", "yes", "no"])

    figures = alices.get(f"{API}coots/quality/").json()
    assert (figures["decided"], figures["votes"]) == (6, 5.0)
    assert figures["alpha"] == pytest.approx(-0.2083, abs=1e-4)
    drawn = alices.post(f"{API}coots/audits/", {"n": 4, "seed": 1})
    assert (drawn.status_code, drawn.json()["drawn"]) == (201, 4)
    assert (drawn.json()["error"], drawn.json()["calibration"]) == (None, None)
    assert alices.post(f"{API}coots/audits/", {"n": 7}).status_code == 409
    assert alices.get(f"{API}coots/audits/").json() == drawn.json()


def test_calibrations_are_listed_and_read(alices, coots):
    people = crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    alices.post(f"{API}coots/blocks/", {"member": member(coots, people[4]).pk, "reason": "x"})

    [row] = alices.get(f"{API}coots/calibrations/").json()["results"]

    assert set(row) == {"number", "reason", "created_at"}
    whole = alices.get(f"{API}coots/calibrations/{row['number']}/").json()
    assert whole["content"]["voided"] == [people[4].pk]
    assert alices.get(f"{API}coots/calibrations/99/").status_code == 404


def test_a_graph_made_from_an_older_version_is_a_conflict(alices, pets):
    for name in ("one", "two"):
        alices.put(f"{API}pets/graph/", {"graph": PETS | {"name": name}})

    late = alices.put(f"{API}pets/graph/", {"graph": PETS | {"name": "three"}, "version": 1})
    good = alices.put(f"{API}pets/graph/", {"graph": PETS | {"name": "three"}, "version": 2})

    assert (late.status_code, good.status_code, good.json()["version"]) == (409, 200, 3)
