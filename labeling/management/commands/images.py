"""`images add|near|candidates`: images into a dataset, what looks alike, and the queries that found
them, from the shell."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling.csv_rows import safe_cell
from labeling.datasets import candidates, datasets, images
from labeling.datasets.image_sources import Found, Query, Refused, merged
from labeling.datasets.near_images import fingerprints_of, known_in
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, Result, UsageError, table
from labeling.models import Dataset, User
from labeling.near_duplicates import choosing, search
from labeling.near_duplicates.choosing import Known

SHOWN = 20
# A dataset in place of files.
DATASET = "dataset:"


@dataclass
class Compared:
    """What `near` compares. found: of the files, by their place in `known`."""

    known: list[Known] = field(default_factory=list)
    fingerprints: list[Found] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    against: list[dict[str, object]] = field(default_factory=list)


class Command(ContractCommand):
    help = "Put images into a dataset; find those that look alike; say which query found them."

    def add_arguments(self, parser: CommandParser) -> None:
        add = self.verb(
            parser,
            "add",
            self.add,
            self.show_report,
            help="add images; duplicates by content are reported and not added twice",
        )
        add.add_argument("dataset", metavar="DATASET", help="its name")
        add.add_argument(
            "path",
            metavar="FOLDER|ZIP|MANIFEST.csv",
            help="where the photographs are; a manifest of wnid,image,query, or candidates.csv in "
            "a folder or zip, says which query found each",
        )
        add.add_argument("--licence", default="", help="of images whose manifest row says none")
        add.add_argument("--source", default="", help="of images whose manifest row says none")
        add.add_argument(
            "--near",
            action="store_true",
            help="leave out what looks like an image of the dataset",
        )
        add.add_argument(
            "--against",
            action="append",
            default=[],
            metavar="DATASET",
            help="leave out what looks like an image of this one too, as another split",
        )
        add.add_argument(
            "--create",
            metavar="OWNER",
            help="make the dataset if there is none, owned by this user",
        )
        add.add_argument(
            "--first-frame",
            action="store_true",
            help="take the first frame of animated files, which are refused otherwise",
        )
        near = self.verb(
            parser, "near", self.near, self.show_near, help="what looks alike, and what may go"
        )
        near.add_argument(
            "path", metavar="FOLDER|ZIP|MANIFEST.csv", help="the photographs of which some may go"
        )
        near.add_argument(
            "--against",
            action="append",
            default=[],
            metavar="[NAME=]FOLDER|ZIP|MANIFEST.csv|dataset:NAME",
            help="another split, whose images all stay",
        )
        near.add_argument(
            "--distance",
            type=int,
            default=search.DISTANCE,
            choices=range(search.MOST_DISTANCE + 1),
            metavar="BITS",
            help=f"of 64 that may differ, 0 to {search.MOST_DISTANCE} ({search.DISTANCE})",
        )
        near.add_argument(
            "--out",
            type=Path,
            metavar="KEPT.csv",
            help="what stays, as images add takes it: wnid,image,query rows of a list of "
            "candidates, else file rows",
        )
        near.add_argument(
            "--pairs", type=Path, metavar="PAIRS.csv", help="what goes: image,kept,of,distance,why"
        )
        listing = self.verb(
            parser,
            "candidates",
            self.candidates,
            help="write which query found which image of a dataset",
        )
        listing.add_argument("dataset", metavar="DATASET", help="its name")
        listing.add_argument(
            "--out", type=Path, required=True, metavar="FILE.csv", help="wnid,image,query rows"
        )
        listing.add_argument(
            "--scenes", action="store_true", help="also what queries for no class found"
        )

    def add(
        self,
        dataset: str,
        path: str,
        licence: str,
        source: str,
        near: bool,
        against: list[str],
        create: str | None,
        first_frame: bool,
        **_: Any,
    ) -> Result:
        goal = _dataset(dataset, create)
        others = [_dataset(name, None) for name in dict.fromkeys(against)]
        with self.progress(None, "image", "images") as bar:
            try:
                report = images.add_path(
                    goal,
                    path,
                    licence=licence,
                    source=source,
                    watch=bar.update,
                    against=others if near or others else None,
                    first_frame=first_frame,
                )
            except Refusal as refusal:
                line = getattr(refusal, "line", None)
                raise BadInput(refusal.message, file=path, line=line) from None
        return report.as_dict()

    def show_report(self, result: Result) -> str:
        lists = {
            "duplicates": ("file", "same_as"),
            "near_duplicates": ("file", "looks_like", "of", "distance"),
            "refused": ("file", "why"),
        }
        counts = [(name.replace("_", " "), len(result[name])) for name in lists]
        parts = [table([("added", result["added"]), *counts])]
        for name, columns in lists.items():
            parts += _listed(result[name], columns)
        return "\n\n".join(parts)

    def near(
        self,
        path: str,
        against: list[str],
        distance: int,
        out: Path | None,
        pairs: Path | None,
        **_: Any,
    ) -> Result:
        for goal in (out, pairs):
            if goal is not None:
                refuse_input(goal, [Path(path)])
        compared = Compared()
        with self.progress(None, "image", "images") as bar, ExitStack() as opened:
            for fingerprint, known in _files(path, "", compared.refused, bar.update, opened):
                compared.fingerprints.append(fingerprint)
                compared.known.append(known)
            for text in against:
                _add_other(compared, text, bar.update, opened)
        rows = choosing.choose(compared.known, distance)
        known_names = list(choosing.with_names(compared.known, rows))
        if pairs is not None:
            with atomic_write(pairs) as file:
                writer = csv.DictWriter(file, ("image", "kept", "of", "distance", "why"))
                writer.writeheader()
                writer.writerows(
                    {key: safe_cell(str(cell)) for key, cell in row.items()} for row in known_names
                )
        if out is not None:
            with atomic_write(out) as file:
                _write_kept(file, compared, rows)
        count = len(compared.fingerprints)
        return {
            "images": count,
            "against": compared.against,
            "plain": sum(known.fingerprint is None for known in compared.known[:count]),
            "refused": [{"file": row.file, "why": row.why} for row in compared.refused],
            "distance": distance,
            "kept": count - len(rows),
            "removed": known_names,
        }

    def show_near(self, result: Result) -> str:
        facts = [("images", result["images"])]
        facts += [(f"of {row['name']}", row["images"]) for row in result["against"]]
        facts += [
            ("too plain to compare", result["plain"]),
            ("refused", len(result["refused"])),
            ("look like another", len(result["removed"])),
            ("kept", result["kept"]),
        ]
        removed = _listed(result["removed"], ("image", "kept", "of", "distance", "why"))
        return "\n\n".join([table(facts), *removed, *_listed(result["refused"], ("file", "why"))])

    def candidates(self, dataset: str, out: Path, scenes: bool, **_: Any) -> Result:
        goal = _dataset(dataset, None)
        rows = list(candidates.rows(goal, scenes))
        with atomic_write(out) as file:
            file.writelines(candidates.lines(rows))
        return {
            "dataset": dataset,
            "rows": len(rows),
            "images": len({image for _, image, _ in rows}),
            "classes": len({wnid for wnid, _, _ in rows} - {""}),
        }


def _files(
    path: str,
    origin: str,
    refused: list[Refused],
    watch: Callable[[int], object],
    opened: ExitStack,
) -> Iterator[tuple[Found, Known]]:
    """Every image at the path. Raises BadInput for a path that has none."""
    if not Path(path).exists():
        raise BadInput("does not exist", path, None, "check the path")
    try:
        stream = images.stream_at(Path(path), opened)
        yield from known_in(stream(), origin, refused, watch)
    except Refusal as refusal:
        raise BadInput(refusal.message, path, getattr(refusal, "line", None)) from None


def _add_other(
    compared: Compared, text: str, watch: Callable[[int], object], opened: ExitStack
) -> None:
    name, is_named, path = text.partition("=")
    if not is_named:
        name = path = text
    if not name or not path:
        raise UsageError(f"--against {text!r} is no [NAME=]PATH")
    before = len(compared.known)
    if path.startswith(DATASET):
        other_dataset = _dataset(path.removeprefix(DATASET), None)
        compared.known += [
            Known(image, seen, origin=name) for image, seen in fingerprints_of(other_dataset)
        ]
    else:
        files = _files(path, name, compared.refused, watch, opened)
        compared.known += [known for _, known in files]
    compared.against.append({"name": name, "images": len(compared.known) - before})


def _write_kept(file: Any, compared: Compared, rows: list[choosing.Removed]) -> None:
    """What stays. A query that found an image which goes found the one that is kept for it."""
    gone = {row.image: row.kept for row in rows}
    queries: dict[int, list[Query]] = {
        index: list(fingerprint.queries) for index, fingerprint in enumerate(compared.fingerprints)
    }
    for position, kept in gone.items():
        if kept in queries:
            queries[kept] += queries[position]
    stay = [index for index in queries if index not in gone]
    if any(fingerprint.queries for fingerprint in compared.fingerprints):
        rows_kept = (
            (wnid, compared.fingerprints[index].file, query)
            for index in stay
            for wnid, query in merged(queries[index])
        )
        file.writelines(candidates.lines(rows_kept))
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["file"])
    writer.writerows([compared.fingerprints[index].file] for index in stay)


def _listed(rows: Sequence[Mapping[str, object]], columns: tuple[str, ...]) -> list[str]:
    """The first of these rows as a table, and how many more there are."""
    if not rows:
        return []
    paragraphs = [table([tuple(row[name] for name in columns) for row in rows[:SHOWN]], columns)]
    if len(rows) > SHOWN:
        paragraphs.append(f"and {len(rows) - SHOWN} more; --json lists them all")
    return paragraphs


def _dataset(name: str, owner: str | None) -> Dataset:
    dataset = Dataset.objects.filter(name=name).first()
    if dataset is not None:
        return dataset
    if owner is None:
        raise BadInput(
            f"there is no dataset {name!r}", cure="make it on the pages, or add --create OWNER"
        )
    user = User.objects.filter(username=owner).first()
    if user is None:
        raise BadInput(f"there is no user {owner!r}", cure="name an existing one")
    try:
        return datasets.create(user, name=name)
    except Refusal as refusal:
        raise BadInput(refusal.message) from None
