"""`score KIND` with a release as truth: its labels are written as files, then scored."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    EXCLUDED,
    IMAGES,
    TRUTH,
    WSOL,
    ReleaseName,
    TruthCounts,
)
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import MASKS
from evaluation.management.computing import DeviceOptions
from labeling.files import BadInput
from labeling.management.contract import UsageError, refusals
from labeling.records import Record
from labeling.release_files import frozen

Scored = TypeVar("Scored", bound=Record)
Truth = TypeVar("Truth", bound=DeviceOptions)


def of_release(
    kind: str,
) -> Callable[[Callable[[Any, Truth], Scored]], Callable[[Any, Truth], Scored]]:
    """Return a decorator of verbs: --truth or --metadata may be a release's folder too.

    The command prints the notes on that truth as warnings; the result has its counts and release
    under "truth".
    """
    option = "metadata" if kind == WSOL else "truth"

    def decorated(action: Callable[[Any, Truth], Scored]) -> Callable[[Any, Truth], Scored]:
        @wraps(action)
        def scored(command: Any, options: Truth) -> Scored:
            source: Path = getattr(options, option)
            if not (source / "release.json").is_file():
                return action(command, options)
            with tempfile.TemporaryDirectory(prefix="truth-") as scratch:
                folder = Path(scratch)
                counts = _written(kind, source, folder, vars(options))
                for note in counts.notes:
                    command.warn(note)
                changes = _laid_out(kind, folder, vars(options))
                try:
                    result = action(command, replace(options, **changes))
                except BadInput as error:
                    raise _of_release(error, folder, source) from error
                return replace(result, unknown=result.unknown | {"truth": counts.to_json()})

        return scored

    return decorated


def _written(kind: str, source: Path, folder: Path, options: Mapping[str, object]) -> TruthCounts:
    """Write the truth into the folder and return its counts and release."""
    if options.get("devkit") is not None:
        raise UsageError("--devkit is for files of ILSVRC's kit, not for a release")
    release = frozen.read(source)
    with refusals(source):
        counts = ground_truth.write(release, kind, folder, bool(options.get("inclusive")))
    meta = release.meta
    counts.release = ReleaseName(
        campaign=meta["campaign"]["name"], sha256=meta["sha256"], number=meta["number"]
    )
    return counts


def _laid_out(kind: str, folder: Path, options: Mapping[str, object]) -> Mapping[str, Any]:
    """Return the options that now name files of the folder."""
    if kind == WSOL:
        if options["masks"] is None:
            return {"metadata": folder}
        if options["masks"] != options["metadata"]:
            raise UsageError("the masks of a release are its own: give the release as --masks too")
        if not (folder / MASKS).is_dir():
            fault = "nobody drew parts in this release"
            raise BadInput(fault, str(options["masks"]), None, "leave --masks out")
        return {"metadata": folder / MASKS, "masks": folder / MASKS, "temporary": True}
    truth_options: dict[str, Path | bool] = {"truth": folder / TRUTH}
    for option, name in (("images", IMAGES), ("exclude", EXCLUDED)):
        if option in options and options[option] is None and (folder / name).exists():
            truth_options[option] = folder / name
    return truth_options


def _of_release(error: BadInput, folder: Path, source: Path) -> BadInput:
    """Return the error without the temporary folder in its texts."""
    inside = error.file is not None and Path(error.file).is_relative_to(folder)
    message, cure = (
        text and text.replace(f"{folder}/", "").replace(str(folder), "the release")
        for text in (error.message, error.cure)
    )
    return BadInput(
        message or "", source if inside else error.file, None if inside else error.line, cure
    )
