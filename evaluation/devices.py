"""Where arrays are computed: the CPU or a GPU. Pure; torch is imported inside functions.

Functions that can compute on a GPU take `device: str = "cpu"`, a name that `check_device` gave.
"""

import logging
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from labeling.files import BadInput, first_line
from labeling.records import Record

CPU, AUTO = "cpu", "auto"
NAMES = re.compile(r"auto|cpu|cuda(:\d{1,3})?")
CURE = "give auto, cpu, cuda or cuda:1"
# These exist where a driver is loaded (NVIDIA, WSL, AMD); importing torch to check takes seconds.
DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
LIBRARIES = ("numpy", "numba", "torch")
# Messages of TorchScript, cuBLAS and ONNX Runtime, which have no error class for it.
OUT_OF_MEMORY = re.compile(r"out of memory|_STATUS_ALLOC_FAILED|Failed to allocate memory")

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
Named = TypeVar("Named", bound=Record | Mapping[str, Any])


def check_device(name: str = AUTO) -> str:
    """Return the device that a name means here: "cpu", "cuda" or "cuda:1"; "auto" is a GPU if
    available.

    Imports torch only for a GPU. Raises BadInput for an unknown name and for a missing GPU.
    """
    if not NAMES.fullmatch(name):
        raise _unusable(name, "there is no such kind", CURE)
    if name == CPU or (name == AUTO and not any(Path(file).exists() for file in DRIVER_FILES)):
        return CPU
    import torch

    if name == AUTO:
        return "cuda" if torch.cuda.is_available() else CPU
    if not (torch.version.cuda or torch.version.hip):
        fault = f"torch {torch.__version__} is built for the CPU alone"
        raise _unusable(name, fault, "give --device cpu, or install torch's build for CUDA")
    if not torch.cuda.is_available():
        cure = "give --device cpu, or see with nvidia-smi whether the driver finds one"
        raise _unusable(name, "torch finds no GPU", cure)
    count = torch.cuda.device_count()
    if int(name.partition(":")[2] or 0) >= count:
        last = f" to cuda:{count - 1}" if count > 1 else ""
        raise _unusable(name, f"this machine has cuda:0{last}", "give --device cuda:0 or auto")
    try:
        torch.zeros(1, device=name)
    except RuntimeError as error:
        cure = "see with nvidia-smi who uses it, or give --device cpu"
        raise _unusable(name, first_line(error), cure) from None
    return name


def _unusable(name: str, fault: str, cure: str) -> BadInput:
    return BadInput(f"the device {name} is not usable ({fault})", cure=cure)


def versions(device: str = CPU) -> dict[str, str]:
    """Return library → version, with "cuda" and "gpu" (the model) where a GPU is used.

    Results differ in their last digits between versions; no fingerprint contains them.
    """
    by_name = dict(_installed())
    if device != CPU:
        import torch

        if torch.cuda.is_available():
            by_name["cuda"] = str(torch.version.cuda or torch.version.hip)
            by_name["gpu"] = torch.cuda.get_device_name(device)
    return by_name


@cache
def _installed() -> Mapping[str, str]:
    by_name = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            by_name[name] = version(name)
        except PackageNotFoundError:
            continue
    return by_name


def with_device(result: Named, device: str = CPU) -> Named:
    """Return the result with "device", unless it names one itself, and with "versions" of it."""
    values = vars(result) | result.unknown if isinstance(result, Record) else result
    used = values.get("device") or device
    if values.get("versions"):
        return result
    keys: dict[str, Any] = {"device": used, "versions": versions(used)}
    if not isinstance(result, Record):
        return {**result, **keys}  # type: ignore[return-value]
    typed = {key: keys.pop(key) for key in tuple(keys) if key in vars(result)}
    return replace(result, unknown=result.unknown | keys, **typed)


@dataclass
class BatchSize:
    """The number of images to compute at once; halved whenever a GPU runs out of memory.

    size: the current maximum. unit: the name of one item, for messages. tell: receives a warning,
    by default the log.
    """

    size: int
    unit: str = "image"
    tell: Callable[[str], object] = logger.warning

    def __post_init__(self) -> None:
        self._reported = self.size

    def run(self, count: int, work: Callable[[slice], Result]) -> Iterator[Result]:
        """Yield the results of work for slices of range(count), in order, each of at most
        `size`.
        """
        start = 0

        def next_part(size: int) -> tuple[slice, Result]:
            part = slice(start, start + size)
            return part, work(part)

        while start < count:
            part, result = self.attempt(next_part, count - start)
            start = part.stop
            yield result

    def attempt(self, work: Callable[[int], Result], most: int | None = None) -> Result:
        """Return the result of work, called with the number to compute at once: `size`, or `most`
        if less.

        Where it runs out of a GPU's memory it is called again with half as many, so it must change
        nothing before it succeeds. Raises BadInput where the memory does not hold one.
        """
        while True:
            size = self.size if most is None else min(self.size, most)
            try:
                result = work(size)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                if self.size < self._reported:
                    self._reported = self.size
                    self.tell(f"the GPU ran out of memory; going on with {self.size} at once")
                return result
            # Not in the handler: the error keeps the tensors of its frames alive.
            self._halve(size)

    def _halve(self, tried: int) -> None:
        import torch

        torch.cuda.empty_cache()
        if tried == 1:
            raise BadInput(
                f"the GPU's memory does not hold one {self.unit}",
                cure="end other programs that use the GPU, or give --device cpu",
            )
        # Another thread may have lowered it further.
        self.size = min(self.size, tried // 2)


def is_out_of_memory(error: Exception) -> bool:
    """Return whether a GPU's memory ran out, for the errors of any library."""
    by_name = type(error).__name__ == "OutOfMemoryError"
    return by_name or OUT_OF_MEMORY.search(str(error)) is not None
