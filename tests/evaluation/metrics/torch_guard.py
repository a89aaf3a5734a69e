"""What torch is asked to do, as tests of code for GPUs see it on the CPU."""

from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# On CUDA these round, or scan, otherwise than on the CPU.
BANNED = {
    *("addcmul", "addcmul_", "addcdiv", "addcdiv_", "lerp", "lerp_", "histc", "histogram"),
    *("cummin", "cummax", "_cummin_helper", "_cummax_helper"),
    *("mm", "bmm", "addmm", "convolution", "upsample_bilinear2d", "upsample_nearest2d"),
}
# Floats meet only operations that IEEE 754 rounds in one way, or that round nothing.
EXACT = {
    *("add", "sub", "rsub", "mul", "div", "minimum", "maximum", "clamp", "amin", "amax"),
    *("ge", "gt", "le", "lt", "eq", "ne", "bucketize", "where", "masked_fill", "index"),
    *("_to_copy", "copy_", "cat", "stack", "zeros_like", "ones_like", "full_like", "lift_fresh"),
    *("view", "_unsafe_view", "expand", "slice", "select", "permute", "t", "unbind", "unsqueeze"),
    *("clone", "detach", "_local_scalar_dense"),
}
# The host waits for what these give.
WAITING = {
    *("nonzero", "equal", "_local_scalar_dense", "_unique2", "unique_dim", "masked_select"),
    *("bincount", "is_nonzero"),
}


class Guard(TorchDispatchMode):
    """Refuses what would not give a GPU the CPU's bits; counts launches and waits.

    exact: whether floats must come out to the bit. launches: operations that are no views. waits:
    those whose result the host must wait for. Within torch.device("meta") it also refuses tensors
    that are made without saying where.
    """

    def __init__(self, exact: bool = True) -> None:
        super().__init__()
        self.exact = exact
        self.launches: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        assert not (self.exact and name in BANNED), f"{name} rounds otherwise on CUDA"
        flat = [
            value for arg in args for value in (arg if isinstance(arg, list | tuple) else [arg])
        ]
        tensors = [value for value in flat if isinstance(value, torch.Tensor)]
        if self.exact and any(value.is_floating_point() for value in tensors):
            assert name in EXACT, f"{name} of floats: does CUDA round it as the CPU does?"
            # a + alpha · b is fused.
            assert (kwargs or {}).get("alpha", 1) in (1, -1), f"{name} with another factor"
            if name == "div":
                assert isinstance(args[1], torch.Tensor), "a host scalar divides"
                assert args[1].dim() > 0, "a host scalar divides: CUDA multiplies by 1 / x"
        is_view = any(
            returned.alias_info is not None and not returned.alias_info.is_write
            for returned in function._schema.returns
        )
        self.launches[name] += not is_view
        by_mask = name in ("index", "index_put", "index_put_") and any(
            value is not None and value.dtype in (torch.bool, torch.uint8) for value in args[1]
        )
        self.waits[name] += name in WAITING or by_mask
        result = function(*args, **(kwargs or {}))
        flat = result if isinstance(result, list | tuple) else [result]
        assert not any(isinstance(value, torch.Tensor) and value.is_meta for value in flat), name
        return result
