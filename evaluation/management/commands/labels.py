"""`labels export`, `import`, `report`: write, import and summarize labels."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.release_reports.making import Reports
from evaluation.scoring import release_report
from labeling.exchange import part_reading, prior_labels
from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.formats.label import NAMES, Label
from labeling.formats.label_studio_project import LOCAL_FILES
from labeling.formats.reading import skipped_sentence
from labeling.management.contract import ContractCommand, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.management.part_imports import PartOptions, import_parts
from labeling.management.release_options import (
    RELEASE_HELP,
    ReleaseOptions,
    find_campaign,
    find_release,
    open_images,
)
from labeling.models import Dataset
from labeling.release_files import exporting

# Formats of labels and of objects with parts; a release's kind determines which it has.
EXPORT_FORMATS = list(exporting.ALL_NAMES)
IMPORT_FORMATS = list(dict.fromkeys([*FORMATS, *part_reading.FORMAT_NAMES]))


@dataclass(kw_only=True)
class ExportOptions(ReleaseOptions):
    format_name: str = option(
        "csv by default; objects with their parts as coco, pascal-part, png, label-studio, or as "
        "pictures to look at",
        "csv",
        flag="--format",
        choices=EXPORT_FORMATS,
    )
    out: Path = option("a new folder", metavar="DIR")
    names: str = option(
        "of coco's categories: each once (cat head), or plain (head, of every class)",
        exporting.DEFAULT.names,
        choices=NAMES,
    )
    rest: bool = option("coco: with what no part covers, of each object")
    image_base: str = option(
        "label-studio: what stands before an image's name in its address; "
        f"{LOCAL_FILES} by default",
        "",
        metavar="URL",
    )
    with_images: bool = option(
        "with the photographs as people saw them, in images/ (voc: JPEGImages/)"
    )


@dataclass(kw_only=True)
class LabelImportOptions(PartOptions):
    dataset: str = argument("name of the dataset")
    path: Path = argument("labels, or an export of a release", metavar="FILE|DIR")
    format_name: str = option(
        "default: as the files say", "", flag="--format", choices=IMPORT_FORMATS
    )
    campaign: str | None = option("refuse classes that its question graph does not have")


@dataclass(kw_only=True)
class ReportOptions:
    release: str = argument(RELEASE_HELP, metavar="CAMPAIGN|RELEASE")
    second: str = argument("another one, to compare", "", metavar="OTHER")
    windows: Path | None = option("CSV of objectness windows (image,rank,x0,y0,x1,y1), for clutter")


class Command(ContractCommand):
    help = "Labels out of a frozen release, or into a dataset before anybody is asked."

    @verb("from a release")
    def export(self, options: ExportOptions) -> exporting.Exported:
        frozen, stored = find_release(options.release, options.number)
        with refusals():
            made = exporting.export(
                frozen,
                options.format_name,
                options.out,
                open_images(options, stored),
                exporting.FormatOptions(options.names, options.rest, options.image_base),
                with_images=options.with_images,
            )
        if made.note:
            self.warn(made.note)
        return made

    @verb("figures of a release by class, beside those of a second one")
    def report(self, options: ReportOptions) -> Reports:
        frozen, _ = find_release(options.release)
        first = release_report.report(frozen, options.windows)
        if not options.second:
            return Reports(release=first, second=None)
        frozen, _ = find_release(options.second)
        return Reports(release=first, second=release_report.report(frozen))

    @verb("into a dataset, as given", "import")
    def bring_in(self, options: LabelImportOptions) -> Mapping[str, Any]:
        goal = Dataset.objects.filter(name=options.dataset).first()
        if goal is None:
            raise BadInput(
                f"there is no dataset {options.dataset!r}", cure="make it with images add --create"
            )
        if options.parts or part_reading.is_for_parts(options.path, options.format_name):
            if options.campaign:
                raise UsageError("--campaign goes with labels of classes, not with parts")
            return import_parts(self, goal, options.path, options.format_name, options)
        return self.import_labels(goal, options)

    def import_labels(
        self, goal: Dataset, options: LabelImportOptions
    ) -> prior_labels.LabelImportResult:
        path, campaign = options.path, options.campaign
        with self.progress(None, "label", "labels") as bar:

            def watch(labels: Iterable[Label]) -> Iterator[Label]:
                for label in labels:
                    bar.update()
                    yield label

            with refusals(path):
                result = prior_labels.import_labels(
                    goal,
                    path,
                    options.format_name,
                    options.source,
                    find_campaign(campaign) if campaign else None,
                    repair=options.repair,
                    watch=watch,
                )
        for sentence in (*map(skipped_sentence, result["skipped"]), *result["mended"]):
            self.warn(sentence)
        if not (result["labels"] or result["unknown"]):
            self.warn("the file has no labels")
        return result
