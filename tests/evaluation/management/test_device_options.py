"""--device, and what a result says of it."""

import pytest
import torch
from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.management.device_options import add_device, on_device
from labeling.files import BadInput


def doubled(number: int, device: str) -> dict[str, object]:
    return {"number": 2 * number, "given": device}


def test_auto_is_the_default():
    parser = CommandParser()
    add_device(parser)

    assert parser.parse_args([]).device == "auto"


def test_a_command_gets_the_device_that_is_meant_and_its_result_names_it(monkeypatch):
    monkeypatch.setattr(devices, "checked", lambda name: {"auto": "cuda"}[name])
    monkeypatch.setattr(devices, "versions", lambda device: {"gpu": device})

    assert on_device(doubled)(device="auto", number=2) == {
        "number": 4,
        "given": "cuda",
        "device": "cuda",
        "versions": {"gpu": "cuda"},
    }


@pytest.mark.parametrize("asked", ["auto", "cpu", "cuda"])
def test_what_computes_on_the_cpu_alone_says_so_whatever_is_asked_for(monkeypatch, asked):
    monkeypatch.setattr(devices, "checked", lambda name: {"cpu": "cpu", "cuda": "cuda"}[name])

    found = on_device(doubled, on_gpu=False)(device=asked, number=1)

    assert (found["given"], found["device"]) == ("cpu", "cpu")


def test_what_computes_on_the_cpu_alone_still_refuses_a_gpu_that_is_not_here(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    never = on_device(lambda **_: pytest.fail("it was called"), on_gpu=False)

    with pytest.raises(BadInput, match="the device cuda is not usable"):
        never(device="cuda")
    with pytest.raises(BadInput, match="the device gpu is not usable"):
        never(device="gpu")
