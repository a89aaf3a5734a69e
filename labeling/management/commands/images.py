"""`images add|near|candidates`: adds images to a dataset, finds near-duplicates, lists queries."""

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeling.csv_rows import safe_cell
from labeling.datasets import candidates, datasets, images
from labeling.datasets.image_sources import Query, Refused, SourceFile, merged
from labeling.datasets.near_images import fingerprints_of, known_in
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, Result, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.models import Dataset, User
from labeling.near_duplicates import choosing, search
from labeling.near_duplicates.choosing import KnownImage

# Prefix of --against for a dataset instead of files.
DATASET = "dataset:"


@dataclass
class ComparedImages:
    """The images that `near` compares. files: those to deduplicate; `known` begins with them."""

    known: list[KnownImage] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    against: list[dict[str, object]] = field(default_factory=list)


@dataclass(kw_only=True)
class AddImageOptions:
    dataset: str = argument("name of the dataset")
    path: str = argument(
        "folder, zip or manifest; a manifest of wnid,image,query, or candidates.csv in a folder or "
        "zip, records which query returned each image",
        metavar="FOLDER|ZIP|MANIFEST.csv",
    )
    licence: str = option("licence of images whose manifest row states none", "")
    source: str = option("source of images whose manifest row states none", "")
    near: bool = option("leave out near-duplicates of the dataset's images")
    against: list[str] = option(
        "also leave out near-duplicates of this dataset, such as another split",
        [],
        metavar="DATASET",
    )
    create: str | None = option(
        "create the dataset if it does not exist, owned by this user", metavar="OWNER"
    )
    first_frame: bool = option("use the first frame of animated files instead of refusing them")


@dataclass(kw_only=True)
class NearImageOptions:
    path: str = argument("photographs to deduplicate", metavar="FOLDER|ZIP|MANIFEST.csv")
    against: list[str] = option(
        "another split, whose images are all kept",
        [],
        metavar="[NAME=]FOLDER|ZIP|MANIFEST.csv|dataset:NAME",
    )
    distance: int = option(
        f"differing bits of 64, 0 to {search.MAX_DISTANCE} ({search.DISTANCE})",
        search.DISTANCE,
        choices=range(search.MAX_DISTANCE + 1),
        metavar="BITS",
    )
    out: Path | None = option(
        "kept images, for images add: wnid,image,query rows for candidates, else file rows",
        metavar="KEPT.csv",
    )
    pairs: Path | None = option("removed images: image,kept,of,distance,why", metavar="PAIRS.csv")


@dataclass(kw_only=True)
class CandidateOptions:
    dataset: str = argument("name of the dataset")
    out: Path = option("wnid,image,query rows", metavar="FILE.csv")
    scenes: bool = option("also images of queries without a class")


class Command(ContractCommand):
    help = "Add images to a dataset, find near-duplicates, and list the queries that found images."

    @verb("add images; duplicates by content are reported and not added twice")
    def add(self, options: AddImageOptions) -> Result:
        path = options.path
        dataset = _dataset(options.dataset, options.create)
        others = [_dataset(name, None) for name in dict.fromkeys(options.against)]
        with self.progress(None, "image", "images") as bar, refusals(path):
            report = images.add_path(
                dataset,
                path,
                licence=options.licence,
                source=options.source,
                watch=bar.update,
                against=others if options.near or others else None,
                first_frame=options.first_frame,
            )
        return report.as_dict()

    @verb("list near-duplicates and the images to remove")
    def near(self, options: NearImageOptions) -> Result:
        path, out, pairs, distance = options.path, options.out, options.pairs, options.distance
        for output in (out, pairs):
            if output is not None:
                refuse_input(output, [Path(path)])
        compared = ComparedImages()
        with self.progress(None, "image", "images") as bar, ExitStack() as opened:
            for source, known in _files(path, "", compared.refused, bar.update, opened):
                compared.files.append(source)
                compared.known.append(known)
            for text in options.against:
                _add_other(compared, text, bar.update, opened)
        rows = choosing.choose(compared.known, distance)
        removed_rows = list(choosing.with_names(compared.known, rows))
        if pairs is not None:
            with atomic_write(pairs) as file:
                writer = csv.DictWriter(file, ("image", "kept", "of", "distance", "why"))
                writer.writeheader()
                writer.writerows(
                    {key: safe_cell(str(cell)) for key, cell in row.items()} for row in removed_rows
                )
        if out is not None:
            with atomic_write(out) as file:
                _write_kept(file, compared, rows)
        count = len(compared.files)
        return {
            "images": count,
            "against": compared.against,
            "plain": sum(known.fingerprint is None for known in compared.known[:count]),
            "refused": [{"file": row.file, "why": row.why} for row in compared.refused],
            "distance": distance,
            "kept": count - len(rows),
            "removed": removed_rows,
        }

    @verb("write the queries that returned each image of a dataset")
    def candidates(self, options: CandidateOptions) -> Result:
        dataset = _dataset(options.dataset, None)
        rows = list(candidates.rows(dataset, options.scenes))
        with atomic_write(options.out) as file:
            file.writelines(candidates.lines(rows))
        return {
            "dataset": options.dataset,
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
) -> Iterator[tuple[SourceFile, KnownImage]]:
    """Yield every image at the path. Raises BadInput for a path that cannot be read."""
    if not Path(path).exists():
        raise BadInput("does not exist", path, None, "check the path")
    with refusals(path):
        stream = images.stream_at(Path(path), opened)
        yield from known_in(stream(), origin, refused, watch)


def _add_other(
    compared: ComparedImages, text: str, watch: Callable[[int], object], opened: ExitStack
) -> None:
    name, is_named, path = text.partition("=")
    if not is_named:
        name = path = text
    if not name or not path:
        raise UsageError(f"--against {text!r} is not [NAME=]PATH")
    before = len(compared.known)
    if path.startswith(DATASET):
        other_dataset = _dataset(path.removeprefix(DATASET), None)
        compared.known += [
            KnownImage(image, views, origin=name) for image, views in fingerprints_of(other_dataset)
        ]
    else:
        files = _files(path, name, compared.refused, watch, opened)
        compared.known += [known for _, known in files]
    compared.against.append({"name": name, "images": len(compared.known) - before})


def _write_kept(file: Any, compared: ComparedImages, rows: list[choosing.Removed]) -> None:
    """Write the kept images; they take over the queries of the images removed for them."""
    removed = {row.image: row.kept for row in rows}
    queries: dict[int, list[Query]] = {
        index: list(source.queries) for index, source in enumerate(compared.files)
    }
    for position, kept in removed.items():
        if kept in queries:
            queries[kept] += queries[position]
    kept_indices = [index for index in queries if index not in removed]
    if any(source.queries for source in compared.files):
        rows_kept = (
            (wnid, compared.files[index].file, query)
            for index in kept_indices
            for wnid, query in merged(queries[index])
        )
        file.writelines(candidates.lines(rows_kept))
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["file"])
    writer.writerows([compared.files[index].file] for index in kept_indices)


def _dataset(name: str, owner: str | None) -> Dataset:
    dataset = Dataset.objects.filter(name=name).first()
    if dataset is not None:
        return dataset
    if owner is None:
        raise BadInput(
            f"there is no dataset {name!r}", cure="create it on the site, or add --create OWNER"
        )
    user = User.objects.filter(username=owner).first()
    if user is None:
        raise BadInput(f"there is no user {owner!r}", cure="name an existing one")
    with refusals():
        return datasets.create(user, name=name)
