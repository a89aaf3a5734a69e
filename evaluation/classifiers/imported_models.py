"""Networks by import path: `package.module:factory`. No Django.

What is imported runs here with the rights of whoever asks: for the command line, never for uploads.
Torch is imported inside functions.
"""

import hashlib
import importlib
import re
from pathlib import Path
from typing import Any

from evaluation.classifiers import named_models
from evaluation.classifiers.model_files import Opened
from evaluation.classifiers.preparing import Preparation
from labeling.files import BadInput, first_line

SPEC = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


def load(spec: str, weights: Path | None) -> Opened:
    """The module that a factory makes, called without arguments; or a module that has the name.

    Random weights are the same each time. weights: a state_dict or safetensors to fill it with.
    Raises BadInput: no such module or name, an error in it, or something that is no network.
    """
    import torch

    place, _, name = spec.partition(":")
    try:
        made = getattr(importlib.import_module(place), name)
        network = made if isinstance(made, torch.nn.Module) else named_models.seeded(made)
    # Whatever it is: their code, not ours.
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
    return Opened(Preparation(), network.to, f"sha256 {_sha256(network)}")


def _sha256(network: Any) -> str:
    """Of all its weights, by name: what it is filled with may change where its name does not."""
    found = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        found.update(f"{name} {tuple(value.shape)} {value.dtype}\n".encode())
        found.update(value.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()
