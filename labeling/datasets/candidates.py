"""The list of candidates: which query found which image, as `wnid,image,query` rows."""

import itertools
from collections.abc import Iterable, Iterator

from labeling.csv_rows import csv_lines
from labeling.models import Dataset

COLUMNS = ("wnid", "image", "query")
CHUNK = 1000


def rows(dataset: Dataset, scenes: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yield every query of every image, sorted by image name. scenes: include queries without a
    class, with an empty wnid.
    """
    images = dataset.images.exclude(queries=[]).order_by("name")
    for name, queries in images.values_list("name", "queries").iterator(chunk_size=CHUNK):
        yield from ((wnid, name, query) for wnid, query in queries if wnid or scenes)


def has_any(dataset: Dataset) -> bool:
    return dataset.images.exclude(queries=[]).exists()


def lines(rows_to_write: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Return the rows as CSV lines after a header."""
    return csv_lines(itertools.chain([COLUMNS], rows_to_write))
