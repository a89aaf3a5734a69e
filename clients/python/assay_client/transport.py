"""Requests with a token, retries, pages, files and waiting."""

import hashlib
import json
import os
import time
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from assay_client.errors import JobFailed, Problem

ROOT = "/api/v1/"
# Statuses of requests that the site did not carry out; Retry-After says when to repeat them.
RETRIED_STATUSES = (429, 502, 503, 504)
# Methods that are safe to repeat.
SAFE = ("GET", "PUT", "DELETE", "PATCH")
MAX_PAUSE = 60.0
QUEUED_LONG = 30
PAGE = 500
UPLOADS = "uploads/"
# Larger files are sent in parts of this many bytes.
PART = 8 * 1024 * 1024
File = str | Path
Files = Mapping[str, File | list[File]]


class Transport:
    """A connection to a site. retries: attempts after the first; sleep: for tests."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60,
        retries: int = 5,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
        )
        self._retries, self._sleep = retries, sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON at a path below /api/v1/."""
        return self.request("GET", path, params=query).json()

    def post(self, path: str, body: Any = None, *, files: Files | None = None) -> Any:
        return _json(self._send("POST", path, body, files))

    def put(self, path: str, body: Any = None, *, files: Files | None = None) -> Any:
        return _json(self._send("PUT", path, body, files))

    def patch(self, path: str, body: Any) -> Any:
        return _json(self._send("PATCH", path, body, None))

    def delete(self, path: str, **query: Any) -> None:
        """Delete the row at a path.

        Campaigns, datasets, benchmarks and images need `confirm`, which repeats the row's name.
        """
        self.request("DELETE", path, params=query)

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield every row of a list, page after page."""
        page = self.get(path, **{"page_size": PAGE, **query})
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            page = self.request("GET", page["next"]).json()

    def frame(self, path: str, **query: Any) -> Any:
        """Return every row of a list as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.pages(path, **query)))

    def download(self, path: str, goal: File) -> Path:
        """Write a file of the API to `goal`, completely or not at all; return `goal`."""
        goal = Path(goal)
        part = goal.with_name(f"{goal.name}.part")
        with self._http.stream("GET", _below(path)) as response:
            if response.is_error:
                response.read()
                raise Problem(response)
            with part.open("wb") as file:
                file.writelines(response.iter_bytes())
        os.replace(part, goal)
        return goal

    def wait(self, path: str, *, seconds: float = 3600, every: float = 2, **query: Any) -> Any:
        """Return the row at a path once its job is done. Raises JobFailed, TimeoutError.

        Warns if the job has not started after QUEUED_LONG seconds; Python shows the same warning
        only once.
        """
        start = time.monotonic()
        while (row := self.get(path, **query))["state"] not in ("done", "failed"):
            waited = time.monotonic() - start
            if waited > seconds:
                raise TimeoutError(f"{path} is still {row['state']} after {seconds:g} s.")
            if row["state"] == "queued" and waited >= QUEUED_LONG:
                warnings.warn(f"{path} is still queued: does a worker run?", stacklevel=2)
            self._sleep(every)
        if row["state"] == "failed":
            raise JobFailed(row)
        return row

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the response. Repeats requests that the site could not take. Raises Problem."""
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                response = self._http.request(method, _below(path), **more)
            except httpx.TransportError:
                if is_last or (method not in SAFE and path != UPLOADS):
                    raise
                self._sleep(2**attempt)
                continue
            if response.status_code not in RETRIED_STATUSES or is_last:
                break
            self._sleep(_pause(response, attempt))
        if response.is_error:
            raise Problem(response)
        return response

    def upload(self, path: File) -> str:
        """Send a file in parts and return its id, which file fields accept instead of the file.

        Sends only what the site lacks: call it again after a break, also in another process.
        """
        path = Path(path)
        with path.open("rb") as file:
            sha256, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
            names = {"filename": path.name, "sha256": sha256}
            pairs = [f"{key} {b64encode(name.encode()).decode()}" for key, name in names.items()]
            headers = {"Upload-Length": str(size), "Upload-Metadata": ",".join(pairs)}
            response = self.request("POST", UPLOADS, headers=headers)
            address = response.headers["Location"]
            before = -1
            # The loop also ends if the site lost parts; the site then refuses the incomplete
            # upload.
            while before < (offset := int(response.headers["Upload-Offset"])) < size:
                file.seek(offset)
                headers = {
                    "Upload-Offset": str(offset),
                    "Content-Type": "application/offset+octet-stream",
                }
                content, before = file.read(PART), offset
                try:
                    response = self.request("PATCH", address, content=content, headers=headers)
                except Problem as problem:
                    if problem.status != 409:
                        raise
                    # The part had arrived, but the site's answer had not.
                    response = self.request("HEAD", address)
        return sha256

    def _send(self, method: str, path: str, body: Any, files: Files | None) -> httpx.Response:
        if files is None:
            return self.request(method, path, json={} if body is None else body)
        with ExitStack() as opened:
            parts: list[Any] = []
            for field, paths in files.items():
                if not isinstance(paths, list) and Path(paths).stat().st_size > PART:
                    parts.append((field, (None, self.upload(paths))))
                    continue
                for each in paths if isinstance(paths, list) else [paths]:
                    content = opened.enter_context(Path(each).open("rb"))
                    parts.append((field, (Path(each).name, content)))
            # Forms have no objects: the site reads such a field as JSON.
            fields = {
                key: json.dumps(value) if isinstance(value, Mapping) else value
                for key, value in (body or {}).items()
            }
            # A request with open files is not repeated: they are read only once.
            response = self._http.request(method, _below(path), data=fields, files=parts)
        if response.is_error:
            raise Problem(response)
        return response


def _below(path: str) -> str:
    """Return an address of the API; addresses that the site gave stay as they are."""
    return path if path.startswith(("http://", "https://", "/")) else f"{ROOT}{path}"


def _json(response: httpx.Response) -> Any:
    return response.json() if response.content else None


def _pause(response: httpx.Response, attempt: int) -> float:
    stated = response.headers.get("retry-after", "")
    return min(float(stated) if stated.isdigit() else 2.0**attempt, MAX_PAUSE)
