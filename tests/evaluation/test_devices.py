"""The CPU or a GPU: names, versions, and batches that shrink. Machines for tests have no GPU."""

import subprocess
import sys
from dataclasses import dataclass
from itertools import chain

import pytest
import torch

from evaluation import devices
from labeling.files import BadInput
from labeling.records import Record


@pytest.fixture
def gpus(monkeypatch):
    """As if torch were built for CUDA and found so many GPUs."""

    def pretend(count: int, built: str | None = "12.8") -> None:
        monkeypatch.setattr(torch.version, "cuda", built)
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "H200")
        monkeypatch.setattr(torch, "zeros", lambda *_, device: device)
        monkeypatch.setattr(devices, "DRIVER_FILES", ("/",))

    return pretend


def test_auto_is_a_gpu_where_there_is_one(gpus):
    gpus(1)
    assert devices.check_device("auto") == "cuda"

    gpus(0)
    assert devices.check_device("auto") == "cpu"


def test_without_a_driver_auto_is_the_cpu_and_torch_is_not_imported():
    code = (
        "import sys; from evaluation import devices; devices.DRIVER_FILES = ();"
        "print(devices.check_device('auto'), devices.with_device({}), 'torch' in sys.modules)"
    )

    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert process.stdout.startswith("cpu {'device': 'cpu', 'versions': {'python': '3.")
    assert process.stdout.endswith(" False\n")


def test_a_gpu_that_is_here_keeps_its_name(gpus):
    gpus(2)
    for name in ["cuda", "cuda:0", "cuda:1"]:
        assert devices.check_device(name) == name, name


@pytest.mark.parametrize(
    ("name", "count", "built", "words"),
    [
        ("cuda", 0, None, r"\(torch .* is built for the CPU alone\); give --device cpu, "),
        ("cuda:1", 0, "12.8", r"\(torch finds no GPU\); give --device cpu, "),
        ("cuda:7", 1, "12.8", r"\(this machine has cuda:0\); give --device cuda:0"),
        ("cuda:2", 2, "12.8", r"\(this machine has cuda:0 to cuda:1\); give --device"),
        ("gpu", 1, "12.8", r"\(there is no such kind\); give auto, cpu, cuda"),
        ("cuda:-1", 1, "12.8", r"\(there is no such kind"),
    ],
)
def test_a_device_that_is_not_here_is_refused_with_the_cure(gpus, name, count, built, words):
    gpus(count, built)

    with pytest.raises(BadInput) as refused:
        devices.check_device(name)

    assert str(refused.value).startswith(f"the device {name} is not usable")
    refused.match(words)


def test_a_gpu_that_takes_no_array_is_refused_with_torchs_reason(gpus, monkeypatch):
    def busy(*_, device):
        raise RuntimeError("CUDA error: all devices are busy\nmore")

    gpus(1)
    monkeypatch.setattr(torch, "zeros", busy)

    with pytest.raises(BadInput, match=r"\(CUDA error: all devices are busy\); see with"):
        devices.check_device("cuda")


def test_versions_name_the_libraries_and_the_gpu(gpus):
    gpus(1)

    assert list(devices.versions("cpu")) == ["python", "numpy", "numba", "torch"]
    assert devices.versions("cpu")["torch"] == torch.__version__
    assert devices.versions("cuda") == devices.versions("cpu") | {"cuda": "12.8", "gpu": "H200"}


@dataclass(kw_only=True)
class Plain(Record):
    value: int


@dataclass(kw_only=True)
class Typed(Plain):
    device: str | None = None
    versions: dict[str, str] | None = None


@pytest.mark.parametrize("result", [{"value": 1}, Plain(value=1), Typed(value=1)])
def test_a_result_names_its_device_and_versions_last_and_only_once(result):
    once = devices.with_device(result)
    twice = devices.with_device(once, "cuda")

    written = once.to_json() if isinstance(once, Record) else once
    assert list(written) == ["value", "device", "versions"]
    assert written["device"] == "cpu"
    assert twice is once


def test_a_result_that_names_its_device_gets_the_versions_that_go_with_it(gpus):
    gpus(1)

    assert devices.with_device({"device": "cuda", "out": "x"}) == {
        "device": "cuda",
        "out": "x",
        "versions": devices.versions("cuda"),
    }


class Gpu:
    """Work that fails for more than `holds` numbers at once, and keeps what it was asked."""

    def __init__(self, holds: int, error: Exception | None = None) -> None:
        self.holds, self.asked = holds, []
        self.error = error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    def __call__(self, part: slice) -> list[int]:
        self.asked.append(part.stop - part.start)
        if part.stop - part.start > self.holds:
            raise self.error
        return list(range(part.start, part.stop))


def test_a_batch_is_halved_until_it_fits_and_the_new_size_is_told_once():
    messages: list[str] = []
    batch, gpu = devices.BatchSize(16, tell=messages.append), Gpu(5)

    results = list(batch.run(20, gpu))

    assert list(chain(*results)) == list(range(20))
    assert gpu.asked == [16, 8, 4, 4, 4, 4, 4]
    assert messages == ["the GPU ran out of memory; going on with 4 at once"]
    assert batch.size == 4


def test_a_batch_that_fits_is_run_as_asked_and_nothing_is_told():
    messages: list[str] = []
    gpu = Gpu(8)

    assert list(devices.BatchSize(8, tell=messages.append).run(10, gpu)) == [[*range(8)], [8, 9]]
    assert (gpu.asked, messages) == ([8, 2], [])
    assert list(devices.BatchSize(8).run(0, gpu)) == []


def test_a_short_last_batch_that_does_not_fit_is_halved_by_its_own_length():
    batch, gpu = devices.BatchSize(100, tell=lambda _: None), Gpu(3)

    assert list(chain(*batch.run(6, gpu))) == list(range(6))
    assert gpu.asked == [6, 3, 3]


def test_where_not_even_one_fits_one_sentence_says_so():
    gpu = Gpu(0)

    with pytest.raises(BadInput, match=r"GPU's memory does not hold one frame; end .*--device cpu"):
        list(devices.BatchSize(4, unit="frame").run(4, gpu))
    assert gpu.asked == [4, 2, 1]


def test_memory_that_ran_out_is_known_by_its_words_too():
    for words in [
        "The following operation failed in TorchScript\nRuntimeError: CUDA out of memory.",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "[ONNXRuntimeError] Failed to allocate memory for requested buffer of size 8",
    ]:
        gpu = Gpu(2, RuntimeError(words))

        assert list(chain(*devices.BatchSize(4, tell=lambda _: None).run(4, gpu))) == list(
            range(4)
        ), words


def test_another_failure_is_raised_as_it_is():
    gpu = Gpu(2, RuntimeError("CUDA error: an illegal memory access was encountered"))

    with pytest.raises(RuntimeError, match="illegal"):
        list(devices.BatchSize(4).run(4, gpu))
    assert gpu.asked == [4]


@pytest.mark.gpu
def test_a_batch_that_a_real_gpu_cannot_hold_is_halved():
    messages: list[str] = []
    free, _ = torch.cuda.mem_get_info()
    share = free // 3

    def work(part: slice) -> int:
        return len(torch.empty((part.stop - part.start, share), dtype=torch.uint8, device="cuda"))

    assert sum(devices.BatchSize(8, tell=messages.append).run(8, work)) == 8
    assert messages
    assert devices.versions(devices.check_device("cuda"))["gpu"]
