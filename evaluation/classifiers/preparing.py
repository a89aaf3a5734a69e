"""Preparation of frames for a classifier: size, fit and colours. No Django.

Torch is imported inside functions.
"""

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from torch import device as Device

# squash and pad keep the whole frame; crop keeps the central square.
FITS = ("squash", "crop", "pad")
INTERPOLATIONS = ("bilinear", "bicubic")


@dataclass(frozen=True)
class FramePreparation:
    """size: height and width in pixels. mean, std: of red, green and blue in [0, 1].

    fit: squash stretches the whole frame to the size; pad keeps its proportions and fills the rest
    with the mean colour, which becomes 0; crop scales until the middle covers the size and cuts off
    the rest. crop_share: the share of the scaled frame's shorter side that crop keeps.
    """

    size: tuple[int, int] = (224, 224)
    fit: str = "squash"
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    interpolation: str = "bilinear"
    crop_share: float = 1.0

    def __post_init__(self) -> None:
        numbers = [*self.mean, *self.std, self.crop_share]
        if not (
            min(self.size) >= 1
            and self.fit in FITS
            and self.interpolation in INTERPOLATIONS
            and all(map(math.isfinite, numbers))
            and min(self.std) > 0
            and 0 < self.crop_share <= 1
        ):
            raise ValueError(
                f"{self} cannot be meant: fit is one of {', '.join(FITS)}, interpolation of "
                f"{', '.join(INTERPOLATIONS)}, and sizes, std and crop_share are above 0"
            )

    def as_dict(self) -> dict[str, object]:
        """Return the fields that apply, for results."""
        fields = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}
        if self.fit != "crop":
            del fields["crop_share"]
        return fields | {"antialias": True}

    def __call__(self, frame: "Tensor") -> "Tensor":
        """Return (3, height, width) float32 of a frame (H, W, 3) uint8, on its device."""
        image = frame.permute(2, 0, 1).float() / 255
        colours = _colours(self.mean, self.std, frame.device)
        fitted = {"squash": self._squashed, "crop": self._cropped, "pad": self._padded}[self.fit]
        return fitted(image, colours)

    def _squashed(self, image: "Tensor", colours: "Tensor") -> "Tensor":
        return (self._resized(image, self.size) - colours[0]) / colours[1]

    def _cropped(self, image: "Tensor", colours: "Tensor") -> "Tensor":
        height, width = self.size
        _, high, wide = image.shape
        scale = max(height / high, width / wide) / self.crop_share
        shape = (max(height, round(high * scale)), max(width, round(wide * scale)))
        scaled = self._resized(image, shape)
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
        return (scaled[:, top : top + height, left : left + width] - colours[0]) / colours[1]

    def _padded(self, image: "Tensor", colours: "Tensor") -> "Tensor":
        height, width = self.size
        _, high, wide = image.shape
        scale = min(height / high, width / wide)
        shape = (
            min(height, max(1, round(high * scale))),
            min(width, max(1, round(wide * scale))),
        )
        whole = image.new_zeros((3, height, width))
        top, left = (height - shape[0]) // 2, (width - shape[1]) // 2
        whole[:, top : top + shape[0], left : left + shape[1]] = (
            self._resized(image, shape) - colours[0]
        ) / colours[1]
        return whole

    def _resized(self, image: "Tensor", shape: tuple[int, int]) -> "Tensor":
        from torch.nn.functional import interpolate

        if tuple(image.shape[1:]) == shape:
            return image
        resized = interpolate(
            image.unsqueeze(0),
            size=shape,
            mode=self.interpolation,
            align_corners=False,
            antialias=True,
        )
        # Bicubic overshoots at edges.
        return resized.squeeze(0).clamp_(0, 1)


@lru_cache(32)
def _colours(
    mean: tuple[float, float, float], std: tuple[float, float, float], device: "Device"
) -> "Tensor":
    """Return (2, 3, 1, 1); kept, because each upload to a device waits for it."""
    import torch

    return torch.tensor([mean, std], device=device).view(2, 3, 1, 1)
