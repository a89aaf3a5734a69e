"""Pack arrays and JSON into the object of a task."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

VALUES = "values"
Arrays = Mapping[str, NDArray[Any]]


def pack_arrays(arrays: Arrays, values: Any = None, compressed: bool = False) -> bytes:
    """Return the bytes of arrays by name and of a JSON value. compressed: useful where
    most are 0.
    """
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(values, ensure_ascii=False).encode(), np.uint8)
    write: Callable[..., None] = np.savez_compressed if compressed else np.savez
    write(file, **{VALUES: text}, **arrays)
    return file.getvalue()


def unpack_arrays(content: bytes) -> tuple[Arrays, Any]:
    """Return the arrays, each read on access, and the value."""
    arrays = np.load(io.BytesIO(content), allow_pickle=False)
    return arrays, json.loads(arrays[VALUES].tobytes())
