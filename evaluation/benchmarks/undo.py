"""Rename, archive and delete a benchmark."""

import shutil

from django.db import transaction

from evaluation.benchmarks import folders
from labeling.jobs import shared_files
from labeling.removal.undo import Undo


class BenchmarkUndo(Undo):
    """A benchmark is deleted with its submissions and scores; the campaign stays."""

    noun = "benchmark"

    @property
    def needs_archive(self) -> bool:
        return bool(self.row.runs.exists())

    @transaction.atomic
    def erase(self) -> None:
        # In the store, the folder as made, each run and each version is one object.
        folder = folders.folder_of(self.row)
        stored = folders.stored_name(self.row, "").rstrip("/")
        names = [row.name for row in shared_files.list_files(stored)]
        super().erase()

        def remove() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            for name in names:
                shared_files.delete(name)

        transaction.on_commit(remove, robust=True)
