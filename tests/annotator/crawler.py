"""A crawler over the demonstration: no link fails, and none needs many queries."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from labeling.models import User
from tests.clients import logged_in
from tests.test_access import addresses

# What states how often labels are wrong, in a page's text, and what says on which evidence.
CLAIM = re.compile(
    r"(?:error|wrong with a probability of) [^.%]{0,40}\b\d[\d.,]* ?%|% of the settled labels",
    re.IGNORECASE,
)
BASIS = re.compile(r"not measured|measured|gold|audited|answered again|drawn at random", re.I)
LINK = re.compile(r"""\s(?:href|src|hx-get|data-url)=["']([^"'#]+)""")
# Pages of one route in one campaign, dataset or benchmark; the admin site's repeat themselves.
EACH, EACH_OF_ADMIN = 12, 3
# The admin site's page that deletes a user asks every table that refers to users: more with each.
QUERIES, QUERIES_OF_ADMIN = 45, 60


def is_page(path: str) -> bool:
    return path.startswith("/") and not path.startswith(("/static/", "/media/", "//"))


def claims(page: str) -> list[str]:
    """Return the errors of labels that the page states without their basis."""
    main = page.partition("<main")[2]
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())
    return [] if BASIS.search(text) else [match[0] for match in CLAIM.finditer(text)]


class Crawl:
    """One visitor's way through the site; failures in `faults`."""

    def __init__(self, user: User | None) -> None:
        self.client = logged_in(user) if user else Client()
        self.client.raise_request_exception = False
        self.faults: list[str] = []
        self.most: tuple[int, str] = (0, "")
        self.seen: set[str] = set()
        self.lists: dict[str, list[Any]] = {}
        self.visits: Counter[tuple[str, str]] = Counter()

    def get(self, path: str) -> Any:
        reset_queries()  # The log holds 9,000.
        with CaptureQueriesContext(connection) as queries:
            response = self.client.get(path)
            content = response.getvalue() if not response.streaming else b"".join(response)
        if response.status_code >= 500:
            self.faults.append(f"{path}: {response.status_code}")
        if len(queries) > (QUERIES_OF_ADMIN if path.startswith("/admin/") else QUERIES):
            self.faults.append(f"{path}: {len(queries)} queries")
        self.most = max(self.most, (len(queries), path))
        return response, content

    def is_new(self, path: str) -> bool:
        if path in self.seen:
            return False
        self.seen.add(path)
        match = resolve(urlsplit(path).path)
        whose = next((str(match.kwargs[k]) for k in NAMES if k in match.kwargs), "")
        self.visits[match.route, whose] += 1
        most = EACH_OF_ADMIN if path.startswith("/admin/") else EACH
        return self.visits[match.route, whose] <= most

    def pages(self, start: str = "/") -> None:
        queue = [start]
        while queue:
            path = queue.pop()
            response, content = self.get(path)
            links = [response["Location"]] if response.has_header("Location") else []
            if "html" in response.get("Content-Type", ""):
                page = content.decode()
                links += [unescape(link) for link in LINK.findall(page)]
                if path.startswith(("/campaigns/", "/datasets/")):
                    self.faults += [f"{path}: {claim!r} has no basis" for claim in claims(page)]
            for link in links:
                goal = urljoin(path, link)
                if is_page(goal) and self.is_new(goal):
                    queue.append(goal)

    def api(self) -> None:
        """Request every GET of the API; each parameter is what the list above it has."""
        reads = [r for r, view in addresses() if "get" in getattr(view, "actions", {"get": ""})]
        for route in reads:
            if route.startswith("api/"):
                for path in self.fill("/" + route.rstrip("$")):
                    if self.is_new(path):
                        self.get(path)

    def fill(self, route: str) -> Iterator[str]:
        match = re.search(r"<(?:\w+:)?(\w+)>", route)
        if match is None:
            yield route
            return
        for key in self.keys(route[: match.start()], match[1])[:EACH_OF_ADMIN]:
            yield from self.fill(route[: match.start()] + key + route[match.end() :])

    def keys(self, path: str, name: str) -> list[str]:
        if name in FIXED:
            return FIXED[name]
        if path not in self.lists:
            response, content = self.get(path)
            body = json.loads(content) if response.status_code == 200 else []
            self.lists[path] = body if isinstance(body, list) else body.get("results", [])
        names = [KEYS.get(name, name), "id", "name"]
        rows = self.lists[path]
        return [str(next(row[key] for key in names if key in row)) for row in rows]


NAMES = ("name", "campaign", "dataset", "benchmark")
KEYS = dict.fromkeys(NAMES, "name") | {"pk": "id"}
FIXED = {"version": ["1"], "file": ["images.jsonl", "release.json"], "token": ["none"]}
