"""The command line as a new user meets it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_migrate_makes_the_folder_that_assay_data_names(tmp_path):
    env = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
    env |= {"ASSAY_DATA": str(tmp_path / "new" / "data"), "SECRET_KEY": "of this test"}

    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--plan"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "data").is_dir()
