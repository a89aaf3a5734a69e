"""Image classifiers from a library, a file or an import path. No Django.

`load` opens one, tries it on two images and checks its number of classes. TorchScript, exported
programs, ONNX and import paths run code here: they are for the command line, never for uploads.
Torch is imported inside functions.
"""

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation import devices
from evaluation.classifiers import model_files, named_models
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput, file_sha256, first_line, refuse_address, require_file

if TYPE_CHECKING:
    from torch import Tensor

LIBRARIES = ("torchvision", "timm")
IMPORTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)")
# The longest name of a submission in the database.
MAX_NAME_LENGTH = 100
# Tolerance for probabilities of a half-precision network.
TOLERANCE = 2e-3


@dataclass(frozen=True)
class Classifier:
    """A network, its classes in the order of its outputs, and its preparation.

    network: (B, 3, height, width) float32 on the device → (B, C) "probabilities", or "logits", to
    which softmax is applied. source: the loaded model and its weights or hash, as results state
    them.
    """

    name: str
    classes: tuple[str, ...]
    preparation: FramePreparation
    device: str
    source: Mapping[str, str]
    network: Callable[["Tensor"], "Tensor"]
    gives: str = "logits"

    def prepare(self, frame: "Tensor") -> "Tensor":
        """Return (3, height, width) float32 on the classifier's device from a (H, W, 3) uint8
        frame.
        """
        return self.preparation(frame.to(self.device))

    def outputs(self, batch: "Tensor") -> "Tensor":
        """Return the (B, C) float32 output of the network, with gradients."""
        return _outputs(self.network, batch)

    def __call__(self, batch: "Tensor") -> "Tensor":
        """Return (B, C) float32 probabilities of a batch of prepared frames (B, 3, height, width).

        Raises BadInput if the network fails or returns another shape. An out-of-memory error of a
        GPU is raised unchanged, see devices.BatchSize.
        """
        try:
            outputs = _inferred(self.network, batch)
        except (BadInput, OSError):
            raise
        # Networks raise any exception; the message includes theirs.
        except Exception as error:
            if devices.is_out_of_memory(error):
                raise
            raise BadInput(
                f"{self.name} does not take {len(batch)} images at once ({_reason(error)})",
                cure="try another --batch, or save the network again",
            ) from error
        expected = len(batch), len(self.classes)
        if outputs.shape != expected:
            raise BadInput(
                f"{self.name} gives {_shape(outputs)} for {len(batch)} images, "
                f"expected {expected[0]} × {expected[1]}",
                cure="save it so that it gives a row for each image and a column for each class",
            )
        return outputs if self.gives == "probabilities" else outputs.softmax(1)


def load(
    spec: str,
    classes: Sequence[str],
    *,
    device: str = "cpu",
    name: str = "",
    weights: Path | None = None,
    random_weights: bool = False,
    preparing: Mapping[str, Any] | None = None,
) -> Classifier:
    """Return the classifier of a spec: torchvision:NAME, timm:NAME, FILE.pt, FILE.pt2, FILE.onnx or
    package.module:factory.

    `name=spec` names it, as name does. classes: wnids in the order of its outputs. weights: a
    state_dict or safetensors for a named model; by default the library's own from this machine's
    cache: nothing is downloaded. random_weights: no weights, the same random ones each time.
    preparing: fields of FramePreparation that differ from the model's own. Raises BadInput: no such
    model, library, file or weights; the number of outputs differs from classes; the network does
    not take this size.
    """
    spec_name, spec = split(spec)
    device = devices.check_device(device)
    library, _, model = spec.partition(":")
    if library in LIBRARIES and model:
        opened = named_models.load(library, model, len(classes), weights, random_weights)
        source = {"model": spec, "weights": opened.weights}
        default = model
    elif IMPORTED.fullmatch(spec) and not Path(spec).exists():
        opened = _imported(spec, weights)
        source = {"model": spec, "weights": opened.weights}
        default = model
    else:
        _refuse_weights(weights, random_weights)
        path = Path(spec)
        refuse_address(path)
        require_file(
            path,
            "give torchvision:NAME, timm:NAME, or a .pt, .pt2 or .onnx file, or package.module:f",
        )
        opened = model_files.load(path, device)
        source = {"model": path.name, "sha256": file_sha256(path)}
        default = path.stem
    changes = {key: value for key, value in (preparing or {}).items() if value is not None}
    try:
        preparation = replace(opened.preparation, **changes)
    except ValueError as error:
        raise BadInput(str(error)) from None
    network = opened.on(device)
    gives = _tried(network, preparation, device, len(classes), spec)
    return Classifier(
        name=_checked_name(name or spec_name or default),
        classes=tuple(classes),
        preparation=preparation,
        device=device,
        source=source | {"gives": gives},
        network=network,
        gives=gives,
    )


