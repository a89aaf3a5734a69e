"""Registered models: the networks that users of the site may choose.

The only writer of RegisteredModel. A model is a program, so only the command registers any kind of
network. Administrators may also upload ONNX files: a job opens such a file in a child process with
limits before it may be used, and its hash is checked before each use.
"""

import importlib.util
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from evaluation.benchmarks.uploads import load_wordnet, uploaded
from evaluation.classifiers.model_lists import EXPECTED, preparing_value
from evaluation.metrics.wordnet.nouns import UnknownLabel
from evaluation.models import RegisteredModel
from evaluation.readers.class_files import MAX_LABEL_LENGTH
from evaluation.readers.shipped import CLASSES
from labeling import onnx_files
from labeling.campaigns.access import check_administrator
from labeling.errors import Conflict, NotYours, Refusal, TooLarge
from labeling.files import BadInput, file_sha256
from labeling.jobs import child, hashed_files, queue
from labeling.models import Job, User

KIND = "open model"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# Folder of uploaded files, on this machine and in the storage.
STORED = "models"
MAX_BYTES = 512 * 1024**2
MAX_CLASSES = 100_000
# Most protobuf fields and numbers in an upload: the web process reads these in 1.6 s and 130 MiB.
MAX_PARTS = 500_000
# The process that opens an uploaded file has these limits: bytes, processor seconds, seconds.
LIMITS = child.ChildLimits(memory=4 * child.GIB, cpu=300, seconds=600)
# Matches the error messages of onnxruntime and Python.
OUT_OF_MEMORY = re.compile(r"bad_alloc|BFCA|MemoryError|[Aa]llocate")
NO_RUNTIME = (
    "This site cannot run ONNX files: onnxruntime is not installed. Ask whoever runs the site to "
    "install what is in requirements.txt."
)


