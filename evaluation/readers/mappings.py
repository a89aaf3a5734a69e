"""Read mapping.csv: the classes of each category, as `category,wnid` rows. No Django."""

from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from labeling.csv_rows import rows
from labeling.files import BadInput

COLUMNS = ("category", "wnid")


@dataclass(frozen=True)
class Mapping:
    """Each category with the wnids of its classes, and the first lines of both.

    classes: in the order of the file. lines: of a category, and of a category and a wnid.
    """

    path: Path
    classes: dict[str, list[str]]
    lines: dict[str | tuple[str, str], int]


def read_mapping(path: Path, wordnet: WordNet) -> Mapping:
    """Return the mapping of a CSV with the columns category and wnid.

    A class may belong to several categories. Raises BadInput with the line for a category without a
    name, a wnid that is not a noun of WordNet 3.0, a repeated row, and for no rows.
    """
    classes: dict[str, list[str]] = {}
    lines: dict[str | tuple[str, str], int] = {}
    for line, cells in rows(path, COLUMNS):
        category, wnid = (cell.strip() for cell in cells)
        if not category:
            raise BadInput("the category is empty", path, line, "name the category")
        try:
            wordnet.index(wnid)
        except UnknownLabel:
            raise BadInput(
                f"{wnid!r} is not a noun of WordNet 3.0",
                path,
                line,
                "give a wnid such as n02084071",
            ) from None
        first = lines.setdefault((category, wnid), line)
        if first != line:
            raise BadInput(
                f"{wnid} is already mapped to {category!r} in line {first}",
                path,
                line,
                "keep one of the two rows",
            )
        lines.setdefault(category, line)
        classes.setdefault(category, []).append(wnid)
    if not classes:
        raise BadInput("there are no rows below the header", path, None, "add category,wnid rows")
    return Mapping(path, classes, lines)


def places_in(mapping: Mapping, pool: list[str], pool_path: Path) -> dict[int, list[int]]:
    """Return category number → indices of its classes in a pool of wnids.

    Raises BadInput for a class that is not in the pool.
    """
    index_of = {wnid: i for i, wnid in enumerate(pool)}
    for category, wnids in mapping.classes.items():
        for wnid in wnids:
            if wnid not in index_of:
                raise BadInput(
                    f"{wnid} ({category}) is not in the pool {pool_path}",
                    mapping.path,
                    mapping.lines[category, wnid],
                    "add it to the pool, or remove the row",
                )
    return {
        number: [index_of[wnid] for wnid in wnids]
        for number, wnids in enumerate(mapping.classes.values())
    }
