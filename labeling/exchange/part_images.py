"""Which image of a dataset a file of objects means: files name them with and without folders."""

from collections.abc import Collection
from pathlib import PurePosixPath

from labeling.models import Dataset

Found = tuple[str, int, int]


class ImageNames:
    """The images of a dataset by the names that others have for them.

    A name is an image's own; else the file's name without its folder, where one image alone has
    it; else that without its ending, as PASCAL VOC names images ("2008_000002").
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._short: dict[str, str] | None = None

    def find(self, names: Collection[str]) -> dict[str, Found]:
        """(name in the dataset, width, height) by the names asked for; unknown ones are left out.

        One query where all are known by their own names; else all names are read once.
        """
        own = self._own(names)
        others = {name: self._by_short(name) for name in names if name not in own}
        known = self._own({name for name in others.values() if name})
        return own | {name: known[goal] for name, goal in others.items() if goal in known}

    def _own(self, names: Collection[str]) -> dict[str, Found]:
        rows = self.dataset.images.filter(name__in=names) if names else []
        return {row.name: (row.name, row.width, row.height) for row in rows}

    def _by_short(self, name: str) -> str:
        if self._short is None:
            self._short = {}
            for full in self.dataset.images.values_list("name", flat=True).iterator():
                path = PurePosixPath(full)
                for short in {path.name, path.stem}:
                    # Two of one short name: it means neither.
                    self._short[short] = "" if short in self._short else full
        return self._short.get(PurePosixPath(name.replace("\\", "/")).name, "")
