"""What `labels import` does with objects and their parts: options, the action, how it is shown."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import part_imports
from labeling.exchange.part_report import Report
from labeling.files import BadInput
from labeling.formats.reading import skipped_sentence
from labeling.management.contract import ContractCommand, Result, table
from labeling.models import Dataset
from labeling.parts.simplifying import CAP
from labeling.plurals import count_of
from labeling.vocabulary import reading

SHIPPED = "shipped"
# So many faults are told on stderr; the result has them all.
WARNED = 20


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--parts",
        action="store_true",
        help="objects with their parts; .mat files and indexed masks are never anything else",
    )
    parser.add_argument(
        "--vocabulary",
        metavar=f"FILE|{SHIPPED}",
        help="what names of parts mean, from now on; else the dataset's own",
    )
    parser.add_argument(
        "--cap",
        type=float,
        default=100 * CAP,
        metavar="PERCENT",
        help="merge pieces up to this radius, of the object's diagonal; 100 is no bound",
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="cut outlines that cross themselves, and shapes outside",
    )


def bring_in(
    command: ContractCommand,
    dataset: Dataset,
    path: Path,
    format_name: str,
    *,
    source: str,
    vocabulary: str | None,
    cap: float,
    repair: bool,
    **_: Any,
) -> Result:
    """Return the report. Raises BadInput for what is wrong with the whole of it, and where nothing
    at all came in; where some objects were refused, the command ends with 1 after its result.
    """
    if not 0 <= cap <= 100:
        raise BadInput(f"--cap is {cap:g}", cure="give per cent, 0 to 100")
    if vocabulary:
        _take(dataset, vocabulary)
    how = part_imports.ImportOptions(source, None if cap == 100 else cap / 100, repair)
    report = Report()
    with command.progress(None, "object", "objects") as bar:

        def keep(report: Report) -> None:
            bar.update(report.read - bar.n)

        try:
            version = vocabulary_store.in_force(dataset)
            part_imports.Bringing(dataset, version, how, report, keep).read(path, format_name)
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
            f"none of its objects came in; {first['place']}: {first['why']}".rstrip("."), file=path
        )
    if report.refused:
        first = report.refused[0]
        refused = count_of(report.refused_count, "object was", "objects were")
        command.refused = BadInput(
            f"{refused} refused, the first is {first['place']}: {first['why']}".rstrip("."),
            file=path,
            cure="mend what is refused, then import the file again: the others are in",
        )
    return report.content()


def show(result: Mapping[str, Any]) -> str:
    counts = ("objects", "new", "parts", "merged", "apart_count", "no_room_count", "refused_count")
    words = ("objects", "of them new", "parts", "merged", "apart", "no room", "refused")
    text = table([(word, result[count]) for word, count in zip(words, counts, strict=True)])
    unknown = [(row["category"], row["part"] or "–", row["count"]) for row in result["unknown"]]
    if not unknown:
        return text
    head = "The vocabulary does not know these; add them to it, then import again."
    return f"{text}\n\n{head}\n{table(unknown, head=('category', 'part', 'objects'))}"


def _take(dataset: Dataset, name: str) -> None:
    """Makes the named vocabulary the dataset's latest. Raises BadInput."""
    vocabulary = reading.shipped() if name == SHIPPED else reading.read(name)
    try:
        vocabulary_store.add_version(dataset, vocabulary, None)
    except Refusal as refusal:
        raise BadInput(refusal.message.rstrip("."), file=name) from None


def _warnings(report: Report) -> Iterator[str]:
    for row in report.refused[:WARNED]:
        yield f"refused: {row['place']}: {row['why']}"
    if report.refused_count > WARNED:
        yield f"and {report.refused_count - WARNED:,} more were refused"
    yield from map(skipped_sentence, report.skipped)
    yield from report.mended[:WARNED]
    if report.mended_count > WARNED:
        yield f"and {report.mended_count - WARNED:,} more were mended or passed over"
