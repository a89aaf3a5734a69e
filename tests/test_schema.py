"""The OpenAPI schema: valid, complete, and cheap to ask for."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client

from annotator import api_urls
from labeling.web.api import subjects
from tests.access import ROWS


def test_the_schema_is_valid_and_without_warnings(schema):
    assert schema["openapi"].startswith("3.")
    assert schema["info"]["title"] == "Assay API"


def test_every_action_of_the_api_is_in_the_schema(schema):
    actions = {
        f"{method.upper()} {path}" for path, item in schema["paths"].items() for method in item
    }

    assert len(actions) == sum(" api/v1/" in row for row in ROWS)


def test_every_action_says_what_it_does_and_how_it_fails(schema):
    for path, item in schema["paths"].items():
        for method, action in item.items():
            assert action.get("description"), f"{method} {path} says nothing"
            assert "application/problem+json" in action["responses"]["default"]["content"]


def test_every_action_has_a_known_subject_and_a_summary_of_one_sentence(schema):
    known = {tag["name"] for tag in schema["tags"]}
    used = set()
    for path, item in schema["paths"].items():
        for method, action in item.items():
            assert action["summary"], f"{method} {path} has no summary"
            assert not action["summary"].endswith("."), action["summary"]
            used.update(action["tags"])
    assert used == known
    assert len(used) > 10


def test_every_example_is_a_body_of_its_action(schema):
    for name, body in subjects.EXAMPLES.items():
        method, path = name.split(" ")
        action = schema["paths"][f"{subjects.ROOT}{path}"][method.lower()]
        content = action["requestBody"]["content"]["application/json"]
        fields = schema["components"]["schemas"][content["schema"]["$ref"].rsplit("/")[-1]]
        assert set(fields.get("required", ())) <= set(body) <= set(fields["properties"]), name
        [example] = content["examples"].values()
        assert example["value"] == body


def test_lists_are_sorted_both_ways(schema):
    parameters = schema["paths"]["/api/v1/campaigns/{campaign}/questions/"]["get"]["parameters"]
    [ordering] = [row["schema"] for row in parameters if row["name"] == "ordering"]
    assert ordering["enum"] == ["id", "-id"]


def test_tokens_and_sessions_are_the_ways_in(schema):
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert "cookieAuth" in schema["components"]["securitySchemes"]


def test_the_schema_is_made_once_for_everybody(db, monkeypatch):
    client = Client()
    first = client.get("/api/schema/")
    monkeypatch.setattr(
        "drf_spectacular.generators.SchemaGenerator.get_schema",
        lambda *args, **kwargs: pytest.fail("the schema was made again"),
    )

    again = client.get("/api/schema/")

    assert first.status_code == again.status_code == 200
    assert again.content == first.content


def test_the_page_to_browse_it_needs_no_inline_script_or_style(db):
    response = Client().get("/api/docs/")

    text = response.content.decode()
    assert response.status_code == 200
    assert "<style" not in text
    assert " style=" not in text
    assert "<script>" not in text
    assert "'unsafe-inline'" not in response["Content-Security-Policy"]


def test_many_who_ask_at_once_get_the_same_schema():
    """However they ask: the framework's inspectors cannot describe two views at once."""
    api_urls.OneSchema.made = None

    def ask(number: int) -> tuple[int, bytes]:
        response = Client().get("/api/schema/", {"n": number})
        return response.status_code, response.content

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(6)))

    assert {status for status, _ in answers} == {200}
    assert len({content for _, content in answers}) == 1
