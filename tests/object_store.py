"""An S3 server in a thread of the tests: counts what it is asked, and can be down."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import boto3

KEY = {"ASSAY_S3_KEY_ID": "of-the-site", "ASSAY_S3_SECRET": "never sent"}
REGION = "us-east-1"
REFUSED = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


@dataclass(frozen=True)
class Request:
    """One request as the server saw it. path: with bucket, without query."""

    method: str
    path: str
    status: int
    bytes_sent: int


@dataclass
class Server:
    """endpoint: its address. requests: all of them since the start, in order of their ends.

    refuses: the status for a method and path, 0 where the request is served. halves: how many more
    answers it ends in their middle.
    """

    app: Callable[..., Iterable[bytes]]
    endpoint: str = ""
    requests: list[Request] = field(default_factory=list)
    refuses: Callable[[str, str], int] = lambda method, path: 0
    halves: int = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        begun: list[Any] = []
        if status := self.refuses(method, path):
            # Read whole, as servers do: a connection that is cut is another failure.
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            begun, body = [f"{status} refused", [("Content-Type", "application/xml")]], REFUSED
            body = b"" if method == "HEAD" else body
        else:
            answer = self.app(environ, lambda *args: begun.extend(args))
            body = b"".join(answer)
            if hasattr(answer, "close"):
                answer.close()
            if self.halves and body:
                self.halves -= 1
                # The length stays as it was.
                body = body[: len(body) // 2]
        start_response(*begun[:2])
        status = int(begun[0].partition(" ")[0])
        self.requests.append(Request(method, path, status, len(body)))
        return [body]


@dataclass(frozen=True)
class Bucket:
    """A new bucket on the server; what it counts begins with it."""

    server: Server
    name: str
    first_request: int

    @property
    def site(self) -> dict[str, str]:
        """The environment of a site that keeps its files in this bucket."""
        return {"ASSAY_S3_BUCKET": self.name, "ASSAY_S3_ENDPOINT": self.server.endpoint, **KEY}

    @property
    def tasks(self) -> dict[str, str]:
        """The environment of commands with `--work s3://NAME/…`."""
        return {
            "AWS_ENDPOINT": self.server.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": KEY["ASSAY_S3_KEY_ID"],
            "AWS_SECRET_ACCESS_KEY": KEY["ASSAY_S3_SECRET"],
        }

    @property
    def requests(self) -> list[Request]:
        """Those that were about this bucket."""
        requests = self.server.requests[self.first_request :]
        return [request for request in requests if request.path.split("/")[1] == self.name]

    @property
    def objects(self) -> dict[str, bytes]:
        """Everything that is in the bucket, by key."""
        pages = client(self.server.endpoint).get_paginator("list_objects_v2")
        listing = pages.paginate(Bucket=self.name)
        keys = [row["Key"] for page in listing for row in page.get("Contents", ())]
        return {key: self.get(key) for key in keys}

    def get(self, key: str) -> bytes:
        return client(self.server.endpoint).get_object(Bucket=self.name, Key=key)["Body"].read()

    def put(self, key: str, content: bytes) -> None:
        client(self.server.endpoint).put_object(Bucket=self.name, Key=key, Body=content)

    def delete(self, key: str) -> None:
        client(self.server.endpoint).delete_object(Bucket=self.name, Key=key)

    @contextmanager
    def refusing(self, status: int = 503, *methods: str, ending: str = "") -> Iterator[None]:
        """Answers with this status inside: all requests, or those of these methods, about keys of
        this ending."""
        kept = self.server.refuses
        self.server.refuses = lambda method, path: (
            status
            if (not methods or method in methods) and path.endswith(ending)
            else kept(method, path)
        )
        try:
            yield
        finally:
            self.server.refuses = kept

    @contextmanager
    def halving(self, times: int = 1_000) -> Iterator[None]:
        """Ends so many answers inside in their middle."""
        self.server.halves = times
        try:
            yield
        finally:
            self.server.halves = 0


@cache
def client(endpoint: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=KEY["ASSAY_S3_KEY_ID"],
        aws_secret_access_key=KEY["ASSAY_S3_SECRET"],
    )


@contextmanager
def serving() -> Iterator[Server]:
    """A server at a free port of this machine, reached by other processes too."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            pass

    server = Server(DomainDispatcherApplication(create_backend_app))
    http = make_server("127.0.0.1", 0, server, threaded=True, request_handler=Silent)
    server.endpoint = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True, name="S3")
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def new_bucket(server: Server) -> Bucket:
    name = f"assay-{uuid.uuid4().hex[:12]}"
    client(server.endpoint).create_bucket(Bucket=name)
    return Bucket(server, name, len(server.requests))