def absolute(spec: str) -> str:
    """Return the spec without its name, with an absolute path for a file."""
    spec = split(spec)[1]
    return str(Path(spec).absolute()) if Path(spec).exists() else spec


def _imported(spec: str, weights: Path | None) -> model_files.Opened:
    """Return the network from a factory, called without arguments, or the network of that name.

    Random weights are the same each time. weights: a state_dict or safetensors to load.
    Raises BadInput: no such module or name, an error in it, or something that is no network.
    """
    import torch

    module, _, name = spec.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)
        network = made if isinstance(made, torch.nn.Module) else named_models.seeded(made)
    # Any exception of the user's code.
    except Exception as error:
        raise BadInput(
            f"{spec} cannot be made ({type(error).__name__}: {first_line(error)})",
            cure="give package.module:factory, where the factory takes no arguments; Python must "
            "find the package (PYTHONPATH)",
        ) from None
    if not isinstance(network, torch.nn.Module):
        raise BadInput(
            f"{spec} gives a {type(network).__name__}, expected a torch.nn.Module",
            cure="name a function or class that makes one",
        )
    if weights is not None:
        named_models.fill(network, weights)
    network.eval()
    return model_files.Opened(FramePreparation(), network.to, f"sha256 {_sha256(network)}")


def _sha256(network: Any) -> str:
    """Return the hash of all weights with their names: weights may change while a name does not."""
    digest = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}\n".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def split(spec: str) -> tuple[str, str]:
    """Return the name and the rest of `name=spec`; an existing file with "=" in its name
    is a file.
    """
    match = NAMED.fullmatch(spec)
    return (match[1], match[2]) if match and not Path(spec).exists() else ("", spec)


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise BadInput(
            f"the classifier's name is {name[:40]!r}",
            cure=f"give one of 1 to {MAX_NAME_LENGTH} printable characters with --name",
        )
    return name


def _refuse_weights(weights: Path | None, random_weights: bool) -> None:
    if weights is not None or random_weights:
        raise BadInput(
            "the model is a file, which has its own weights",
            cure="leave out --weights and --random-weights, or name a model of a library",
        )


def _tried(
    network: Callable[["Tensor"], "Tensor"],
    preparation: FramePreparation,
    device: str,
    classes: int,
    spec: str,
) -> str:
    """Return whether the network gives "probabilities" or "logits", from a black image and noise.

    Decided once: decided row by row, a logit row that happens to sum to 1 would be misread.
    """
    import torch

    height, width = preparation.size
    try:
        # Drawn on the CPU, so that the images are the same on every device.
        noise = torch.rand((1, height, width, 3), generator=torch.Generator().manual_seed(0))
        images = torch.cat([torch.zeros_like(noise), noise]).mul(255).to(torch.uint8)
        batch = torch.stack([preparation(image.to(device)) for image in images])
        outputs = _inferred(network, batch)
    except BadInput:
        raise
    # Networks raise any exception; the message includes theirs.
    except Exception as error:
        raise BadInput(
            f"{spec} does not take images of 3 × {height} × {width} ({_reason(error)})",
            cure="give the height and width it was made for with --size",
        ) from error
    if outputs.shape != (2, classes):
        raise BadInput(
            f"{spec} gives {_shape(outputs)} for two images, the classes are {classes}",
            cure="list one wnid per line for each output, in their order",
        )
    sums = outputs.sum(1)
    near = (outputs >= 0).all() and ((sums - 1).abs() <= TOLERANCE).all()
    return "probabilities" if bool(near) else "logits"


def _inferred(network: Callable[["Tensor"], "Tensor"], batch: "Tensor") -> "Tensor":
    """Return the output; it does not depend on earlier batches, and a GPU's equals a CPU's to six
    digits.
    """
    import torch

    # TF32 keeps three digits; TorchScript fuses operations once it has seen a few batches.
    with (
        torch.inference_mode(),
        torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False),
        torch.jit.optimized_execution(False),
    ):
        return _outputs(network, batch)


def _outputs(network: Callable[["Tensor"], "Tensor"], batch: "Tensor") -> "Tensor":
    import torch

    outputs = network(batch)
    # Further outputs belong to auxiliary heads.
    if isinstance(outputs, tuple | list) and outputs:
        outputs = outputs[0]
    if not isinstance(outputs, torch.Tensor):
        raise BadInput(
            f"the network gives a {type(outputs).__name__}, expected (images, classes)",
            cure="save it so that it gives one tensor of logits or probabilities",
        )
    return outputs.float()


def _shape(outputs: "Tensor") -> str:
    return " × ".join(map(str, outputs.shape)) or "one number"


def _reason(error: Exception) -> str:
    """Return the last line of the error: TorchScript puts the code location before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return first_line(Exception(lines[-1]) if lines else error)
