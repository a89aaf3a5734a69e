"""`--device`, of every command that computes, and the device and versions in its result."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.devices import Named

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
    """The action, called with the device that --device means here, as `device`; its result names
    the device (unless it does so itself) and the versions.

    on_gpu: as of add_device; without one the device is the CPU, and a GPU only has to be here.
    """

    @wraps(action)
    def computed(device: str, **options: Any) -> Named:
        # Not for "auto": to look for a GPU that nothing uses would import torch.
        usable = devices.checked(device) if on_gpu or device != devices.AUTO else devices.CPU
        used = usable if on_gpu else devices.CPU
        return devices.named(action(device=used, **options), used)

    return computed
