"""The client: a researcher's steps, from photographs to a score."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assay_client import models
from assay_client.transport import File, Transport

# The site adds up to this many files without a job.
BATCH = 20
MAX_QUESTIONS = 5_000
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
# Rows, or a pandas DataFrame with these columns.
Table = Iterable[Mapping[str, Any]] | Any


class AssayClient(Transport):
    """A site, with a token of its page “API tokens”.

    with AssayClient("https://assay.example.org", token) as assay:
        assay.create_dataset("pond")
    """

    def me(self) -> models.Me:
        return cast(models.Me, self.get("me/"))

    def create_dataset(self, name: str, description: str = "") -> models.Dataset:
        body = {"name": name, "description": description}
        return cast(models.Dataset, self.post("datasets/", body))

    def add_images(self, dataset: str, folder: File, *, licence: str = "", source: str = "") -> int:
        """Upload the photographs of a folder by their paths in it; return how many were sent.

        Skips names that the dataset has, so an interrupted call can be repeated. Files that the
        site refused do not count; then it warns.
        """
        root = Path(folder)
        known = {row["name"] for row in self.pages(f"datasets/{dataset}/images/")}
        paths = [path for path in sorted(root.rglob("*")) if path.suffix.lower() in ENDINGS]
        new = [path for path in paths if path.relative_to(root).as_posix() not in known]
        refused: list[dict[str, str]] = []
        for batch in _batches(new, BATCH):
            names = [path.relative_to(root).as_posix() for path in batch]
            body = {"names": names, "licence": licence, "source": source}
            made = self.post(f"datasets/{dataset}/images/", body, files={"files": [*batch]})
            if "id" in made:
                made = self.wait(f"datasets/{dataset}/imports/{made['id']}/")["report"]
            refused += made["refused"]
        if refused:
            first = refused[0]
            warnings.warn(
                f"{len(refused)} of {len(new)} files were refused, first {first['file']}: "
                f"{first['why']}",
                stacklevel=2,
            )
        return len(new) - len(refused)

    def create_campaign(
        self, name: str, *, dataset: str, kind: str = "contains", title: str = "", **fields: Any
    ) -> models.Campaign:
        """Create a draft. fields: policy, settings, instructions."""
        body = {"name": name, "title": title or name, "kind": kind, "dataset": dataset} | fields
        return cast(models.Campaign, self.post("campaigns/", body))

    def add_topics(self, campaign: str, topics: Table) -> int:
        """Define classes: rows with key and, unless WordNet knows it, name."""
        rows = _rows(topics)
        return int(self.post(f"campaigns/{campaign}/topics/", {"topics": rows})["count"])

    def add_questions(self, campaign: str, questions: Table) -> int:
        """Ask about rows of image and topic; return how many are new."""
        path, created = f"campaigns/{campaign}/questions/", 0
        for batch in _batches(_rows(questions), MAX_QUESTIONS):
            created += self.post(path, {"questions": [*batch]})["created"]
        return created

    def launch(self, campaign: str) -> models.Campaign:
        return cast(models.Campaign, self.post(f"campaigns/{campaign}/launch/"))

    def close_campaign(self, campaign: str) -> models.Campaign:
        return cast(models.Campaign, self.post(f"campaigns/{campaign}/close/"))

    def invite(self, campaign: str, people: int, role: str = "annotator") -> str:
        """Create an invitation for this many people; return its secret."""
        body = {"max_uses": people, "role": role}
        return str(self.post(f"campaigns/{campaign}/invitations/", body)["secret"])

    def progress(self, campaign: str) -> models.Progress:
        return cast(models.Progress, self.get(f"campaigns/{campaign}/progress/"))

    def answers(self, campaign: str, **query: Any) -> Iterator[models.AnswerRow]:
        """Yield every answer, under pseudonyms; `frame("campaigns/…/answers/")` returns a table."""
        return self.pages(f"campaigns/{campaign}/answers/", **query)

    def freeze(self, campaign: str) -> models.Release:
        """Return a release of the labels as they are now."""
        return cast(models.Release, self.post(f"campaigns/{campaign}/releases/"))

    def release_file(self, campaign: str, number: int, name: str, goal: File) -> Path:
        """Write a file of a release, such as answers.jsonl."""
        path = f"campaigns/{campaign}/releases/{number}/files/{name}/"
        return self.download(path, goal)

    def report(
        self,
        campaign: str,
        number: int,
        *,
        windows: File | None = None,
        second: tuple[str, int] | None = None,
        second_windows: File | None = None,
    ) -> models.Reports:
        """Return the figures of a release by class, as `manage.py labels report` does.

        second: campaign and number of a release to compare. windows, second_windows: CSV files of
        an objectness detector, for clutter.
        """
        path, query = f"campaigns/{campaign}/releases/{number}/report/", dict[str, str | int]()
        if second:
            query = {"second": second[0], "second_number": second[1]}
        for field, file in (("windows", windows), ("second_windows", second_windows)):
            if file is not None:
                query[field] = self.post(path, files={"windows": file})["windows"]
        return cast(models.Reports, self.wait(path, **cast(Any, query)))

    def publish(self, campaign: str, number: int, goal: File) -> Path:
        """Write a release as a zip to publish, with its photographs: Parquet, card, Croissant."""
        path = f"campaigns/{campaign}/releases/{number}/labels/"
        return self.download(f"{path}?format=huggingface&with_images=true", goal)

    def create_benchmark(
        self, family: str, *, files: Mapping[str, File] | None = None, **fields: Any
    ) -> models.Benchmark:
        """Create a benchmark. family: mad, cds or labeled; fields and files as in the schema."""
        path = f"benchmark-kinds/{family}/benchmarks/"
        return cast(models.Benchmark, self.post(path, fields, files=files))

    def submit(self, benchmark: str, classifier: str, file: File) -> None:
        """Submit predictions, also again: they replace those of the same name.

        classifier: "" for mad and cds, whose files name their classifiers.
        """
        path = f"benchmarks/{benchmark}/submissions/"
        if classifier:
            self.put(f"{path}{classifier}/", files={"file": file})
        else:
            self.post(path, files={"file": file})

    def score(self, benchmark: str, *, seconds: float = 3600) -> dict[str, Any]:
        """Score the submissions that exist now; return the result."""
        run = self.post(f"benchmarks/{benchmark}/runs/")
        path = f"benchmarks/{benchmark}/runs/{run['id']}/"
        return cast(dict[str, Any], self.wait(path, seconds=seconds)["result"])


def _rows(table: Table) -> list[dict[str, Any]]:
    """Return rows; a DataFrame's missing values are left out."""
    if hasattr(table, "to_dict"):
        table = [
            {key: value for key, value in row.items() if value == value and value is not None}
            for row in table.to_dict("records")
        ]
    return [dict(row) for row in table]


def _batches(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
