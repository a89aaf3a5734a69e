"""Errors: the site refuses a request, or a job fails."""

from typing import Any

import httpx


class Problem(Exception):
    """A refused request, as RFC 9457 problem details.

    status: the HTTP status. code: stable, for programs. errors: an entry per field, with its cure.
    """

    def __init__(self, response: httpx.Response) -> None:
        body: Any = {}
        if response.headers.get("content-type", "").startswith("application/problem+json"):
            body = response.json()
        self.status = response.status_code
        self.code: str = body.get("code", "")
        self.errors: list[dict[str, Any]] = body.get("errors", [])
        cures = " ".join(error["cure"] for error in self.errors if error.get("cure"))
        detail = body.get("detail") or response.text[:200] or response.reason_phrase
        super().__init__(f"{self.status}: {detail} {cures}".strip())


class JobFailed(Exception):
    """A job that the site could not finish. row: as the API states it."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        super().__init__(row.get("error") or "The job failed.")
