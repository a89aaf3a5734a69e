"""An id for each request: in the response, in each line of the log, and with jobs it queues."""

import io
import json
import logging
import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotator import celery, request_log
from labeling import tasks
from labeling.jobs import queue
from labeling.models import Job
from tests.cases import for_each


@pytest.fixture
def lines(settings):
    """What is logged during the test as the lines that LOG_FORMAT=json writes, read again."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(request_log.LogContext())
    handler.setFormatter(request_log.json_formatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel("INFO")
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def in_request():
    token = request_log.request_id.set("of-the-request")
    yield "of-the-request"
    request_log.request_id.reset(token)


def test_an_id_is_made_for_each_request(client, db):
    first, second = (client.get("/accounts/login/")["X-Request-ID"] for _ in range(2))

    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first != second


@for_each("path", ["/accounts/login/", "/no/such/page", "/api/v1/runs/"])
def test_the_id_of_the_caller_comes_back_from_every_address(client, db, path):
    response = client.get(path, headers={"x-request-id": "proxy-7.a_B"})

    assert response["X-Request-ID"] == "proxy-7.a_B"


@for_each("sent", ["", "a b", 'a"b', "a\nlevel=ERROR", "x" * 65, "naïve", "a/b", "{}", "<b>"])
def test_an_id_that_is_not_well_formed_is_replaced(client, db, sent):
    response = client.get("/accounts/login/", headers={"x-request-id": sent})

    assert re.fullmatch("[0-9a-f]{32}", response["X-Request-ID"])


def test_a_request_is_one_line_with_its_route_and_no_secret_of_the_address(client, db, lines):
    client.get("/join/of-alice-alone/?token=hidden", headers={"x-request-id": "seven"})

    (line,) = [line for line in lines() if line["logger"] == "annotator.request_log"]
    assert line["level"] == "INFO"
    assert line["request_id"] == "seven"
    assert (line["method"], line["route"], line["status"]) == ("GET", "join/<str:secret>/", 410)
    assert line["milliseconds"] >= 0
    assert line["timestamp"].endswith("+00:00")
    assert "alone" not in json.dumps(line)
    assert "hidden" not in json.dumps(line)


@pytest.mark.parametrize("method", ["get", "delete"])
def test_what_django_logs_of_a_refusal_has_the_route_too(client, db, lines, method):
    getattr(client, method)("/join/of-alice-älone/?token=hidden")

    (line,) = [line for line in lines() if line["logger"] == "django.request"]
    assert line["message"].endswith(": /join/<str:secret>/")
    assert "of-alice" not in json.dumps(line)


def test_every_line_of_a_request_has_its_id_and_none_after_it(client, db, lines):
    client.get("/no/such/page", headers={"x-request-id": "seven"})
    logging.getLogger("later").info("it is over")

    missing, later = lines()
    assert (missing["logger"], missing["request_id"]) == ("django.request", "seven")
    assert missing["message"] == "Not Found: /no/such/page"
    assert "request_id" not in later
    assert "request" not in missing


def test_an_error_is_one_line_with_its_traceback(lines):
    try:
        raise ValueError("on\ntwo lines")
    except ValueError:
        logging.getLogger("x").exception("it failed")

    (line,) = lines()
    assert "ValueError: on\ntwo lines" in line["exc_info"]


def test_monitoring_fills_no_log(client, db, lines):
    for path in ("/livez", "/healthz"):
        client.get(path)

    assert lines() == []


def test_text_lines_stay_as_they_were_outside_requests(in_request):
    formatter = logging.Formatter("%(levelname)s %(name)s%(context)s: %(message)s")
    record = logging.LogRecord("labeling", logging.INFO, "", 0, "settled", None, None)
    request_log.LogContext().filter(record)
    assert formatter.format(record) == "INFO labeling request_id=of-the-request: settled"

    request_log.request_id.set("")
    request_log.LogContext().filter(record)

    assert formatter.format(record) == "INFO labeling: settled"


def test_a_message_takes_the_id_of_the_request_along(in_request):
    with celery.app.connection_for_read() as connection:
        waiting = connection.SimpleQueue("celery")
        waiting.clear()

        assert queue._send(17, "slow", patience=20)

        message = waiting.get(timeout=60)
        message.ack()
        waiting.close()
    assert message.headers["request_id"] == "of-the-request"
    assert message.payload[0] == [17]


def test_what_a_job_logs_has_the_id_of_its_request_and_its_number(db, lines, settings):
    settings.ASSAY_JOB_HANDLERS = {"fails": "tests.annotator.test_request_log.fails"}
    job = Job.objects.create(kind="fails", key="1")

    run_as_worker("of-the-request", job.pk)

    (line,) = lines()
    assert (line["request_id"], line["job"]) == ("of-the-request", job.pk)
    assert line["message"] == f"job {job.pk} (fails 1) failed"
    assert request_log.request_id.get() == ""
    assert request_log.job.get() is None


def test_a_task_of_the_clock_has_an_id_of_its_own(lines, db):
    run_as_worker(None, 10**9)
    celery.take_request_id(task=tasks.sweep, task_id="of-the-task", args=())
    logging.getLogger("x").info("swept")
    celery.forget_request_id()

    assert lines()[-1]["request_id"] == "of-the-task"
    assert "job" not in lines()[-1]


def fails(job):
    raise OSError("no room")


def run_as_worker(name, number):
    """Runs the job as a worker does: with the headers of its message in the task's request."""
    tasks.run_job.push_request(**({"request_id": name} if name else {}))
    celery.take_request_id(task=tasks.run_job, task_id="of-the-task", args=[number])
    try:
        tasks.run_job.run(number)
    finally:
        celery.forget_request_id()
        tasks.run_job.pop_request()


def test_the_thread_that_renews_a_lease_has_the_context_of_the_job(db, in_request, monkeypatch):
    seen = []
    monkeypatch.setattr(
        queue._Heartbeat, "_beat", lambda self: seen.append(request_log.request_id.get())
    )

    with queue._Heartbeat(Job(pk=1)):
        pass

    assert seen == ["of-the-request"]


def test_celery_leaves_the_handlers_and_takes_the_level_of_its_command_line():
    root = logging.getLogger()
    before = list(root.handlers)
    logger = logging.getLogger("celery")
    level = logger.level

    celery.keep_logging(loglevel=logging.WARNING)

    assert (root.handlers, logger.level) == (before, logging.WARNING)
    logger.setLevel(level)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LOG_FORMAT", "jsn", "LOG_FORMAT is 'jsn', expected text or json"),
        ("LOG_LEVEL", "LOUD", "LOG_LEVEL is 'LOUD', expected one of DEBUG, INFO"),
    ],
)
def test_a_wrong_setting_of_the_log_is_refused_at_the_start(fresh_settings, name, value, sentence):
    with pytest.raises(ImproperlyConfigured, match=sentence):
        fresh_settings({name: value})


@pytest.mark.parametrize("form", ["text", "json"])
def test_both_forms_of_the_log_can_be_configured(fresh_settings, form):
    assert fresh_settings({"LOG_FORMAT": form}).LOGGING["handlers"]["stderr"]["formatter"] == form
