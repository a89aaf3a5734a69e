"""Dataclasses whose fields are options of a command."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management.base import CommandError, CommandParser

from labeling.management.options import add_options, argument, from_parsed, option


@dataclass(kw_only=True)
class Common:
    seed: int = option("of the random numbers (0)", 0)


@dataclass(kw_only=True)
class Options(Common):
    source: Path = argument("a folder")
    name: str = option("of the result")
    size: int | None = option("in pixels")
    is_dry: bool = option("write nothing", flag="--dry")
    parts: list[Path] | None = option("may be given several times", flag="--part")
    tags: list[str] = option("may be given several times", [])
    mode: str = option("how to go on", "fast", choices=("fast", "slow"))
    # No option, but set by the command itself.
    folder: Path | None = None


def parsed(*words: str) -> Options:
    parser = CommandParser()
    add_options(parser, Options)
    return from_parsed(Options, vars(parser.parse_args(words)))


def test_what_is_left_out_is_as_type_and_default_say():
    assert parsed("in", "--name", "x") == Options(
        source=Path("in"), name="x", size=None, is_dry=False, parts=None, tags=[], seed=0
    )


def test_texts_are_read_by_the_types_of_the_fields():
    options = parsed(
        *("in", "--name", "x", "--size", "3", "--dry", "--seed", "7", "--mode", "slow"),
        *("--part", "a", "--part", "b", "--tags", "t"),
    )

    assert (options.size, options.is_dry, options.seed, options.mode) == (3, True, 7, "slow")
    assert (options.parts, options.tags) == ([Path("a"), Path("b")], ["t"])


@pytest.mark.parametrize(
    "words",
    [("in",), ("--name", "x"), ("in", "--name", "x", "--size", "?"), ("in", "--mode", "odd")],
)
def test_a_missing_or_odd_option_is_wrong_usage(words):
    with pytest.raises(CommandError):
        parsed(*words)
