"""Which frames of part sequences a command uses, by its options."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import FIXATION_SCHEMES, RANDOM
from evaluation.readers.fixations import read_pascal_s
from evaluation.readers.sequences import SequenceLine
from evaluation.sequences import part_orders
from evaluation.sequences.objects import LeftOutObjects, parts_of
from evaluation.sequences.part_orders import Orders, OrdersByFixations
from evaluation.sequences.release_tasks import Revealing
from evaluation.sequences.sequencing import frames_of, lines_of
from labeling.exchange import export_files
from labeling.files import BadInput, file_sha256
from labeling.management.contract import UsageError
from labeling.management.options import option
from labeling.management.release_options import ReleaseOptions, find_release, images_in
from labeling.release_files.frozen import Frozen


@dataclass(kw_only=True)
class FrameOptions(ReleaseOptions):
    """The release, its photographs, the part orders and the content schemes."""

    part_schemes: list[str] | None = option(
        "random, or one of --orders (sequences makes E_U, E_US, E_A, E_AS by fixations); may be "
        "given again",
        flag="--part-scheme",
        metavar="NAME",
    )
    content_schemes: list[str] | None = option(
        "may be given again; else all four", flag="--content-scheme", choices=CONTENT_SCHEMES
    )
    orders: Path | None = option("part orders, such as sequences writes", metavar="FILE")
    seed: int = option("of random orders (0)", 0)
    include_empty: bool = option("a frame without any part comes first")


@dataclass(kw_only=True)
class FixationOptions(FrameOptions):
    """Part orders by the eye fixations of PASCAL-S; orders.json keeps them."""

    fixations: Path | None = option("PASCAL-S's eye fixations", metavar="pascalFix.mat")
    fixation_sizes: Path | None = option("the sizes of its images", metavar="pascalSize.mat")
    fixation_images: Path | None = option(
        "line i names the release's image for image i, empty for none; else i.jpg or i.png",
        metavar="FILE",
    )
    drop_first: bool = option("leave out each person's first fixation")
    fallback: str | None = option("for categories without a fixation on any part", choices=[RANDOM])

    def check(self) -> None:
        """Raise UsageError for options that need --fixations."""
        for name in ("fixation_sizes", "fixation_images", "drop_first", "fallback"):
            if self.fixations is None and getattr(self, name):
                raise UsageError(f"--{name.replace('_', '-')} goes with --fixations")

    def made_orders(self, frozen: Frozen) -> OrdersByFixations | None:
        """Return the orders by fixations; their settings include the hash of the file."""
        if self.fixations is None:
            return None
        gazes = read_pascal_s(self.fixations, self.fixation_sizes)
        numbers = part_orders.numbers_of(frozen, len(gazes), self.fixation_images)
        made = part_orders.orders_by_fixations(
            frozen, gazes, numbers, self.drop_first, self.fallback, self.seed
        )
        made.settings["sha256"] = file_sha256(self.fixations)
        return made


@dataclass(frozen=True)
class ShownFrames:
    """The frames that a command uses. orders: of the chosen part schemes, in that order.

    open_image: None where the location of the photographs is unknown. text: of orders.json.
    """

    frozen: Frozen
    orders: Orders
    content_schemes: Sequence[str]
    include_empty: bool
    open_image: Callable[[str], IO[bytes]] | None
    text: str

    def lines(self, left_out: LeftOutObjects | None = None) -> Iterator[SequenceLine]:
        """Return every sequence, as lines_of yields them."""
        return lines_of(
            self.frozen, self.orders, self.content_schemes, self.include_empty, left_out
        )

    def photographs(self) -> Callable[[str], IO[bytes]]:
        """Return a function that opens a photograph by name. Raises BadInput without
        photographs.
        """
        if self.open_image is None:
            raise BadInput("the photographs are missing", cure="say where they are: --images DIR")
        return self.open_image

    def revealing(self) -> Revealing:
        """Return these frames in the form that tasks take."""
        return Revealing(self.frozen, self.orders, self.content_schemes, self.include_empty)

    def frames(self, is_missing: Callable[[str], bool], **how: Any) -> Generator[tuple[str, Any]]:
        """Return the missing frames, as frames_of yields them."""
        return frames_of(
            self.frozen,
            self.orders,
            self.content_schemes,
            self.photographs(),
            include_empty=self.include_empty,
            is_wanted=is_missing,
            **how,
        )


def revealed_by(options: FrameOptions) -> ShownFrames:
    """Return the frames that the options choose. Raises BadInput, and UsageError for options that
    do not go together.
    """
    fixations = options if isinstance(options, FixationOptions) else None
    if fixations:
        fixations.check()
    frozen, stored = find_release(options.release, options.number)
    open_image: Callable[[str], IO[bytes]] | None = None
    if options.images is not None:
        open_image = images_in(options.images)
    elif stored is not None:
        open_image = export_files.originals_of(stored)
    parts = parts_of(frozen)
    from_file = part_orders.read_orders(options.orders, parts) if options.orders else {}
    by_fixations = fixations.made_orders(frozen) if fixations else None
    orders = _chosen(options, from_file, by_fixations.orders if by_fixations else {}, parts)
    content_schemes = list(dict.fromkeys(options.content_schemes or CONTENT_SCHEMES))
    made = by_fixations.shares if by_fixations else {}
    shares = {
        scheme: made[scheme] for scheme in orders if scheme in made and scheme not in from_file
    }
    settings: dict[str, object] = {
        "release": {"campaign": frozen.meta["campaign"]["name"], "sha256": frozen.meta["sha256"]},
        "content_schemes": content_schemes,
        "include_empty": options.include_empty,
        "seed": options.seed,
    }
    if options.orders:
        settings["orders"] = file_sha256(options.orders)
    if by_fixations:
        settings["fixations"] = by_fixations.settings
    return ShownFrames(
        frozen,
        orders,
        content_schemes,
        options.include_empty,
        open_image,
        part_orders.as_text(parts, orders, shares, settings),
    )


def folder_of_photographs(options: FrameOptions) -> Path:
    """Return --images. Raises UsageError without it, because tasks have no access to the
    database.
    """
    if options.images is None:
        raise UsageError("tasks read photographs from a folder: give --images DIR")
    return options.images


def _chosen(
    options: FrameOptions,
    from_file: Orders,
    by_fixations: Orders,
    parts: Mapping[str, Sequence[str]],
) -> Orders:
    """Return the orders of the chosen part schemes, or of all.

    An order in the file replaces one that is made.
    """
    known = {**by_fixations, **part_orders.random_orders(parts, options.seed), **from_file}
    # With fixations, the default is all five schemes of the paper.
    every = [*by_fixations, *([RANDOM] if by_fixations else []), *from_file] or [RANDOM]
    names = options.part_schemes or every
    for name in names:
        if name not in known:
            is_made = isinstance(options, FixationOptions) and name in FIXATION_SCHEMES
            need = "--fixations pascalFix.mat" if is_made else "--orders FILE"
            raise UsageError(f"the part scheme {name} has no order: give {need}")
    return {name: known[name] for name in names}
