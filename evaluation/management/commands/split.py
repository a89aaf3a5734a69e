"""`manage.py split`: divides labeled images into parts."""

from dataclasses import dataclass
from pathlib import Path

from django.db import OperationalError, ProgrammingError

from evaluation.readers import release_predictions
from evaluation.release_splits import making
from evaluation.splits import files, rules, sources
from labeling.bounded_numbers import whole
from labeling.files import BadInput, require_file
from labeling.management.contract import ContractCommand, UsageError
from labeling.management.options import argument, option


@dataclass(kw_only=True)
class SplitOptions:
    source: Path = argument(
        "a release, or image[,wnid][,source][,group] rows; images of one source or group, and "
        "near-duplicates in a release, stay together",
        metavar="RELEASE|LIST.csv",
    )
    by: str = option(
        "shares of the images, balanced by class; class:80/20: shares of the classes; per-class:N: "
        "N images of each class, and the rest; wsol:F,T: F images of each class in train-fullsup, "
        "T in test, the rest in train-weaksup",
        metavar="33/67|10/90|class:80/20|per-class:N|wsol:F,T",
    )
    names: str = option("of the parts (val,test)", "", metavar="A,B")
    seed: int = option("of the order of the images (0)", 0, type=whole())
    extend: Path | None = option(
        "an earlier split by the same rule, whose images keep their part", metavar="split.json"
    )
    seal: bool = option("mark the last part as hidden on a site; the files here are yours to guard")
    out: Path = option("folder for split.json and PART.txt, a list of images each", metavar="DIR")


class Command(ContractCommand):
    help = "Split labeled images into parts, for choosing settings and for testing."

    def action(self, options: SplitOptions) -> files.SplitHead:
        names = rules.names_of(options.names)
        earlier = files.read(options.extend) if options.extend else None
        if earlier and not names:
            names = tuple(earlier.head.counts)
        try:
            rule = files.parse_names(options.by, names) if names else rules.parse(options.by)
        except ValueError as error:
            raise UsageError(str(error)) from None
        source = _source(options.source)
        try:
            head, lists = files.make(source, rule, options.seed, options.seal, earlier)
        except BadInput as error:
            raise BadInput(error.message, options.extend, None, error.cure) from None
        for note in head.notes:
            self.warn(note)
        files.write(options.out, head, lists)
        return head


def _source(path: Path) -> sources.SplitSource:
    with release_predictions.opened(path) as release:
        if release:
            try:
                return making.source_of(release)
            except (OperationalError, ProgrammingError):
                # Without a site, there are no photographs.
                return sources.of_release(release, {})
    require_file(path, "give a release, or a list of images")
    return sources.read_list(path)
