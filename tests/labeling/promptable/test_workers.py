"""The process that decodes: its limits, and what becomes of one that dies or hangs."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from labeling.promptable import workers
from labeling.promptable.network import Encoder
from labeling.promptable.workers import DecoderPool, NetworkBroken, NetworkBusy
from tests.labeling.promptable import made_up

pytest.importorskip("onnxruntime")
CLICK = {"points": [[40, 30, 1]], "box": None, "stroke": []}


@pytest.fixture
def pool():
    pool = DecoderPool()
    yield pool
    pool.end()


@pytest.fixture
def request_of(tmp_path: Path) -> dict[str, Any]:
    encoder, decoder = made_up.files(tmp_path)
    opened = Encoder(encoder)
    image = Image.new("RGB", (100, 60), (30, 40, 200))
    image.paste((220, 40, 30), (20, 10, 60, 50))
    np.save(tmp_path / "embedding.npy", opened.embed(image))
    return {
        "decoder": decoder,
        "preparation": opened.preparation.as_json(),
        "embedding": tmp_path / "embedding.npy",
        "size": (100, 60),
        "prompts": CLICK,
    }


def process_of(pool: DecoderPool) -> int:
    (worker,) = pool._workers.values()
    assert worker.process is not None
    return worker.process.pid


def test_one_process_decodes_one_request_after_the_other(pool, request_of):
    first, process = pool.decode(**request_of), None
    process = process_of(pool)

    assert pool.decode(**request_of) == first
    assert process_of(pool) == process
    assert first["polygons"]


def test_a_process_that_was_killed_is_replaced(pool, request_of):
    first = pool.decode(**request_of)
    process = process_of(pool)
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)

    assert pool.decode(**request_of) == first
    assert process_of(pool) != process


def test_a_process_that_hangs_is_ended_and_the_next_request_served(pool, request_of, monkeypatch):
    first = pool.decode(**request_of)
    process = process_of(pool)
    os.kill(process, signal.SIGSTOP)
    monkeypatch.setattr(workers, "DECODE_SECONDS", 0.2)

    with pytest.raises(NetworkBroken, match="gave no answer"):
        pool.decode(**request_of)

    monkeypatch.setattr(workers, "DECODE_SECONDS", 5.0)
    assert not Path(f"/proc/{process}").exists()
    assert pool.decode(**request_of) == first


def test_a_network_that_cannot_be_opened_is_a_sentence(pool, request_of):
    request_of["decoder"].write_bytes(b"no network")

    with pytest.raises(NetworkBroken, match=r"cannot be (opened|read) as ONNX"):
        pool.decode(**request_of)


def test_a_network_that_was_cut_is_a_sentence(pool, request_of):
    content = request_of["decoder"].read_bytes()
    request_of["decoder"].write_bytes(content[: len(content) // 2])

    with pytest.raises(NetworkBroken, match=r"cannot be (opened|read) as ONNX"):
        pool.decode(**request_of)


def test_more_memory_than_the_limit_ends_the_process_alone(pool, request_of, monkeypatch):
    monkeypatch.setattr(workers, "MEMORY_BYTES", 8 << 20)

    with pytest.raises(NetworkBroken):
        pool.decode(**request_of)


def test_so_many_wait_and_no_more(pool, request_of, monkeypatch):
    pool.decode(**request_of)
    process = process_of(pool)
    monkeypatch.setattr(workers, "MAX_WAITING", 1)
    os.kill(process, signal.SIGSTOP)
    results: list[object] = []
    first = threading.Thread(target=lambda: results.append(pool.decode(**request_of)))
    first.start()
    while not pool._waiting:
        pass

    with pytest.raises(NetworkBusy, match="1 requests wait"):
        pool.decode(**request_of)

    os.kill(process, signal.SIGCONT)
    first.join()
    assert len(results) == 1


def test_the_process_has_no_secret_of_the_site(pool, request_of, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "of-this-site-alone")
    monkeypatch.setenv("DATABASE_URL", "postgres://assay:hunter22@db/assay")

    pool.decode(**request_of)

    environment = Path(f"/proc/{process_of(pool)}/environ").read_text()
    assert "of-this-site-alone" not in environment
    assert "hunter22" not in environment
