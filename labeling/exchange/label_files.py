"""Uploads of known labels: small ones are imported immediately, others by a job.

An upload is stored before its job exists, so that a worker on any machine finds it. Imports are all
or nothing and idempotent. See docs/reference/label-formats.md.
"""

import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import models, transaction

from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.datasets.archives import MIB, ZipLimits, one_file, unpack
from labeling.datasets.datasets import check_may_add
from labeling.db.lookups import get_or_404
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal, TooLarge
from labeling.exchange import prior_labels
from labeling.exchange.prior_labels import LabelImportResult
from labeling.files import BadInput
from labeling.formats import FORMATS, Label
from labeling.jobs import queue, uploads
from labeling.models import Campaign, Dataset, GivenLabel, Job, User
from labeling.release_files import exporting

KIND = "import labels"
FOLDER = "labels/"
# About ten thousand rows of CSV, a second of work: the sender waits. A zip always needs a job.
SMALL_BYTES = MIB // 4
MAX_BYTES = 64 * MIB
MAX_UNPACKED = 256 * MIB
MAX_FILES = 100_000
# Written in one transaction, which takes a minute and a few hundred megabytes.
MAX_LABELS = 200_000
# Extensions read from a zip; photographs beside annotations are skipped.
READ_SUFFIXES = {".csv", ".json", ".jsonl", ".ndjson", ".xml", ".txt"}
IN_SHELL = "Split it, or import it in the shell: manage.py labels import."


def import_upload(
    dataset: Dataset,
    actor: User,
    file: File,
    *,
    format_name: str = "",
    source: str = "",
    campaign: Campaign | None = None,
    repair: bool = False,
) -> LabelImportResult | Job:
    """Import the labels of an uploaded file and return the result, or the job of a large one.

    format_name: one of FORMATS, by default by the file's name. source: of labels without one, by
    default the file's name. campaign: its graph restricts the classes. repair: cut shapes that
    cross themselves or leave the image. Raises Refusal with position and cure; then nothing was
    changed.
    """
    check_may_add(actor, dataset)
    name = Path(file.name or "labels").name
    size = file.size or 0
    if size > MAX_BYTES:
        raise TooLarge(
            f"The file has {size:,} bytes; the limit is {MAX_BYTES // MIB} MiB. {IN_SHELL}",
            field="file",
        )
    details: dict[str, object] = {"format": format_name, "source": source or name, "file": name}
    details["repair"] = repair
    if size <= SMALL_BYTES and not name.lower().endswith(".zip"):
        with converting_disk_full():
            return _import_file(dataset, file, details, campaign)
    forget_old()
    stored = uploads.keep(file, FOLDER)
    payload = details | {
        "dataset": dataset.pk,
        "campaign": campaign.pk if campaign else None,
        "stored": stored,
        "by": actor.username,
    }
    try:
        with transaction.atomic():
            return queue.enqueue(KIND, f"{dataset.pk}:{secrets.token_hex(8)}", payload)
    except BaseException:
        default_storage.delete(stored)
        raise


def graph_campaigns(dataset: Dataset, user: User) -> models.QuerySet[Campaign]:
    """Return the user's campaigns on the dataset that ask by a graph."""
    campaigns = campaigns_for(user, RESEARCHER).filter(dataset=dataset, graph__isnull=False)
    return campaigns.order_by("title", "pk")


def campaign_of(dataset: Dataset, user: User, name: str) -> Campaign | None:
    """Return the campaign whose graph restricts the classes; None for no name. Raises Refusal."""
    if not name:
        return None
    campaign = graph_campaigns(dataset, user).filter(name=name).first()
    if campaign is None:
        raise Refusal(
            f"No campaign of yours called {name[:80]!r} asks about this dataset by a question "
            "graph. Leave it out, or correct its name.",
            field="campaign",
        )
    return campaign


def jobs_of(dataset: Dataset) -> models.QuerySet[Job]:
    """Return the dataset's label imports, the newest first.

    `payload` has "file", "by" and, when done, "result".
    """
    return Job.objects.filter(kind=KIND, key__startswith=f"{dataset.pk}:").order_by("-pk")


def job_for(dataset: Dataset, pk: int) -> Job:
    """Return the dataset's label import by id. Raises NotYours."""
    return get_or_404(jobs_of(dataset), "The dataset has no such import of labels.", pk=pk)


class LabelSource(NamedTuple):
    """Number of labels and images of a source."""

    source: str
    labels: int
    images: int
    yes: int
    no: int


def by_source(dataset: Dataset) -> list[LabelSource]:
    """Count the known labels by source, the largest first."""
    rows = GivenLabel.objects.filter(item__image__dataset=dataset).order_by().values("source")
    counted = rows.annotate(
        labels=models.Count("pk"),
        images=models.Count("item", distinct=True),
        yes=models.Count("pk", filter=models.Q(value="yes")),
        no=models.Count("pk", filter=models.Q(value="no")),
    )
    return [LabelSource(**row) for row in counted.order_by("-labels", "source")]


