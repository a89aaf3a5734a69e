"""`labels import` for objects with parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import part_imports
from labeling.exchange.part_report import PartImportReport
from labeling.files import BadInput
from labeling.formats.reading import skipped_sentence
from labeling.management.contract import ContractCommand, Result, refusals
from labeling.management.options import option
from labeling.models import Dataset
from labeling.parts.simplifying import CAP
from labeling.plurals import count_of
from labeling.vocabulary import reading

SHIPPED = "shipped"
# Limit of faults on stderr; the result lists more and counts all.
WARNED = 20


@dataclass(kw_only=True)
class PartOptions:
    """Options of importing objects with parts."""

    parts: bool = option(
        "import objects with their parts; the default for .mat files and indexed masks"
    )
    vocabulary: str | None = option(
        "new vocabulary of the dataset, which names the parts; default: its latest",
        metavar=f"FILE|{SHIPPED}",
    )
    source: str = option("source of labels whose row states none", "")
    repair: bool = option("repair outlines that cross themselves, and clip shapes to the image")


def import_parts(
    command: ContractCommand, dataset: Dataset, path: Path, format_name: str, options: PartOptions
) -> Result:
    """Return the report; if objects were refused, the command exits with 1 after its result.

    Raises BadInput for a faulty input, and if nothing was imported.
    """
    if options.vocabulary:
        _add_vocabulary(dataset, options.vocabulary)
    how = part_imports.ImportOptions(options.source, CAP, options.repair)
    report = PartImportReport()
    with command.progress(None, "object", "objects") as bar:

        def show_progress(report: PartImportReport) -> None:
            bar.update(report.read - bar.n)

        try:
            version = vocabulary_store.in_force(dataset)
            part_imports.PartImport(dataset, version, how, report, show_progress).read(
                path, format_name
            )
        except Refusal as refusal:
            cure = "or give --vocabulary shipped" if refusal.code == "no_vocabulary" else None
            raise BadInput(refusal.message.rstrip("."), file=path, cure=cure) from None
    for warning in _warnings(report):
        command.warn(warning)
    if report.skipped and not (report.read or report.refused):
        raise BadInput(
            f"has no object that could be read: {skipped_sentence(report.skipped[0])}", path
        )
    if report.refused and not report.objects:
        first = report.refused[0]
        raise BadInput(
            f"none of its objects was imported; {first['place']}: {first['why']}".rstrip("."),
            file=path,
        )
    if report.refused:
        first = report.refused[0]
        refused = count_of(report.refused_count, "object was", "objects were")
        command.refused = BadInput(
            f"{refused} refused, the first is {first['place']}: {first['why']}".rstrip("."),
            file=path,
            cure="correct the refused objects, then import the file again; the others are imported",
        )
    return report.content()


def _add_vocabulary(dataset: Dataset, name: str) -> None:
    """Make the named vocabulary the latest of the dataset. Raises BadInput."""
    vocabulary = reading.shipped() if name == SHIPPED else reading.read(name)
    with refusals(name):
        vocabulary_store.add_version(dataset, vocabulary, None)


def _warnings(report: PartImportReport) -> Iterator[str]:
    for row in report.refused[:WARNED]:
        yield f"refused: {row['place']}: {row['why']}"
    if report.refused_count > WARNED:
        yield f"and {report.refused_count - WARNED:,} more were refused"
    yield from map(skipped_sentence, report.skipped)
    yield from report.mended[:WARNED]
    if report.mended_count > WARNED:
        yield f"and {report.mended_count - WARNED:,} more were mended or ignored"
