"""numba's njit with cached machine code. Import this inside functions only.

Compiling takes seconds once; the machine code is kept beside the source or, if that is not
writable, in the user's cache folder.
"""

import os
import tempfile
from pathlib import Path


def _keep_machine_code() -> None:
    cache_folder = Path(__file__).resolve().parent / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ or os.access(
        cache_folder if cache_folder.exists() else cache_folder.parent, os.W_OK
    ):
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "numba"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK)
    except OSError:
        writable = False
    # A name that others could guess would let them plant code: a fresh private folder instead.
    os.environ["NUMBA_CACHE_DIR"] = str(cache) if writable else tempfile.mkdtemp(prefix="assay-")


_keep_machine_code()

from numba import njit as njit  # noqa: E402  numba reads its cache folder as it is imported
