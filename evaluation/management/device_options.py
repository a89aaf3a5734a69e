"""`--device`, of every command that computes, and the device and versions in its result."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.devices import Named
from evaluation.engines.running import Engine
from labeling.files import BadInput

ANY = "auto, cpu, cuda, cuda:1, … (auto: a GPU if there is one)"
CPU_ALONE = "auto, cpu, cuda, cuda:1, …; whatever is given, this computes on the CPU (auto)"


def add_device(parser: CommandParser, on_gpu: bool = True) -> None:
    """--device. on_gpu: whether the command computes anything on a GPU."""
    parser.add_argument(
        "--device",
        default=devices.AUTO,
        metavar="DEVICE",
        help=ANY if on_gpu else CPU_ALONE,
    )


def on_device(action: Callable[..., Named], on_gpu: bool = True) -> Callable[..., Named]:
    """Return the action, called with the device that --device means here, as `device`; its result
    names the device (unless it does so itself) and the versions.

    on_gpu: as of add_device; without one the device is the CPU, and a GPU only has to be here.
    """

    @wraps(action)
    def computed(device: str, **options: Any) -> Named:
        # Not for "auto": to look for a GPU that nothing uses would import torch.
        needed = on_gpu or device != devices.AUTO
        usable = device_of(device, options.get("on")) if needed else devices.CPU
        used = usable if on_gpu else devices.CPU
        return devices.with_device(action(device=used, **options), used)

    return computed


def device_of(name: str, on: Engine | None) -> str:
    """Return the device that --device names where the work is done.

    auto is what this machine has. On a cluster, cuda is the GPU that it gives to a task, which
    looks whether it can be used; nothing is asked of this machine. Raises BadInput.
    """
    if on is None or not on.on_other_machines or not name.startswith("cuda"):
        return devices.checked(name)
    if name != "cuda":
        raise BadInput(
            f"the device {name} is not usable (a cluster itself says which GPU a task takes)",
            cure="give --device cuda",
        )
    return name