def execute(job: Job) -> None:
    """Import the upload's labels and store the result. Idempotent."""
    payload = job.payload
    dataset = Dataset.objects.filter(pk=payload["dataset"]).first()
    campaign = (
        Campaign.objects.filter(pk=payload["campaign"]).first() if payload["campaign"] else None
    )
    if dataset is not None and "result" not in payload:
        if not default_storage.exists(payload["stored"]):
            raise Refusal("The upload was deleted after a week. Upload it again.")
        with default_storage.open(payload["stored"]) as file:
            payload["result"] = _import_file(dataset, file, payload, campaign, job)
        ours = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, claim=job.claim)
        if not ours.update(payload=payload):
            raise queue.LeaseLost(f"job {job.pk} went to another worker")
    with suppress(Exception):
        default_storage.delete(payload["stored"])


def forget_old() -> int:
    """Remove the uploads that no job needs, and return their number."""
    return uploads.forget_old(FOLDER, uploads.needed_uploads(KIND))


def _import_file(
    dataset: Dataset,
    file: IO[bytes] | File,
    details: dict[str, Any],
    campaign: Campaign | None,
    job: Job | None = None,
) -> LabelImportResult:
    with tempfile.TemporaryDirectory(prefix="labels-") as scratch:
        root = Path(scratch)
        with converting_faults(root):
            path = _lay_out(file, details["file"], root)
            return prior_labels.import_labels(
                dataset,
                path,
                details["format"],
                details["source"],
                campaign,
                repair=details.get("repair", False),
                watch=_Watch(job),
            )


class _Watch:
    """Counts labels as they are read and renews the job's lease."""

    def __init__(self, job: Job | None) -> None:
        self.job = job
        self.count = 0

    def __call__(self, labels: Iterable[Label]) -> Iterator[Label]:
        for label in labels:
            self.count += 1
            if self.count > MAX_LABELS:
                raise TooLarge(
                    f"The file has more than {MAX_LABELS:,} labels. {IN_SHELL}", field="file"
                )
            if self.job is not None:
                queue.renew(self.job, done=self.count)
            yield label


def _lay_out(file: Any, name: str, root: Path) -> Path:
    """Write the upload as a file or folder below root; of its name only the extension is used."""
    ending = Path(name).suffix.lower()
    if ending == ".zip":
        folder = root / "zip"
        unpack(file, folder, ZipLimits(READ_SUFFIXES, MAX_FILES, MAX_UNPACKED, IN_SHELL))
        return _release_or_file(folder)
    known = ending in exporting.ENDINGS or ending == ".json"
    return one_file(file, root / f"labels{ending if known else ''}")


def _release_or_file(folder: Path) -> Path:
    """Return the release or the single file in an unpacked zip, else the folder."""
    while not (folder / "release.json").exists():
        entries = list(folder.iterdir())
        if not entries:
            raise Refusal("The zip has no label files. Add XML, JSON or CSV files.", field="file")
        if len(entries) > 1 or entries[0].name == "Annotations":
            return folder
        if entries[0].is_file():
            # Read a single XML file as a VOC folder.
            return folder if entries[0].suffix.lower() == ".xml" else entries[0]
        folder = entries[0]
    return folder


@contextmanager
def converting_faults(root: Path) -> Iterator[None]:
    """Turn faults of files into refusals that name only paths below root."""
    try:
        yield
    except BadInput as bad:
        raise Refusal(fault_sentence(bad, root), field="file", code="bad_input") from None
    except Refusal as refusal:
        # Faults of rows name columns, but here the field is the file.
        refusal.field = "file"
        raise


def fault_sentence(bad: BadInput, root: Path) -> str:
    """Return the fault with position and cure as sentences.

    >>> fault_sentence(BadInput("has the value 'x'", file="/t/labels.csv", line=3, cure="use yes"),
    ...          Path("/t"))
    "Line 3: has the value 'x'. Use yes."
    >>> fault_sentence(BadInput("is not JSON", file="/t/labels.json"), Path("/t"))
    'The file is not JSON.'
    """
    path = Path(bad.file or root)
    # Relative to the unpacked zip; else there was only one file.
    inside = path.relative_to(root).parts[1:] if path.is_relative_to(root) else ()
    places = ["/".join(inside)] if inside else []
    if bad.line is not None:
        places.append(f"{'line' if inside else 'Line'} {bad.line}")
    fault = bad.message
    if places:
        fault = f"{', '.join(places)}: {fault}"
    elif re.match(r"(is|has|holds|lacks|names|declares|does) ", fault):
        fault = f"The file {fault}"
    else:
        fault = f"{fault[0].upper()}{fault[1:]}"
    cure = f" {bad.cure[0].upper()}{bad.cure[1:]}." if bad.cure else ""
    return f"{fault}.{cure}"


def formats() -> list[tuple[str, str]]:
    """Return (name, label) of every format, for forms."""
    return [(name, WORDS[name]) for name in FORMATS]


WORDS = {
    "csv": "CSV",
    "jsonl": "JSON Lines",
    "coco": "COCO JSON",
    "voc": "PASCAL VOC",
    "label-studio": "Label Studio JSON",
    "pascal-part": "PASCAL-Part",
    "png": "indexed PNG",
    "pictures": "pictures to look at",
    "yolo": "YOLO",
    "datumaro": "Datumaro",
    "huggingface": "folder to publish",
}
