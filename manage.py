#!/usr/bin/env python
"""Assay's command line: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    from django.conf import settings
    from django.core.management import execute_from_command_line

    if sys.argv[1:2] == ["migrate"]:
        # SQLite makes its file, but not the folder that a new ASSAY_DATA names.
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
