"""Whatever comes in wrong gets a problem that names the field and the cure, and changes nothing."""

import json
import random
import re
import uuid

import pytest
from rest_framework.test import APIClient

from labeling.models import Dataset, User
from labeling.web import tokens
from tests.access import ROWS
from tests.cases import for_each
from tests.test_access import fill
from tests.world import build

API = "/api/v1/"


@pytest.fixture
def client(alice) -> APIClient:
    client = APIClient()
    client.force_login(alice)
    return client


def check(response, status: int) -> dict:
    """The problem, once it was found to be whole."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors"}
    assert problem["status"] == status
    assert problem["errors"]
    for error in problem["errors"]:
        assert set(error) == {"field", "message", "cure"}
        assert error["message"]
        assert re.search(r"\.$", error["cure"])
    return problem


def fields(problem: dict) -> list[str | None]:
    return [error["field"] for error in problem["errors"]]


def test_every_field_at_fault_is_named_with_its_cure(client):
    problem = check(client.post(API + "campaigns/", {"name": "x" * 81, "kind": "guess"}), 400)

    assert sorted(fields(problem)) == ["dataset", "kind", "name", "title"]
    cures = {error["field"]: error["cure"] for error in problem["errors"]}
    assert cures["title"] == "Send title."
    assert cures["name"] == "Shorten name."


def test_a_fault_inside_a_list_is_named_by_its_place(client, coots):
    body = {"questions": [{"image": "coots/000.png", "topic": "n1"}, {"image": "x"}]}

    problem = check(client.post(API + "campaigns/coots/questions/", body), 400)

    assert fields(problem) == ["questions.1.topic"]


def test_a_refusal_of_the_domain_keeps_its_code_field_and_cure(client, alice):
    check(client.post(API + "datasets/", {"name": "Not A Name"}), 400)
    client.post(API + "datasets/", {"name": "pond"})

    problem = check(client.post(API + "datasets/", {"name": "pond"}), 409)

    assert problem["code"] == "conflict"
    assert problem["errors"] == [
        {
            "field": "name",
            "message": "A dataset is already called 'pond'.",
            "cure": "Choose another name.",
        }
    ]


def test_unknown_fields_and_filters_are_refused_not_passed_over(client):
    body = check(client.post(API + "datasets/", {"name": "a", "colour": "red"}), 400)
    query = check(client.get(API + "campaigns/?stat=open"), 400)

    assert fields(body) == ["colour"]
    assert fields(query) == ["stat"]
    assert not Dataset.objects.exists()


@for_each(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": NaN}',
        b'{"name": 1e999}',
        b'{"name": "\\ud800"}',
        b'{"name": "a\\u0000b"}',
        b"1" * 5_000,
        b'{"name": ' + b"9" * 5_000 + b"}",
        *(b"[]", b"null", b"7", b'"text"', b"{}"),
    ],
)
def test_what_is_no_json_object_is_refused(client, body):
    check(client.generic("POST", API + "datasets/", body, "application/json"), 400)


def test_a_body_that_is_too_large_is_refused(client):
    body = json.dumps({"name": "a", "description": "x" * 2**20}).encode()

    problem = check(client.generic("POST", API + "datasets/", body, "application/json"), 413)

    assert problem["errors"][0]["cure"] == "Send less per request."


@for_each(
    ("method", "address", "limit", "fields"),
    [
        ("POST", "campaigns/coots/answers/", 2**18, "256 KiB"),
        ("POST", "campaigns/", 2**20, "1 MiB"),
        ("PUT", "datasets/pond/vocabulary/", 2**21, "2 MiB"),
        ("POST", "campaigns/coots/topics/", 2**22, "4 MiB"),
        ("POST", "campaigns/coots/gold/", 2**22, "4 MiB"),
        ("PUT", "campaigns/coots/texts/", 2**22, "4 MiB"),
        ("POST", "campaigns/coots/questions/", 2**24, "16 MiB"),
        ("PUT", "campaigns/coots/graph/", 2**24, "16 MiB"),
    ],
)
@for_each("session", [True, False])
def test_each_view_reads_bodies_up_to_its_limit(
    alice, dataset, coots, method, address, limit, fields, session
):
    client = APIClient()
    if session:
        client.force_login(alice)
    else:
        _, secret = tokens.create_token(alice, scope="write")
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    body = b"[]".ljust(limit)

    within = client.generic(method, API + address, body, "application/json")
    beyond = client.generic(method, API + address, body + b" ", "application/json")

    assert within.status_code in (400, 404, 409), within.content
    assert fields in check(beyond, 413)["detail"]


def test_an_upload_that_is_too_large_is_refused_by_its_length(client, dataset, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 100

    response = client.post(API + "datasets/pond/images/", {"path": "x" * 200}, format="multipart")

    check(response, 413)


def test_a_type_that_is_not_read_here_is_refused(client):
    problem = check(client.generic("POST", API + "datasets/", b"a=1", "text/csv"), 415)

    assert "application/json" in problem["errors"][0]["cure"]


def test_a_wrong_method_an_unknown_address_and_nobody_get_problems(client, db):
    assert client.put(API + "me/")["Content-Type"] == "application/problem+json"
    check(client.put(API + "me/"), 405)
    check(client.get(API + "nothing/"), 404)
    check(client.get("/api/v2/"), 404)
    nobody = APIClient().get(API + "me/")
    check(nobody, 401)
    assert nobody["WWW-Authenticate"] == "Bearer"


# Not base64; a position that is no number; an offset that is none; a number past every integer.
@for_each("cursor", ["x", "cD1hYmM=", "bz14", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OQ=="])
def test_a_cursor_that_was_made_up_leads_nowhere(client, coots, cursor):
    response = client.get(f"{API}campaigns/coots/questions/", {"cursor": cursor})

    if cursor.startswith("cD05"):
        assert response.json()["results"] == []
    else:
        check(response, 404)


# PostgreSQL takes no NUL; the cursor's position would be compared with a name.
@for_each(
    "address", ["campaigns/coots/topics/%00/", "datasets/?name=%00", "campaigns/?cursor=cD0lMDA="]
)
def test_an_address_with_a_nul_leads_nowhere(client, coots, address):
    check(client.get(API + address), 404)


@for_each("header", ["Bearer", "Bearer a b", "Bearer é", "Bearer " + "x" * 5_000])
def test_a_malformed_token_header_is_nobody(db, header):
    check(APIClient().get(API + "me/", HTTP_AUTHORIZATION=header), 401)


def test_throttled_requests_are_told_when_to_come_back(client, monkeypatch):
    from labeling.web.api.accounts import SecretsThrottle

    monkeypatch.setattr(SecretsThrottle, "rate", "1/hour")
    client.post(API + "tokens/", {})

    response = client.post(API + "tokens/", {})

    check(response, 429)
    assert int(response["Retry-After"]) > 0


JUNK = [
    None,
    True,
    0,
    -1,
    2**63,
    10**30,
    1.5,
    "",
    "x",
    "yes",
    "é\u202e",
    "x" * 3_000,
    [],
    [[]],
    [None],
    {},
    {"": None},
    {"key": []},
    [{"image": [], "topic": {}, "answer": "yes"}],
    str(uuid.UUID(int=7)),
]
FIELDS = ("name", "title", "dataset", "settings", "policy", "questions", "value", "answers", "id")


def junk(chance: random.Random) -> object:
    fields = chance.sample(FIELDS, chance.randint(0, 4))
    return {name: chance.choice(JUNK) for name in fields}


@pytest.mark.parametrize(
    "tries", [pytest.param(3, marks=pytest.mark.ci), pytest.param(12, marks=pytest.mark.slow)]
)
def test_no_junk_makes_any_action_fall_over(db, tries):
    """Every write of the API, with its own fields full of the wrong things: never a 500."""
    chance = random.Random(7)
    world = build()
    client = APIClient()
    client.force_login(world.alice)
    fallen = []
    for row in ROWS:
        method, route = row.split(" ", 1)
        if not route.startswith(API[1:]) or method not in ("POST", "PATCH", "PUT"):
            continue
        path = fill(route, world)
        bodies = [[], None, 5, "x", *(junk(chance) for _ in range(tries // 3))]
        for body in bodies + known_fields(method, path, client, chance, tries):
            response = client.generic(method, path, json.dumps(body), "application/json")
            if response.status_code >= 500:
                fallen.append(f"{row} {body!r}: {response.status_code}")
            elif response.status_code >= 400:
                check(response, response.status_code)

    assert fallen == []
    assert User.objects.filter(username="alice").exists()


def known_fields(
    method: str, path: str, client: APIClient, chance: random.Random, tries: int
) -> list[dict]:
    """Bodies whose fields the action has: found out from what it says of an unknown one."""
    response = client.generic(method, path, b'{"no such field": 1}', "application/json")
    if response.status_code != 400:
        return []
    message = " ".join(error["message"] for error in response.json()["errors"])
    fields = re.search(r"Use one of: ([\w, ]+)\.", message)
    names = fields[1].split(", ") if fields else []
    return [{name: chance.choice(JUNK) for name in names} for _ in range(tries)]


HEAD = b"--b\r\nContent-Disposition: form-data; name="


@for_each(
    "body",
    [
        b"",
        b"--b--",
        b"--b\r\n\r\n",
        HEAD + b'"files"; filename="a"\r\n\r\nx',
        HEAD + b'"path"\r\n\r\n\x00\xff\r\n--b--\r\n',
        HEAD + b'"zip"; filename="a"\r\n\r\nPK\r\n--b--\r\n',
    ],
)
def test_broken_forms_are_refused(client, dataset, body):
    address, kind = API + "datasets/pond/images/", "multipart/form-data; boundary=b"

    check(client.generic("POST", address, body, kind), 400)


def test_a_form_without_a_boundary_is_refused(client, dataset):
    check(client.generic("POST", API + "datasets/pond/images/", b"x", "multipart/form-data"), 400)


def test_a_token_that_expires_tomorrow_is_listed_without_its_secret(client, alice):
    made = client.post(API + "tokens/", {"name": "laptop", "scope": "write", "days": 1}).json()

    listing = client.get(API + "tokens/").json()["results"]

    assert [row["name"] for row in listing] == ["laptop"]
    assert "secret" not in listing[0]
    assert client.delete(f"{API}tokens/{made['key']}/").status_code == 204
    assert list(tokens.tokens_of(alice)) == []


@pytest.mark.parametrize("secret", ["unknown", "ünknown", "x" * 500])
def test_a_refused_token_is_logged_with_the_address(db, client, caplog, secret):
    header = f"Bearer {secret}".encode().decode("latin-1")

    response = client.get("/api/v1/campaigns/", HTTP_AUTHORIZATION=header)

    assert response.status_code == 401
    assert "token refused: from 127.0.0.1" in caplog.text
    assert secret not in caplog.text
