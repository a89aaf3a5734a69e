"""Access control: every address, with every method, requested by seven people.

tests/access.py has a row for each address; an address or API method without a row fails. A new page
needs a row with the outcome for each of the seven.
"""

import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from labeling.models import ApiToken
from labeling.quality import memberships
from labeling.web import tokens
from tests.access import ADMIN, FILL, PEOPLE, ROWS
from tests.world import World

# Pages of campaigns that draw, in one that does not.
REFUSED = {
    "GET campaigns/<slug:name>/gold/objects/<int:pk>/",
    "GET campaigns/<slug:name>/gold/objects/<int:pk>/image",
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def addresses(resolver: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every address of the site as its pattern, with its view."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = prefix + str(pattern.pattern).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, route)
        else:
            assert isinstance(pattern, URLPattern)
            yield route, pattern.callback


def methods_of(view: Any) -> set[str] | None:
    """What an API action declares; None for other views, which are asked."""
    actions = getattr(view, "actions", None)
    # The framework adds HEAD to whatever answers GET, once it was asked.
    return {method.upper() for method in actions} - {"HEAD"} if actions is not None else None


def fill(route: str, world: World) -> str:
    """A real address of this pattern."""
    path = route
    for pattern, name in FILL:
        match = re.search(pattern, path)
        if match:
            value = world.parts.get(name, name)
            path = path[: match.start(1)] + str(value) + path[match.end(1) :]
    assert "<" not in path, f"tests/access.py does not say what {route} stands for: {path}"
    path = "/" + path.rstrip("$")
    return f"{path}?{world.signature}" if path.rstrip("/").endswith("/image") else path


class Visitor:
    """One person's browser; what a request changes is rolled back."""

    # One for all: every client loads the middleware.
    client = Client(raise_request_exception=False)

    def __init__(self, user: Any = None) -> None:
        self.cookie = ""
        if user is not None:
            self.client.cookies.clear()
            self.client.force_login(user)
            self.cookie = self.client.cookies[settings.SESSION_COOKIE_NAME].value

    def ask(self, method: str, path: str, **headers: str) -> str:
        """The outcome, in the words of the table."""
        self.client.cookies.clear()
        if self.cookie:
            self.client.cookies[settings.SESSION_COOKIE_NAME] = self.cookie
        point = transaction.savepoint()
        try:
            if path.startswith("/api/") and method != "GET":
                response = self.client.generic(
                    method, path, b"{}", "application/json", headers=headers
                )
            else:
                response = getattr(self.client, method.lower())(path, headers=headers)
            if response.streaming:
                b"".join(response)
        finally:
            transaction.savepoint_rollback(point)
        self.status = response.status_code
        return outcome(response)


def outcome(response: Any) -> str:
    if response.status_code in (301, 302):
        goal = response["Location"]
        if goal.startswith("/admin/login"):
            return "admin login"
        return "login" if goal.startswith("/accounts/login") else "in"
    if response.status_code in (401, 403, 404, 405) or response.status_code >= 500:
        return str(response.status_code)
    return "in"


def visitors(world: World) -> dict[str, Visitor]:
    users = [None, world.charlie, world.otto, world.rita, world.bob, world.vera, world.alice]
    return {name: Visitor(user) for name, user in zip(PEOPLE, users, strict=True)}


def test_every_address_is_in_the_table_and_nothing_else():
    routes = {route for route, _ in addresses() if not route.startswith(ADMIN)}

    routes_of_table = {row.split(" ", 1)[1] for row in ROWS}

    assert sorted(routes - routes_of_table) == [], "addresses without a row in tests/access.py"
    assert sorted(routes_of_table - routes) == [], "rows in tests/access.py without an address"


def test_every_method_of_the_api_is_in_the_table():
    declared = {
        f"{method} {route}" for route, view in addresses() for method in methods_of(view) or ()
    }

    rows_of_table = {row for row in ROWS if row.split(" ", 1)[1].startswith("api/v1/")}

    assert sorted(declared ^ rows_of_table) == []


# `make test` asks as five of the seven, `.ci/run` as all.
EVERYBODY = [
    pytest.param(name, marks=pytest.mark.ci if name in ("annotator elsewhere", "reviewer") else ())
    for name in PEOPLE
]


@pytest.mark.parametrize("name", EVERYBODY)
def test_everybody_gets_from_every_address_what_the_table_says(world, name):
    visitor = visitors(world)[name]
    wrong = []
    for row, outcomes in ROWS.items():
        method, route = row.split(" ", 1)
        met, expected = visitor.ask(method, fill(route, world)), outcomes[PEOPLE.index(name)]
        if met != expected:
            wrong.append(f"{row}: expected {expected}, met {met}")
        # Who may see a page sees it, where it can be had without saying more.
        shows = method == "GET" and met == "in" and name == "owner" and row not in REFUSED
        if shows and visitor.status >= 400:
            wrong.append(f"{row}: {visitor.status} for its owner")

    assert not wrong, "\n".join(wrong)


@pytest.mark.ci
def test_no_address_takes_a_method_that_the_table_does_not_name(world):
    owner = visitors(world)["owner"]
    taken = []
    for route in dict.fromkeys(row.split(" ", 1)[1] for row in ROWS):
        # allauth's and the framework's own views have methods of their own.
        if route.startswith(("accounts/", "api/schema", "api/docs")) or route == "api/":
            continue
        path = fill(route, world)
        for method in METHODS:
            if f"{method} {route}" not in ROWS and (met := owner.ask(method, path)) != "405":
                taken.append(f"{method} {route}: {met}")

    assert taken == []


def test_options_says_of_every_address_what_it_takes(world):
    client = Visitor.client
    client.cookies.clear()
    client.force_login(world.alice)
    wrong = []
    for route in dict.fromkeys(row.split(" ", 1)[1] for row in ROWS):
        response = client.options(fill(route, world))
        # Django's own views name the methods in a header, the others refuse or go elsewhere.
        if response.status_code >= 500 or (route.startswith("api/v1/") and not describes(response)):
            wrong.append(f"{route}: {response.status_code}")

    assert wrong == []


def describes(response: Any) -> bool:
    """Whether it describes an address of the API and says which methods it takes."""
    return response.status_code == 200 and bool(response.json()["name"]) and "Allow" in response


def test_the_administration_turns_away_everybody_who_is_not_staff(world):
    people_here = visitors(world)
    wrong = []
    for route, _ in addresses():
        # Its login page is for all; jsi18n is a list of words that says nothing.
        if not route.startswith(ADMIN) or route in (
            "admin/login/",
            "admin/logout/",
            "admin/jsi18n/",
        ):
            continue
        path = "/" + re.sub(r"\(\?P<.*?>.*?\)|<.*?>", "1", route).replace("^", "").rstrip("$")
        for name in ("nobody", "annotator", "owner"):
            met = people_here[name].ask("GET", path)
            if met not in ("admin login", "404"):
                wrong.append(f"{path} as {name}: {met}")

    assert wrong == []


def api_rows() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for row, expected in ROWS.items():
        method, route = row.split(" ", 1)
        if route.startswith("api/v1/"):
            yield method, route, expected


def met_with(secret: str, world: World) -> dict[str, str]:
    """The outcome of every request to the API with this token."""
    program = Visitor()
    return {
        f"{method} {route}": program.ask(
            method, fill(route, world), Authorization=f"Bearer {secret}"
        )
        for method, route, _ in api_rows()
    }


@pytest.mark.ci
def test_a_write_token_goes_where_its_person_goes_but_makes_no_tokens(world):
    _, secret = tokens.create_token(world.alice, "robot", "write", 1)

    met = met_with(secret, world)

    expected = {f"{method} {route}": outcomes[-1] for method, route, outcomes in api_rows()}
    # It revokes no token but itself.
    alone = ("POST api/v1/tokens/", "DELETE api/v1/tokens/<slug:token_key>/")
    assert met == expected | dict.fromkeys(alone, "403")


@pytest.mark.ci
def test_a_read_token_writes_nothing(world):
    _, secret = tokens.create_token(world.alice, "reader", "read", 1)

    met = met_with(secret, world)

    writes = {row: outcome for row, outcome in met.items() if not row.startswith("GET")}
    assert set(writes.values()) == {"403"}
    assert met["GET api/v1/campaigns/<slug:name>/"] == "in"


@pytest.mark.ci
def test_an_expired_a_revoked_and_a_made_up_token_open_nothing(world):
    _, expired = tokens.create_token(world.alice, "old", "write", 1)
    ApiToken.objects.filter(name="old").update(expiry=timezone.now() - timedelta(seconds=1))
    revoked_token, revoked = tokens.create_token(world.alice, "lost", "write", 1)
    tokens.revoke_token(world.alice, revoked_token.token_key)

    for secret in (expired, revoked, "0" * 64):
        assert set(met_with(secret, world).values()) == {"401"}


def test_a_token_of_somebody_who_may_no_longer_log_in_opens_nothing(world):
    _, secret = tokens.create_token(world.alice, "", "write", 1)
    world.alice.is_active = False
    world.alice.save()

    assert set(met_with(secret, world).values()) == {"401"}


def test_a_removed_member_gets_what_a_stranger_gets(world):
    for membership in world.bob.memberships.all():
        memberships.remove(membership, world.alice)
    bob = Visitor(world.bob)
    wrong = []
    for row, expected in ROWS.items():
        method, route = row.split(" ", 1)
        met = bob.ask(method, fill(route, world))
        # A seat that was his: he may still read his own signature, and finds no seat behind it.
        fine = {expected[1]} | ({"404", "in"} if "<slug:token>" in route else set())
        fine |= {"404"} if route == "label/<str:token>/image" else set()
        if met not in fine:
            wrong.append(f"{row}: {met}, not {expected[1]}")

    assert wrong == []
    assert bob.ask("GET", fill("api/v1/seats/<slug:token>/image/", world)) == "404"


def test_a_session_changes_nothing_without_its_csrf_token(world):
    owner = visitors(world)["owner"]
    owner.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    passed = []
    for row in ROWS:
        method, route = row.split(" ", 1)
        if method != "GET" and owner.ask(method, fill(route, world)) != "403":
            passed.append(row)

    assert passed == []


# What tells where an image comes from or which question is gold, in whatever is sent.
TELLTALES = re.compile(r"hidden-lake|00\d\.png|\bgold\b|sha256|question_id|image_id", re.IGNORECASE)
TELLING_KEYS = {"question", "questions", "gold", "dataset", "policy", "sha256", "lane", "ticket"}


def keys_with_values(value: Any) -> Iterator[str]:
    """Keys of the JSON, at any depth, whose values are not empty."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if inner not in (None, [], {}):
                yield key
                yield from keys_with_values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_with_values(inner)


def test_nothing_an_annotator_gets_tells_datasets_images_questions_or_gold(world):
    client = Visitor.client
    client.cookies.clear()
    client.force_login(world.bob)
    hashes = set(world.dataset.images.values_list("sha256", flat=True))
    column = PEOPLE.index("annotator")
    leaks = []
    for row, expected in ROWS.items():
        method, route = row.split(" ", 1)
        if expected[column] != "in" or not ("campaigns" in route or "label" in route or not route):
            continue
        body = {"user": world.bob.pk} if "label/" in route else {}
        point = transaction.savepoint()
        if method == "GET":
            response = client.get(fill(route, world))
        else:
            response = client.post(fill(route, world), body, content_type="application/json")
        transaction.savepoint_rollback(point)
        if response.headers["Content-Type"].startswith("image/"):
            text = ""
        else:
            text = response.content.decode()
        text += repr(dict(response.headers))
        leaks += [f"{row}: {match}" for match in TELLTALES.findall(text)]
        leaks += [f"{row}: a hash" for sha256 in hashes if sha256 in text]
        if response.headers["Content-Type"] == "application/json":
            leaks += [
                f"{row}: {key}" for key in TELLING_KEYS & set(keys_with_values(response.json()))
            ]

    assert leaks == []


def test_an_image_travels_without_name_date_or_tag(world):
    client = Visitor.client
    client.cookies.clear()
    client.force_login(world.bob)
    for route, cached in (
        ("label/<str:token>/image", "private, max-age=1200"),
        ("api/v1/seats/<slug:token>/image/", "private, no-store"),
    ):
        response = client.get(fill(route, world))

        assert response.status_code == 200
        assert not {"ETag", "Last-Modified"} & set(response.headers)
        assert response["Content-Disposition"] == "inline"
        assert response["Cache-Control"] == cached


# Numbers that fit no column: in addresses, in queries and in bodies.

LARGEST = 2**63 - 1
TOO_LARGE = (str(2**63), "1" + "0" * 30, "9" * 5000)
# Numbers in the queries of pages, at once where no page reads two; the schema has the API's.
QUERIES = (("page",), ("question",), ("after", "release", "radius", "version"))


def with_numbers(route: str, world: World, number: str) -> Iterator[str]:
    """The route's real address with the number in place of each of its integers in turn."""
    address, _, query = fill(route, world).partition("?")
    for match in re.finditer(r"<int:\w+>", route):
        depth = route[: match.start()].count("/")
        parts = address.removeprefix("/").split("/")
        parts[depth] = route.split("/")[depth].replace(match.group(), number)
        yield "/" + "/".join(parts) + (f"?{query}" if query else "")


@pytest.mark.ci
def test_no_address_falls_over_a_number_that_fits_no_column(world):
    owner = Visitor(world.alice)
    wrong, tried = [], 0
    for row in ROWS:
        method, route = row.split(" ", 1)
        for number in TOO_LARGE:
            for path in with_numbers(route, world, number):
                tried += 1
                if (met := owner.ask(method, path)).startswith("5"):
                    wrong.append(f"{method} {path[:200]}: {met}")

    assert wrong == []
    assert tried > 100


@pytest.mark.ci
def test_no_query_falls_over_a_number_that_fits_no_column(world, schema):
    parameters_of = {
        path: item["get"].get("parameters", ())
        for path, item in schema["paths"].items()
        if "get" in item
    }
    owner = Visitor(world.alice)
    wrong, tried = [], 0
    for row in ROWS:
        method, route = row.split(" ", 1)
        if method != "GET" or route.startswith("accounts/"):
            continue
        known = parameters_of.get(
            "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route).replace("{pk}", "{id}"), ()
        )
        parameters = [(parameter["name"],) for parameter in known if parameter["in"] == "query"]
        for names in parameters if route.startswith("api/") else QUERIES:
            tried += route.startswith("api/")
            path = fill(route, world)
            query = "&".join(f"{name}={TOO_LARGE[1]}" for name in names)
            path += f"{'&' if '?' in path else '?'}{query}"
            if (met := owner.ask(method, path)).startswith("5"):
                wrong.append(f"GET {path}: {met}")

    assert wrong == []
    assert tried > 20


def test_every_whole_number_that_a_body_takes_has_bounds(schema):
    bodies = {
        f"{method} {path}": action["requestBody"]
        for path, item in schema["paths"].items()
        for method, action in item.items()
        if "requestBody" in action
    }

    faults = [
        (where, *fault) for where, body in bodies.items() for fault in unbounded(body, schema)
    ]

    assert len(bodies) > 20
    assert faults == []


def unbounded(node: Any, schema: dict[str, Any], seen: tuple[str, ...] = ()) -> Iterator[tuple]:
    """Name and content of every writable integer below the node without a maximum that fits."""
    if isinstance(node, list):
        for inner in node:
            yield from unbounded(inner, schema, seen)
    if not isinstance(node, dict):
        return
    name = node.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        yield from unbounded(schema["components"]["schemas"][name], schema, (*seen, name))
    written = node.get("type") == "integer" and not node.get("readOnly")
    if written and node.get("maximum", LARGEST + 1) > LARGEST:
        yield (*seen, node)
    for inner in node.values():
        yield from unbounded(inner, schema, seen)
