"""What is revealed, and in which order: the options of every command that shows part sequences."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import FIXATION_SCHEMES, RANDOM
from evaluation.readers.fixations import read_pascal_s
from evaluation.readers.sequences import SequenceLine
from evaluation.sequences import part_orders
from evaluation.sequences.objects import LeftOut, parts_of
from evaluation.sequences.part_orders import Orders, OrdersByFixations
from evaluation.sequences.release_tasks import Revealing
from evaluation.sequences.sequencing import frames_of, lines_of
from labeling.exchange import export_files
from labeling.files import BadInput, file_sha256
from labeling.management import release_options
from labeling.management.contract import UsageError
from labeling.release_files.frozen import Frozen

Options = Mapping[str, Any]


def add_arguments(parser: CommandParser, optional: bool = False) -> None:
    """The release, its photographs, the part orders and the content schemes.

    optional: the command has another source than a release.
    """
    purpose = "frames of a release's folder, or instead of its own"
    release_options.add_arguments(parser, purpose, optional)
    parser.add_argument(
        "--part-scheme",
        action="append",
        dest="part_schemes",
        metavar="NAME",
        help="random, or one of --orders (sequences makes E_U, E_US, E_A, E_AS by fixations); "
        "may be given again",
    )
    parser.add_argument(
        "--content-scheme",
        action="append",
        dest="content_schemes",
        choices=CONTENT_SCHEMES,
        help="may be given again; else all four",
    )
    parser.add_argument(
        "--orders", type=Path, metavar="FILE", help="part orders, such as sequences writes"
    )
    parser.add_argument("--seed", type=int, default=0, help="of random orders (0)")
    parser.add_argument(
        "--include-empty", action="store_true", help="a frame without any part comes first"
    )


def add_fixations(parser: CommandParser) -> None:
    """The options that make part orders of eye fixations; orders.json keeps them."""
    by = parser.add_argument_group("part orders by eye fixations, as PASCAL-S has them")
    by.add_argument(
        "--fixations", type=Path, metavar="pascalFix.mat", help="PASCAL-S's eye fixations"
    )
    by.add_argument(
        "--fixation-sizes", type=Path, metavar="pascalSize.mat", help="the sizes of its images"
    )
    by.add_argument(
        "--fixation-images",
        type=Path,
        metavar="FILE",
        help="line i names the release's image for image i, empty for none; else i.jpg or i.png",
    )
    by.add_argument(
        "--drop-first", action="store_true", help="leave out each person's first fixation"
    )
    by.add_argument(
        "--fallback", choices=[RANDOM], help="for categories without a fixation on any part"
    )


@dataclass(frozen=True)
class Shown:
    """What a command shows. orders: of the part schemes asked for, in that order.

    open_image: None where nobody said where the photographs are. text: what orders.json holds.
    """

    frozen: Frozen
    orders: Orders
    content_schemes: Sequence[str]
    include_empty: bool
    open_image: Callable[[str], IO[bytes]] | None
    text: str

    def lines(self, left_out: LeftOut | None = None) -> Iterator[SequenceLine]:
        """Return every sequence, as lines_of has them."""
        return lines_of(
            self.frozen, self.orders, self.content_schemes, self.include_empty, left_out
        )

    def photographs(self) -> Callable[[str], IO[bytes]]:
        """Open a photograph by its name. Raises BadInput where nobody said where they are."""
        if self.open_image is None:
            raise BadInput(
                "the photographs are not at hand", cure="say where they are: --images DIR"
            )
        return self.open_image

    def revealing(self) -> Revealing:
        """Return the same for tasks."""
        return Revealing(self.frozen, self.orders, self.content_schemes, self.include_empty)

    def frames(self, is_missing: Callable[[str], bool], **how: Any) -> Generator[tuple[str, Any]]:
        """Return the frames that are wanted, as frames_of has them."""
        return frames_of(
            self.frozen,
            self.orders,
            self.content_schemes,
            self.photographs(),
            include_empty=self.include_empty,
            is_wanted=is_missing,
            **how,
        )


def revealed_by(options: Options) -> Shown:
    """What the options of add_arguments ask for. Raises BadInput, and UsageError for options that
    do not go together."""
    _check(options)
    frozen, stored = release_options.find_release(options["release"], options["number"])
    open_image: Callable[[str], IO[bytes]] | None = None
    if options["images"] is not None:
        open_image = release_options.images_in(options["images"])
    elif stored is not None:
        open_image = export_files.originals_of(stored)
    parts = parts_of(frozen)
    from_file = part_orders.read_orders(options["orders"], parts) if options["orders"] else {}
    by_fixations = _by_fixations(frozen, options) if options.get("fixations") else None
    orders = _chosen(options, from_file, by_fixations.orders if by_fixations else {}, parts)
    content_schemes = list(dict.fromkeys(options["content_schemes"] or CONTENT_SCHEMES))
    made = by_fixations.shares if by_fixations else {}
    shares = {
        scheme: made[scheme] for scheme in orders if scheme in made and scheme not in from_file
    }
    settings: dict[str, object] = {
        "release": {"campaign": frozen.meta["campaign"]["name"], "sha256": frozen.meta["sha256"]},
        "content_schemes": content_schemes,
        "include_empty": options["include_empty"],
        "seed": options["seed"],
    }
    if options["orders"]:
        settings["orders"] = file_sha256(options["orders"])
    if by_fixations:
        settings["fixations"] = by_fixations.settings | {
            "sha256": file_sha256(options["fixations"])
        }
    return Shown(
        frozen,
        orders,
        content_schemes,
        options["include_empty"],
        open_image,
        part_orders.as_text(parts, orders, shares, settings),
    )


def folder_of_photographs(options: Options) -> Path:
    """--images. Raises UsageError without it: other processes do not ask the database."""
    folder: Path | None = options["images"]
    if folder is None:
        raise UsageError("tasks read photographs from a folder: give --images DIR")
    return folder


def _check(options: Options) -> None:
    if options.get("fixations") is None:
        for name in ("fixation_sizes", "fixation_images", "drop_first", "fallback"):
            if options.get(name):
                raise UsageError(f"--{name.replace('_', '-')} goes with --fixations")


def _by_fixations(frozen: Frozen, options: Options) -> OrdersByFixations:
    gazes = read_pascal_s(options["fixations"], options["fixation_sizes"])
    numbers = part_orders.numbers_of(frozen, len(gazes), options["fixation_images"])
    return part_orders.orders_by_fixations(
        frozen, gazes, numbers, options["drop_first"], options["fallback"], options["seed"]
    )


def _chosen(
    options: Options, from_file: Orders, by_fixations: Orders, parts: Mapping[str, Sequence[str]]
) -> Orders:
    """The orders of the part schemes asked for; of all there are, where none was named.

    An order in the file stands over one that is made.
    """
    there = {**by_fixations, **part_orders.random_orders(parts, options["seed"]), **from_file}
    # By fixations, all five schemes of the paper.
    every = [*by_fixations, *([RANDOM] if by_fixations else []), *from_file] or [RANDOM]
    names = options["part_schemes"] or every
    for name in names:
        if name not in there:
            made = "fixations" in options and name in FIXATION_SCHEMES
            need = "--fixations pascalFix.mat" if made else "--orders FILE"
            raise UsageError(f"the part scheme {name} has no order: give {need}")
    return {name: there[name] for name in names}
