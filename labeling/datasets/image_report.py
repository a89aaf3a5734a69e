"""The report on imported files. No database."""

from dataclasses import dataclass, field

MAX_SHOWN = 400


@dataclass
class ImageReport:
    """Counts by result, and lists of files that were not added.

    duplicates: {"file", "same_as"}; refused: {"file", "why"}; near: {"file", "looks_like", "of",
    "distance"}, left out because they look like an image of a dataset. `list_limit` truncates each
    list and its names, so that any archive's report fits a row; the counts stay exact.
    """

    added: int = 0
    duplicates: list[dict[str, str]] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)
    list_limit: int | None = None
    duplicate_count: int = 0
    refused_count: int = 0
    near: list[dict[str, str]] = field(default_factory=list)
    near_count: int = 0

    def duplicate(self, file: str, same_as: str) -> None:
        self.duplicate_count += 1
        self._list(self.duplicates, {"file": file, "same_as": same_as})

    def refuse(self, file: str, why: str) -> None:
        self.refused_count += 1
        self._list(self.refused, {"file": file, "why": why})

    def looks_like(self, file: str, image: str, dataset: str, distance: int) -> None:
        self.near_count += 1
        row = {"file": file, "looks_like": image, "of": dataset, "distance": str(distance)}
        self._list(self.near, row)

    def _list(self, rows: list[dict[str, str]], row: dict[str, str]) -> None:
        if self.list_limit is None:
            rows.append(row)
        elif len(rows) < self.list_limit:
            rows.append({key: _cut(value) for key, value in row.items()})

    def as_dict(self) -> dict[str, object]:
        return {
            "added": self.added,
            "duplicates": self.duplicates,
            "refused": self.refused,
            "near_duplicates": [row | {"distance": int(row["distance"])} for row in self.near],
        }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
