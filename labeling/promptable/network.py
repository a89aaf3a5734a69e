"""A promptable segmentation network in two ONNX files: an encoder of images, a decoder of prompts.

The decoder has the interface of SAM's own export
(https://github.com/facebookresearch/segment-anything, scripts/export_onnx_model.py). The encoder
has no official export: it takes one image, either (1, 3, S, S) preprocessed here, or (H, W, 3) from
0 to 255. onnxruntime is imported inside functions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from labeling import onnx_files
from labeling.files import BadInput, first_line
from labeling.promptable.prompts import Prompts

Floats = NDArray[np.float32]
FLOAT = "tensor(float)"
# The decoder's inputs by name, with their number of axes.
INPUTS = {
    "image_embeddings": 4,
    "point_coords": 3,
    "point_labels": 2,
    "mask_input": 4,
    "has_mask_input": 1,
    "orig_im_size": 1,
}
MASKS, SCORES = "masks", "iou_predictions"
# Limit of an embedding's size; SAM's has 4 MiB.
MAX_EMBEDDING = 64 << 20
SIDES = (64, 4096)
# ImageNet's, of colours in [0, 1], as SAM was trained.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class EncoderPreparation:
    """Preprocessing of an image for the encoder.

    size: the longer side in pixels. mean, std: of colours in [0, 1]; unused if the encoder
    preprocesses the image itself (raw).
    """

    size: int = 1024
    mean: tuple[float, float, float] = MEAN
    std: tuple[float, float, float] = STD
    raw: bool = False

    def as_json(self) -> dict[str, object]:
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "EncoderPreparation":
        return cls(
            int(content["size"]),
            tuple(content["mean"]),
            tuple(content["std"]),
            bool(content["raw"]),
        )

    def frame(self, width: int, height: int) -> tuple[int, int]:
        """Return width and height of the image in the encoder's frame, rounded as SAM does."""
        scale = self.size / max(width, height)
        return max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5))

    def pixels(self, image: Image.Image) -> Floats:
        """Return the encoder's input of an upright RGB image."""
        framed = image.convert("RGB").resize(self.frame(*image.size), Image.Resampling.BILINEAR)
        colours = np.asarray(framed, np.float32)
        if self.raw:
            return colours
        mean, std = np.asarray(self.mean, np.float32), np.asarray(self.std, np.float32)
        colours = np.asarray((colours / 255 - mean) / std, np.float32)
        height, width, _ = colours.shape
        filled = np.zeros((1, 3, self.size, self.size), np.float32)
        filled[0, :, :height, :width] = colours.transpose(2, 0, 1)
        return filled


class NetworkValue(Protocol):
    """An input or output of a network file."""

    name: str
    type: str
    shape: list[object]


class Session(Protocol):
    """The interface of onnxruntime's session."""

    def get_inputs(self) -> list[NetworkValue]: ...

    def get_outputs(self) -> list[NetworkValue]: ...

    def run(
        self, outputs: Sequence[str] | None, feeds: Mapping[str, Floats]
    ) -> list[NDArray[Any]]: ...


class Encoder:
    """The encoder. preparation: from the file's metadata if present, else as given."""

    def __init__(
        self,
        path: Path,
        size: int | None = None,
        mean: Sequence[float] = MEAN,
        std: Sequence[float] = STD,
    ) -> None:
        self.path, self.session = path, session(path)
        inputs = self.session.get_inputs()
        if len(inputs) != 1:
            raise _unfit(path, f"has {len(inputs)} inputs ({_names(inputs)}), expected one image")
        (image_input,) = inputs
        if image_input.type != FLOAT:
            raise _unfit(path, f"takes {image_input.type}, expected float32")
        self.input = image_input.name
        self.preparation = _preparation(path, image_input.shape, size, tuple(mean), tuple(std))

    def embed(self, image: Image.Image) -> Floats:
        """Return the embedding (1, C, h, w) of an upright image. Raises BadInput for other
        outputs.
        """
        pixels = self.preparation.pixels(image)
        try:
            embedding = np.asarray(self.session.run(None, {self.input: pixels})[0])
        # onnxruntime's exceptions share no base class.
        except Exception as error:
            raise _unfit(self.path, f"fails on an image ({first_line(error)})") from None
        if embedding.ndim != 4 or embedding.shape[0] != 1 or embedding.dtype != np.float32:
            raise _unfit(
                self.path,
                f"returns {embedding.dtype} of shape {list(embedding.shape)}, expected float32 of "
                "[1, C, h, w]",
            )
        if embedding.nbytes > MAX_EMBEDDING:
            raise _unfit(
                self.path,
                f"returns {embedding.nbytes >> 20} MiB per image, at most {MAX_EMBEDDING >> 20} "
                "are supported",
            )
        if not np.isfinite(embedding).all():
            raise _unfit(self.path, "returns numbers that are not finite")
        return embedding


