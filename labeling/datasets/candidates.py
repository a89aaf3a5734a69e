"""The list of candidates, which query found which image, as `wnid,image,query` rows."""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator

from labeling.csv_rows import safe_cell
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
    """Yield the rows as CSV lines after a header.

    Cells that a spreadsheet would run as formulas get a leading quote, which is removed when the
    list is read.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in itertools.chain([COLUMNS], rows_to_write):
        writer.writerow(map(safe_cell, row))
        yield stream.getvalue()
        stream.seek(0)
        stream.truncate()
