"""Remove the pixels of an image everywhere on the site, and refuse the image from then on.

The image's row stays for its answers, without name, hash and files. ASSAY_PIXEL_PLACES lists the
functions that remove pixels. They run immediately, and again in a job in case the process is
killed.
"""

from dataclasses import dataclass, field

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from labeling.datasets import details, images, tombstones
from labeling.db.lookups import get_or_404
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.exchange import export_files
from labeling.follow_ups import asking
from labeling.jobs import hashed_files, queue
from labeling.jobs.image_store import field_of
from labeling.models import (
    Campaign,
    Decision,
    Draft,
    Example,
    Gold,
    Image,
    ImageEmbedding,
    Import,
    Item,
    Job,
    Proposal,
    Question,
    Release,
    User,
)
from labeling.records import Record
from labeling.removal.undo import ImageUndo

KIND = "remove pixels"
# Fields of Image that hold a file.
STORED = ("file", "display", "thumbnail")


@dataclass(kw_only=True)
class RemovedImage(Record):
    """A removed image. image, dataset, campaigns: ids; the campaigns asked about the image.

    stored: names of its files by field. embeddings: names of its embedding files.
    """

    image: int
    dataset: int
    campaigns: list[int] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    embeddings: list[str] = field(default_factory=list)


def releases_with(image: Image) -> list[str]:
    """Return the releases with the image's labels. They are kept, since others may use them."""
    rows = Release.objects.filter(campaign__in=_campaigns(image)).select_related("campaign")
    return [f"{row.campaign.title}, release {row.number}" for row in rows.order_by("pk")]


def remove(image: Image, actor: User, typed: str) -> list[str]:
    """Remove the image's pixels and return the releases with its labels.

    typed: the image's name, to confirm. Raises NotAllowed or Refusal, and Conflict while a job
    reads images of the dataset.
    """
    if not ImageUndo(image, actor).is_owner:
        raise NotAllowed("Only the dataset's owner can remove an image for privacy. Ask the owner.")
    if typed.strip() != image.name:
        raise Refusal(f"Type {image.name} to remove its pixels everywhere.", field="typed")
    jobs = images.derivative_jobs(image.dataset) | Job.objects.filter(
        pk__in=image.dataset.imports.values("job")
    )
    if jobs.filter(state=Job.State.RUNNING).exists():
        raise Conflict("A job of the dataset is reading images. Try again once it has ended.")
    releases = releases_with(image)
    # Frames of its objects are separate images.
    derived = Image.objects.filter(items__derived_from__image=image).exclude(pk=image.pk)
    removed = [_blank(row, actor) for row in [image, *derived.distinct()]]
    for row in removed:
        remove_everywhere(row)
    return releases


def execute(job: Job) -> None:
    """Run the job "remove pixels". Idempotent."""
    remove_everywhere(RemovedImage.from_json(job.payload))


def remove_everywhere(removed: RemovedImage) -> None:
    for path in settings.ASSAY_PIXEL_PLACES:
        import_string(path)(removed)


@transaction.atomic
def _blank(image: Image, actor: User) -> RemovedImage:
    """Clear everything about the image in the database except the answers; queue the job."""
    rows = Image.objects.select_for_update(of=("self",)).select_related("dataset")
    # A concurrent request may have removed this row after we read it.
    image = get_or_404(rows, "This image was removed for privacy.", pk=image.pk)
    try:
        with images.open_original(image) as file:
            content = file.read()
    except FileNotFoundError:
        content = None
    tombstone = tombstones.create(image, content, actor)
    campaigns = _campaigns(image)
    embeddings = ImageEmbedding.objects.filter(image=image)
    removed = RemovedImage(
        image=image.pk,
        dataset=image.dataset_id,
        campaigns=[row.pk for row in campaigns],
        stored={key: str(getattr(image, key).name or "") for key in STORED},
        embeddings=list(embeddings.values_list("file", flat=True)),
    )
    for campaign in campaigns:
        _take_out(campaign, image, actor)
    of_image = {"assignment__question__item__image": image}
    Draft.objects.filter(**of_image).delete()
    Proposal.objects.filter(**of_image).delete()
    Example.objects.filter(image=image).delete()
    embeddings.delete()
    items = Item.objects.filter(image=image)
    items.filter(questions=None, derived=None).delete()
    Image.objects.filter(pk=image.pk).update(
        name=f"removed/{image.pk}",
        sha256=tombstone.content,
        **dict.fromkeys(STORED, ""),
        licence="",
        source="",
        queries=[],
        fingerprint=None,
        removed_at=timezone.now(),
    )
    queue.enqueue(KIND, str(image.pk), removed.to_json())
    return removed


def _campaigns(image: Image) -> list[Campaign]:
    campaigns = Campaign.objects.filter(questions__item__image=image)
    return list(campaigns.distinct().order_by("pk"))


def _take_out(campaign: Campaign, image: Image, actor: User) -> None:
    """Withdraw all questions about the image, so that new releases lack it; keep the answers."""
    rows = campaign.questions.filter(item__image=image)
    pks = list(rows.values_list("pk", flat=True))
    Gold.objects.filter(question__in=pks, retired_at=None).update(retired_at=timezone.now())
    asking.withdraw_in_states(campaign, pks, Question.State.values)
    rows.filter(follow_up=True).update(follow_up=False)
    content = {"removed_image": image.pk, "withdrawn": pks}
    Decision.objects.record(campaign, Decision.Kind.DROP, actor, content, "removed for privacy")


def remove_stored(removed: RemovedImage) -> None:
    """Remove the original, the display image, the thumbnail and the tiles."""
    if display := removed.stored.get("display"):
        details.remove(Image(display=display))
    for kind, name in removed.stored.items():
        if name:
            field_of(kind).storage.delete(name)


def remove_embeddings(removed: RemovedImage) -> None:
    """Remove the embeddings that segmentation networks computed from the image."""
    for name in removed.embeddings:
        hashed_files.remove(name)


def remove_exports(removed: RemovedImage) -> None:
    """Remove zips of labels, which may include the picture; a request rebuilds them without it."""
    for release in Release.objects.filter(campaign__in=removed.campaigns):
        export_files.forget(release)


def remove_uploads(removed: RemovedImage) -> None:
    """Remove uploads of failed imports, whose zips may include the image."""
    failed = Import.objects.filter(dataset=removed.dataset, job__state=Job.State.FAILED)
    for uploads in failed.values_list("uploads", flat=True):
        for upload in uploads:
            default_storage.delete(upload["stored"])
