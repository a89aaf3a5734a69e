"""The methods of score maps by name. Without torch, so that --help is fast."""

from dataclasses import dataclass

GRADIENTS = tuple(
    f"{backward}{average}"
    for average in ("", "-smoothgrad", "-integrated")
    for backward in ("vanilla", "guided")
)
METHODS = ("cam", *GRADIENTS)
REDUCTIONS = ("max-abs", "sum-abs", "sum")
READINGS = ("deviation", "window")


class Unsuited(ValueError):
    """The network lacks what the method needs, which the message names."""


@dataclass(frozen=True)
class Recipe:
    """How score maps are made. Fields that the method does not use are ignored.

    samples: N, how many gradients are averaged. noise: SmoothGrad's standard deviation as a share
    of the image's range. times_input: multiply integrated gradients by image − baseline. channels:
    how three gradients per pixel become a score. smooth: width of the Gaussian, see smoothed. seed:
    of SmoothGrad's noise.
    """

    method: str
    samples: int = 50
    noise: float = 0.15
    times_input: bool = False
    channels: str = "max-abs"
    smooth: float = 0.0
    smooth_as: str = "deviation"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in (("method", METHODS), ("channels", REDUCTIONS), ("smooth_as", READINGS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {known}")
        if self.samples < 1 or not 0 <= self.noise < float("inf") or self.smooth < 0:
            raise ValueError(f"{self}: samples are 1 or more, noise and smooth 0 or more")

    def as_dict(self) -> dict[str, object]:
        """Return the fields that apply, for results."""
        _, _, average = self.method.partition("-")
        names = ["method"]
        names += ["channels"] * (self.method != "cam")
        names += ["samples"] * bool(average)
        names += {"smoothgrad": ["noise", "seed"], "integrated": ["times_input"]}.get(average, [])
        names += ["smooth", "smooth_as"] if self.smooth else ["smooth"]
        return {name: getattr(self, name) for name in names}

    @property
    def averages(self) -> int:
        """Return the number of gradients per map."""
        return self.samples if "-" in self.method else 1