def check_name(name: str) -> str:
    """Return the name. Raises BadInput unless it is a word, since it becomes the name of files."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"the model's name is {name[:40]!r}",
            cure="give 1 to 100 letters, digits, -, _ or dots, the first a letter or digit",
        )
    return name


def usable() -> QuerySet[RegisteredModel]:
    """Return the models that may run: all except uploaded files that no job has opened yet."""
    return RegisteredModel.objects.filter(Q(job=None) | Q(job__state=Job.State.DONE))


def models_named(names: Sequence[str], field: str) -> list[RegisteredModel]:
    """Return the usable models of these names, in order. Raises Refusal for a missing one."""
    by_name = {model.name: model for model in usable().filter(name__in=names)}
    if missing := [name for name in names if name not in by_name]:
        raise Refusal(
            f"No model is registered as {missing[0][:100]!r}. Choose one from the list of models.",
            field=field,
        )
    return [by_name[name] for name in names]


def runtime_fault() -> str:
    """Return why this site cannot take ONNX files, or ""."""
    return "" if importlib.util.find_spec("onnxruntime") else NO_RUNTIME


def register(
    name: str,
    spec: str,
    *,
    classes: Sequence[str],
    options: Sequence[str],
    source: dict[str, str],
) -> RegisteredModel:
    """Save the model under its name, replacing the previous one, and return it."""
    with transaction.atomic():
        replaced = RegisteredModel.objects.filter(name=check_name(name)).exclude(job=None).first()
        if replaced is not None:
            _delete(replaced)
        made, _ = RegisteredModel.objects.update_or_create(
            name=name,
            defaults={
                "spec": spec,
                "classes": list(classes),
                "options": list(options),
                "source": source,
            },
        )
    return made


def upload(
    actor: User, name: str, file: File, *, classes: str, **preparing: str
) -> RegisteredModel:
    """Keep an ONNX file as a model, with the job that opens it, and return it.

    classes: a wnid or word per line for each output, or the name of a shipped list. preparing:
    size, mean, std and fit as text, each optional or empty. Raises NotAllowed, Refusal with the
    field, Conflict for a taken name.
    """
    check_administrator(actor)
    if fault := runtime_fault():
        raise Refusal(fault, field="file", code="no_onnxruntime")
    try:
        check_name(name)
    except BadInput as bad:
        raise Refusal(f"{bad}.", field="name") from bad
    if file.size > MAX_BYTES:
        raise TooLarge(f"The file is larger than {MAX_BYTES // 1024**2} MiB.", field="file")
    options = options_of(_prepared(preparing))
    wnids = _wnids(classes)
    _check_taken(name)
    with uploaded(file) as path:
        try:
            onnx_files.check(path, MAX_PARTS)
        except BadInput as bad:
            raise Refusal(f"The file {bad.message}; {bad.cure}.", field="file") from bad
        digest = file_sha256(path)
        stored = f"{STORED}/{digest}.onnx"
        hashed_files.keep(path, stored, digest)
    try:
        with transaction.atomic():
            last = Job.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
            # A key of its own: enqueue would return a queued job with the same key.
            job = queue.enqueue(KIND, f"{name} after job {last}")
            return RegisteredModel.objects.create(
                name=name,
                spec=stored,
                classes=wnids,
                options=options,
                source={"model": f"{name}.onnx", "sha256": digest},
                uploaded_by=actor,
                job=job,
            )
    except IntegrityError:
        # Uploaded concurrently under the same name.
        _check_taken(name)
        raise


def execute(job: Job) -> None:
    """Open an uploaded file once in a child process. May run twice.

    Raises Refusal if it cannot be used; then no pool or benchmark offers it.
    """
    model = RegisteredModel.objects.filter(job=job).first()
    if model is None:
        return
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        folder = Path(scratch)
        write_classes(model, folder / "classes.txt")
        command = f"models register {model.name} --try --json --classes=classes.txt"
        try:
            child.manage(
                job,
                folder,
                *command.split(),
                f"--model={spec_in(model, folder)}",
                *model.options,
                environment=wordnet_variables(),
                limits=LIMITS,
            )
        except (Refusal, child.ChildFailed) as fault:
            if OUT_OF_MEMORY.search(str(fault)):
                raise Refusal(
                    f"It needs over {LIMITS.memory // child.GIB} GiB of memory."
                ) from fault
            # The file caused the failure: another attempt would fail the same way.
            raise Refusal(str(fault)) from fault


def spec_in(model: RegisteredModel, folder: Path) -> str:
    """Return the spec of the model for a child process that runs in the folder.

    Raises Refusal for a file that is missing or differs from the registered one.
    """
    sha256 = model.source.get("sha256")
    if sha256 is None:
        return model.spec
    path = Path(model.spec) if model.job_id is None else hashed_files.find(model.spec)
    if path is None or not path.is_file() or file_sha256(path) != sha256:
        raise Refusal(
            f"The file of the model {model.name} is not on this machine, or has changed since it "
            "was registered. Ask whoever runs the site to register it again."
        )
    if model.job_id is None:
        return model.spec
    # Results state the file's name: link it under the model's name, not under its hash.
    link = folder / f"{model.name}.onnx"
    link.unlink(missing_ok=True)
    link.symlink_to(path.absolute())
    return link.name


def write_classes(model: RegisteredModel, path: Path) -> None:
    """Write the list of classes that commands read."""
    path.write_text("".join(f"{wnid}\n" for wnid in model.classes), encoding="utf-8")


def wordnet_variables() -> dict[str, str]:
    """Return the environment variable by which a child process finds WordNet.

    Without it, the child would look in its ASSAY_DATA, which is its working folder.
    """
    folder = Path(settings.DATA_DIR) / "wordnet"
    if "ASSAY_WORDNET" in os.environ or not folder.is_dir():
        return {}
    return {"ASSAY_WORDNET": str(folder.absolute())}


def remove(name: str) -> None:
    """Remove a model; its pools stay. Raises BadInput if no model has the name."""
    model = RegisteredModel.objects.filter(name=name).first()
    if model is None:
        raise BadInput(f"no model is called {name[:100]!r}", cure="models list shows their names")
    _delete(model)


def remove_uploaded(actor: User, name: str) -> None:
    """Remove an uploaded model with its file; its pools and submissions stay.

    Raises NotAllowed, NotYours, and Conflict for a model that the command registered.
    """
    check_administrator(actor)
    model = RegisteredModel.objects.filter(name=name).first()
    if model is None:
        raise NotYours("There is no such model.")
    if model.job_id is None:
        raise Conflict(
            f"{name} was registered by a command. Remove it with manage.py models remove."
        )
    _delete(model)


def options_of(preparing: Mapping[str, Any], weights: Path | None = None) -> list[str]:
    """Return the arguments of `predict` that prepare images as registered."""
    flags = [f"--fit={preparing['fit']}"]
    if weights is not None:
        flags.append(f"--weights={weights}")
    if preparing.get("size") is not None:
        flags.append("--size={}x{}".format(*preparing["size"]))
    for name in ("mean", "std"):
        if preparing.get(name) is not None:
            flags.append(f"--{name}={','.join(map(str, preparing[name]))}")
    return flags


def _delete(model: RegisteredModel) -> None:
    """Delete the row, and its file and job if it was uploaded."""
    job, stored = model.job, model.spec
    model.delete()
    if job is None:
        return
    Job.objects.filter(pk=job.pk).delete()

    def remove_file() -> None:
        if not RegisteredModel.objects.filter(spec=stored).exists():
            hashed_files.remove(stored)

    transaction.on_commit(remove_file)


def _check_taken(name: str) -> None:
    if RegisteredModel.objects.filter(name=name).exists():
        raise Conflict(
            f"A model is already called {name}. Remove it first, or choose another name.",
            field="name",
        )


def _prepared(preparing: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of FramePreparation. Raises Refusal with the field."""
    read: dict[str, object] = {"fit": "crop"}
    for key in EXPECTED:
        if text := preparing.get(key, "").strip():
            try:
                read[key] = preparing_value(key, text)
            except ValueError as error:
                raise Refusal(f"Give {EXPECTED[key]}, not {text[:40]!r}.", field=key) from error
    if not all(value > 0 for value in read.get("std", ())):  # type: ignore[attr-defined]
        raise Refusal("Give deviations above 0.", field="std")
    return read


def _wnids(text: str) -> list[str]:
    """Return the wnids of a list of classes. Raises Refusal with the line."""
    text = text.removeprefix("\ufeff")
    if text.strip() in CLASSES:
        text = CLASSES[text.strip()].read_text()
    wordnet, lines = load_wordnet(), text.strip().splitlines()
    if len(lines) > MAX_CLASSES:
        raise Refusal(f"List at most {MAX_CLASSES:,} classes.", field="classes")
    first: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LABEL_LENGTH:
            raise Refusal(
                f"Line {number} has {len(line):,} characters. Give a wnid such as n02084071.",
                field="classes",
            )
        try:
            wnid = wordnet.wnid(wordnet.find(line))
        except UnknownLabel as error:
            cure = (
                "Give one of these wnids."
                if error.candidates
                else "Give a wnid such as n02084071. For classes outside WordNet, run the model "
                "elsewhere and upload its predictions to a pool; zero-one selections accept them."
            )
            raise Refusal(f"Line {number}: {error}. {cure}", field="classes") from error
        if wnid in first:
            raise Refusal(
                f"Line {number}: {line.strip()[:80]} is already in line {first[wnid]}. List each "
                "class once.",
                field="classes",
            )
        first[wnid] = number
    if not first:
        raise Refusal("List one class per line, in the order of the outputs.", field="classes")
    return list(first)
