import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

KEPT = Path(__file__).parent / "kept"


@pytest.fixture
def kept() -> Callable[[str, str], None]:
    """Compares a text with the kept file, or writes the file where ASSAY_RECORD is 1."""

    def compare(name: str, text: str) -> None:
        path = KEPT / name
        if os.environ.get("ASSAY_RECORD") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        lines = difflib.unified_diff(
            path.read_text(encoding="utf-8").splitlines(), text.splitlines(), "kept", "now", n=1
        )
        changed = "\n".join(lines)
        assert not changed, f"{name} changed:\n{changed}"

    return compare
