"""Networks of torchvision and timm by name, with weights on this machine. No Django.

Nothing is downloaded: weights come from the library's own cache or from a file. The libraries are
in requirements-models.txt and are imported inside functions.
"""

import difflib
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from evaluation.classifiers.model_files import Opened, import_library
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput, file_sha256, require_file

# timm's names of weights in a hub repository, preferred one first.
HUB_FILES = ("model.safetensors", "pytorch_model.bin")
T = TypeVar("T")


def load(
    library: str, name: str, classes: int, weights: Path | None, random_weights: bool
) -> Opened:
    """Return the named network with weights and its library's preparation; see opening.load."""
    if weights is not None and random_weights:
        raise BadInput("weights and random weights are both given", cure="leave out one of them")
    make = {"torchvision": _torchvision, "timm": _timm}[library]
    # None: as many outputs as the library's weights. A fresh network has one per class.
    outputs = classes if weights is not None or random_weights else None
    with warnings.catch_warnings():
        # Some warn that later versions will have other random weights.
        warnings.simplefilter("ignore", FutureWarning)
        network, preparation, stated = seeded(lambda: make(name, outputs))
    if weights is not None:
        fill(network, weights)
        stated = f"{weights.name}, sha256 {file_sha256(weights)}"
    network.eval()
    return Opened(preparation, network.to, stated)


def seeded(make: Callable[[], T]) -> T:
    """Return what `make` builds, with the same random weights each time."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def _torchvision(name: str, outputs: int | None) -> tuple[Any, FramePreparation, str]:
    import torch

    models = import_library("torchvision", "torchvision.models")
    known = models.list_models(module=models)
    if name not in known:
        raise _unknown("torchvision", name, known)
    weights = models.get_model_weights(name).DEFAULT
    transforms = weights.transforms()
    preparation = FramePreparation(
        size=(transforms.crop_size[0], transforms.crop_size[0]),
        mean=tuple(transforms.mean),
        std=tuple(transforms.std),
        interpolation=transforms.interpolation.value,
        crop_share=transforms.crop_size[0] / transforms.resize_size[0],
    )
    if outputs is not None:
        return models.get_model(name, weights=None, num_classes=outputs), preparation, "random"
    file = _cached(weights.url)
    if file is None:
        folder = Path(torch.hub.get_dir()) / "checkpoints"
        raise _missing(f"torchvision's weights of {name}", f"fetch {weights.url} into {folder}")
    # Checked before torchvision reads it, which would run code in it.
    read_state(file)
    return models.get_model(name, weights=weights), preparation, str(weights)


def _timm(name: str, outputs: int | None) -> tuple[Any, FramePreparation, str]:
    timm = import_library("timm")
    # hf-hub:… and local-dir:… would download or run code.
    if ":" in name or "/" in name or not timm.is_model(name):
        raise _unknown("timm", name, timm.list_models())
    stated = "random"
    if outputs is not None:
        network = timm.create_model(name, pretrained=False, num_classes=outputs)
    else:
        config = timm.get_pretrained_cfg(name)
        file = None if config is None else _timm_file(config)
        if file is None:
            where = config and (config.hf_hub_id or config.url)
            raise _missing(
                f"timm's weights of {name}",
                f"fetch {where} into timm's cache" if where else "train some",
            )
        if file.suffix in {".bin", ".pth", ".pt"}:
            read_state(file)
        overlay = {"file": str(file)}
        network = timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay)
        stated = f"{file.name}, sha256 {file_sha256(file)}"
    config = timm.data.resolve_data_config({}, model=network)
    _, height, width = config["input_size"]
    preparation = FramePreparation(
        size=(height, width),
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        interpolation=config["interpolation"],
        crop_share=config["crop_pct"],
    )
    return network, preparation, stated


def _timm_file(config: Any) -> Path | None:
    """Return pretrained weights in the hub's cache, or in torch's, where timm looks too."""
    if config.hf_hub_id:
        hub = import_library("huggingface_hub")
        name, _, revision = config.hf_hub_id.partition("@")
        for file in [config.hf_hub_filename] if config.hf_hub_filename else HUB_FILES:
            path = hub.try_to_load_from_cache(name, file, revision=revision or None)
            if isinstance(path, str):
                return Path(path)
    return _cached(config.url) if config.url else None


def _cached(url: str) -> Path | None:
    """Return torch's cached file of an address, if there is one."""
    import torch

    file = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlsplit(url).path).name
    return file if file.is_file() else None


def fill(network: Any, path: Path) -> None:
    """Load the file's weights into the network. All must fit."""
    try:
        network.load_state_dict(read_state(path))
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BadInput(
            f"does not fit the network ({lines[min(1, len(lines) - 1)][:300]})",
            file=path,
            cure="give weights of this network, with as many outputs as there are classes",
        ) from None


def read_state(path: Path) -> Mapping[str, Any]:
    """Return the names and tensors of a weights file; no code in it is run.

    Also accepts "state_dict", as training scripts save it, and the "module." prefix of several
    GPUs.
    """
    import torch

    require_file(path, "give a file that torch.save(model.state_dict()) wrote")
    try:
        if path.suffix == ".safetensors":
            state = import_library("safetensors", "safetensors.torch").load_file(str(path))
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError):
        raise BadInput(
            "is not a file of weights alone",
            file=path,
            cure="save model.state_dict(), not the model",
        ) from None
    if isinstance(state, Mapping) and isinstance(state.get("state_dict"), Mapping):
        state = state["state_dict"]
    if not isinstance(state, Mapping) or not all(map(torch.is_tensor, state.values())):
        raise BadInput(
            "is not a dict of names and tensors",
            file=path,
            cure="save model.state_dict()",
        )
    return {str(name).removeprefix("module."): value for name, value in state.items()}


def _unknown(library: str, name: str, known: Iterable[str]) -> BadInput:
    near = difflib.get_close_matches(name, list(known), 3)
    return BadInput(
        f"{library} has no classifier {name!r}",
        cure=f"did you mean {', '.join(near)}?" if near else f"look at {library}'s list_models()",
    )


def _missing(files: str, how: str) -> BadInput:
    return BadInput(
        f"{files} are not on this machine, and nothing is downloaded",
        cure=f"{how}, or give --weights FILE, or try it with --random-weights",
    )
