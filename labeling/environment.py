"""Environment variables that child processes may inherit. No Django."""

import os
import re
from collections.abc import Mapping

# Where programs, libraries and data lie, and how many threads they start. No key, no address of a
# database, broker or mail server.
ALLOWED = re.compile(
    r"PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|PYTHONPATH|VIRTUAL_ENV|LD_LIBRARY_PATH|CUDA_\w+|NVIDIA_\w+"
    r"|(OMP|OPENBLAS|MKL|NUMBA)_NUM_THREADS|NUMBA_CACHE_DIR|TORCH_HOME|HF_HOME|XDG_CACHE_HOME"
    r"|SSL_CERT_(FILE|DIR)|ASSAY_WORDNET"
)


def allowed_variables(environment: Mapping[str, str], extra_names: str = "") -> dict[str, str]:
    """Return the allowed variables. extra_names: a pattern of more names for this child."""
    names = re.compile(extra_names)
    return {
        name: value
        for name, value in environment.items()
        if ALLOWED.fullmatch(name) or names.fullmatch(name)
    }


def restrict(extra_names: str = "") -> None:
    """Remove variables that are not allowed from this process, and so from its children."""
    kept = allowed_variables(os.environ, extra_names)
    os.environ.clear()
    os.environ.update(kept)
