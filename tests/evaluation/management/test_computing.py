"""--device, and what a result says of it."""

import subprocess
import sys

import pytest
import torch
from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.engines.running import Engine
from evaluation.management.computing import CpuOptions, DeviceOptions, device_of, on_device
from labeling.files import BadInput
from labeling.management.options import add_options
from tests.evaluation.commands import refused


@on_device
def device_given(_command: None, options: DeviceOptions) -> dict[str, object]:
    return {"given": options.device}


def test_auto_is_the_default():
    parser = CommandParser()
    add_options(parser, DeviceOptions)

    assert parser.parse_args([]).device == "auto"


def test_a_command_gets_the_device_that_is_meant_and_its_result_names_it(monkeypatch):
    monkeypatch.setattr(devices, "check_device", lambda name: {"auto": "cuda"}[name])
    monkeypatch.setattr(devices, "versions", lambda device: {"gpu": device})

    assert device_given(None, DeviceOptions(device="auto")) == {
        "given": "cuda",
        "device": "cuda",
        "versions": {"gpu": "cuda"},
    }


def test_a_cluster_alone_says_which_gpu_a_task_takes(monkeypatch):
    monkeypatch.setattr(devices, "check_device", lambda name: f"{name} of this machine")
    cluster = Engine.from_name("ray:auto")

    for name in ("auto", "cpu", "cuda", "cuda:1"):
        for engine in (None, Engine.from_name("local:2")):
            assert device_of(name, engine) == f"{name} of this machine"
    for name in ("auto", "cpu"):
        assert device_of(name, cluster) == f"{name} of this machine"
    assert device_of("cuda", cluster) == "cuda"
    with pytest.raises(BadInput, match=r"the device cuda:1 is not usable") as refused:
        device_of("cuda:1", cluster)
    assert refused.value.cure == "give --device cuda"


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
def test_what_computes_on_the_cpu_alone_says_so_whatever_is_asked_for(monkeypatch, device):
    monkeypatch.setattr(devices, "check_device", lambda name: {"cpu": "cpu", "cuda": "cuda"}[name])

    result = device_given(None, CpuOptions(device=device))

    assert (result["given"], result["device"]) == ("cpu", "cpu")


def test_what_computes_on_the_cpu_alone_still_refuses_a_gpu_that_is_not_here(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    never = on_device(lambda *_: pytest.fail("it was called"))

    with pytest.raises(BadInput, match="the device cuda is not usable"):
        never(None, CpuOptions(device="cuda"))
    with pytest.raises(BadInput, match="the device gpu is not usable"):
        never(None, CpuOptions(device="gpu"))


@pytest.mark.parametrize(
    "words",
    [
        ("score", "wsol-cues", "--cues", "gone.csv"),
        ("score", "wsol", "--metadata", "gone", "--scoremaps", "gone"),
        ("mad", "rank", "--selection", "gone.jsonl", "--answers", "gone.jsonl"),
        ("mad", "select", "--predictions", "gone", "--out", "gone.jsonl"),
        ("sequences", "gone", "--out", "gone"),
    ],
)
def test_every_command_refuses_a_gpu_that_is_not_here_before_it_reads_a_file(monkeypatch, words):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    refusal = refused(*words, "--device", "cuda:1")

    assert refusal["error"].startswith("the device cuda:1 is not usable (")
    assert "--device cpu" in refusal["cure"]


def test_a_verb_that_computes_on_the_cpu_alone_never_loads_torch(tmp_path):
    cues = tmp_path / "cues.csv"
    duck = "duck,head,foreground,40,0\nduck,water,background,75,25\n"
    cues.write_text(f"class,cue,region,with_class,without_class\n{duck}")
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'annotator.settings';"
        "import django; django.setup(); from django.core.management import call_command;"
        f"call_command('score', 'wsol-cues', '--cues', {str(cues)!r}, '--json');"
        "print('torch' in sys.modules)"
    )

    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert '"device": "cpu"' in process.stdout
    assert process.stdout.endswith("False\n")
