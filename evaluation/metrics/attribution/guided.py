"""Guided backpropagation: ReLUs pass back only positive gradients.

Source: Springenberg et al., "Striving for Simplicity: The All Convolutional Net" (2015), §3.4.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

RELUS = {"relu", "relu_", "relu.default", "relu_.default"}


class GuidedReLUs(TorchFunctionMode):
    """Within the block every ReLU passes a gradient back only where it and the ReLU's input are >
    0.

    Covers modules, functions and methods, in place or not, and operators of exported programs. The
    network itself is not changed. TorchScript is not visible. calls: how many ReLUs ran.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> object:
        kwargs = kwargs or {}
        name = name_of(func)
        if name not in RELUS:
            return func(*args, **kwargs)
        self.calls += 1
        inputs = args[0] if args else kwargs["input"]
        # F.relu's second argument says that it is in place.
        in_place = name.startswith("relu_") or bool(kwargs.get("inplace", args[1:] == (True,)))
        return _GuidedReLU.apply(inputs, in_place)


class _GuidedReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, in_place: bool) -> Tensor:
        outputs = inputs.relu_() if in_place else inputs.relu()
        if in_place:
            ctx.mark_dirty(inputs)
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (outputs,) = ctx.saved_tensors
        return gradients[0].clamp(min=0) * (outputs > 0), None


def name_of(func: Any) -> str:
    """Return torch's name of a function; operators of exported programs end in .default."""
    return str(getattr(func, "__name__", ""))