class Decoder:
    """The decoder of prompts on an embedded image."""

    def __init__(self, path: Path, threads: int = 0) -> None:
        self.path, self.session = path, session(path, threads)
        inputs = {each.name: each for each in self.session.get_inputs()}
        if missing := [name for name in INPUTS if name not in inputs]:
            raise _unfit(path, f"has no input {missing[0]!r} (it has {', '.join(inputs)})")
        if unknown := [name for name in inputs if name not in INPUTS]:
            raise _unfit(path, f"has an unknown input {unknown[0]!r}")
        for name, axes in INPUTS.items():
            declared = inputs[name]
            if declared.type != FLOAT:
                raise _unfit(path, f"takes {declared.type} as {name}, expected float32")
            if len(declared.shape) != axes:
                raise _unfit(path, f"{name} has {len(declared.shape)} axes, expected {axes}")
        outputs = [each.name for each in self.session.get_outputs()]
        if missing := [name for name in (MASKS, SCORES) if name not in outputs]:
            raise _unfit(path, f"has no output {missing[0]!r} (it has {', '.join(outputs)})")
        self.embedding_shape = inputs["image_embeddings"].shape
        shape = inputs["mask_input"].shape
        sides = [side for side in shape[1:] if isinstance(side, int)]
        if len(sides) < 3:
            raise _unfit(path, f"mask_input has the shape {shape}, expected fixed sides")
        self.mask_shape = (1, *sides)

    def fits(self, embedding: Floats) -> bool:
        return all(
            not isinstance(expected, int) or expected == side
            for expected, side in zip(self.embedding_shape, embedding.shape, strict=True)
        )

    def decode(
        self,
        embedding: Floats,
        prompts: Prompts,
        size: tuple[int, int],
        preparation: EncoderPreparation,
    ) -> tuple[NDArray[np.bool_], float]:
        """Return the most likely mask (h, w) in the encoder's frame, and its predicted IoU.

        size: width and height of the image. Raises BadInput.
        """
        width, height = preparation.frame(*size)
        labelled = np.asarray(prompts.labelled(), np.float32)
        scale = np.asarray([width / size[0], height / size[1]], np.float32)
        coords = labelled[None, :, :2] * scale
        feeds = {
            "image_embeddings": embedding,
            "point_coords": coords,
            "point_labels": labelled[None, :, 2],
            "mask_input": np.zeros(self.mask_shape, np.float32),
            "has_mask_input": np.zeros(1, np.float32),
            # Masks in the encoder's frame: for a large photograph, four masks of its size would
            # take too much memory.
            "orig_im_size": np.asarray([height, width], np.float32),
        }
        try:
            masks, scores = self.session.run([MASKS, SCORES], feeds)
        except Exception as error:
            raise _unfit(self.path, f"fails on a prompt ({first_line(error)})") from None
        masks, scores = np.asarray(masks), np.asarray(scores).reshape(-1)
        count = masks.shape[1] if masks.ndim == 4 else 0
        if not count or masks.shape[2:] != (height, width) or len(scores) != count:
            raise _unfit(
                self.path,
                f"returns masks of shape {list(masks.shape)} and {len(scores)} scores, expected "
                f"[1, N, {height}, {width}] and N",
            )
        best = int(np.nanargmax(scores)) if np.isfinite(scores).any() else 0
        return masks[0, best] > 0, float(scores[best])


def try_out(encoder: Encoder, decoder: Decoder) -> int:
    """Run the network on an image and a click; return the bytes of an embedding. Raises
    BadInput.
    """
    image = Image.fromarray(np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3))
    embedding = encoder.embed(image)
    if not decoder.fits(embedding):
        raise _unfit(
            decoder.path,
            f"takes embeddings of shape {list(decoder.embedding_shape)}, but the encoder returns "
            f"{list(embedding.shape)}",
            "use the encoder and the decoder of one network",
        )
    decoder.decode(embedding, Prompts(((32.0, 24.0, 1),)), image.size, encoder.preparation)
    decoder.decode(embedding, Prompts(box=(8.0, 8.0, 40.0, 40.0)), image.size, encoder.preparation)
    return embedding.nbytes


def session(path: Path, threads: int = 0) -> Session:
    """Return a CPU session of the file. threads: 0 for all processors. Raises BadInput."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise BadInput(
            "onnxruntime is not installed", cure="install it: pip install onnxruntime"
        ) from None
    onnx_files.check(path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    try:
        opened: Session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise BadInput(
            f"cannot be opened as ONNX ({first_line(error)})",
            file=path,
            cure="export it again, with an opset that this onnxruntime reads",
        ) from None
    return opened


def _preparation(
    path: Path,
    shape: Sequence[Any],
    size: int | None,
    mean: tuple[float, ...],
    std: tuple[float, ...],
) -> EncoderPreparation:
    axes = list(shape)
    if len(axes) == 4 and axes[0] in (1, *_free(axes[0])) and axes[1] == 3:
        sides = {side for side in axes[2:] if isinstance(side, int)}
        raw = False
    elif len(axes) == 3 and axes[2] == 3:
        sides = {side for side in axes[:2] if isinstance(side, int)}
        if sides:
            raise _unfit(
                path,
                f"takes images of {axes}, expected free sides, since it preprocesses images itself",
            )
        raw = True
    else:
        raise _unfit(path, f"takes images of shape {axes}, expected [1, 3, S, S] or [H, W, 3]")
    if len(sides) > 1:
        raise _unfit(path, f"takes images of {axes}, expected a square")
    fixed = next(iter(sides), None)
    if fixed is not None and size is not None and fixed != size:
        raise BadInput(f"takes images of {fixed} pixels", file=path, cure=f"give --size {fixed}")
    side = fixed or size or EncoderPreparation.size
    if not SIDES[0] <= side <= SIDES[1]:
        raise _unfit(path, f"takes images of {side} pixels, expected {SIDES[0]} to {SIDES[1]}")
    if any(not math.isfinite(value) or value <= 0 for value in std):
        raise BadInput("a deviation of colours is not above 0", cure="use --std R,G,B above 0")
    (r, g, b), (sr, sg, sb) = mean, std
    return EncoderPreparation(side, (r, g, b), (sr, sg, sb), raw)


def _free(side: object) -> tuple[object, ...]:
    return () if isinstance(side, int) else (side,)


def _names(inputs: Sequence[Any]) -> str:
    return ", ".join(each.name for each in inputs)


def _unfit(
    path: Path,
    fault: str,
    cure: str = "see docs/explanation/part-campaigns.md for exports that fit",
) -> BadInput:
    return BadInput(fault, file=path, cure=cure)
