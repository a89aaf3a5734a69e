"""`publish`: a release as a folder for Hugging Face, Croissant and DataCite."""

from dataclasses import dataclass
from pathlib import Path

from labeling.exchange import export_files
from labeling.management.contract import ContractCommand, refusals
from labeling.management.options import option
from labeling.management.release_options import ReleaseOptions, find_release, open_images
from labeling.plurals import count_of
from labeling.publishing import folder


@dataclass(kw_only=True)
class PublishOptions(ReleaseOptions):
    out: Path = option("a new folder", metavar="DIR")
    with_images: bool = option(
        "include the photographs as annotators saw them, in data/images.parquet"
    )


class Command(ContractCommand):
    help = "A release as a folder to publish: Parquet, card, Croissant, datasheet, DataCite."

    def action(self, options: PublishOptions) -> folder.Published:
        frozen, stored = find_release(options.release, options.number)
        with refusals():
            made = folder.publish(
                frozen,
                options.out,
                open_images(options, stored),
                with_images=options.with_images,
                **export_files.publishing_options(stored),
            )
        if made.unknown_licence:
            self.warn(
                f"{count_of(made.unknown_licence, 'image has', 'images have')} no stated licence; "
                "state one, or ask before you publish"
            )
        if made.sealed:
            self.warn(f"{count_of(made.sealed, 'image')} of sealed parts left out")
        return made
