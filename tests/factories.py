"""Rows for tests, made the way the site makes them wherever an action exists."""

import hashlib
import html
import io
import re
from collections.abc import Iterable
from typing import Any

from django.core.files.base import ContentFile
from django.utils import timezone
from PIL import Image as Pillow

from labeling.campaigns import lifecycle
from labeling.db import question_counts
from labeling.follow_ups import asking
from labeling.kinds import KINDS
from labeling.models import Campaign, Dataset, Image, Membership, Question, User


def make_user(username: str, **fields: Any) -> User:
    # Tutorials come first, and have tests of their own.
    user = User(username=username, **{"tutorials": sorted(KINDS)} | fields)
    # One cheap hash for all: hashing properly would cost each test a quarter of a second.
    user.password = "md5$salt$" + hashlib.md5(b"saltpassword").hexdigest()
    user.save()
    return user


def person(username: str, **fields: Any) -> User:
    """The one of this name, who may be here already."""
    return User.objects.filter(username=username).first() or make_user(username, **fields)


def cast() -> tuple[User, User, Dataset]:
    """Return Alice, Bob and the dataset pond, for a fixture that builds once for its module."""
    alice = person("alice", is_researcher=True)
    return alice, person("bob"), make_dataset(alice)


def picture(seed: int = 0, size: tuple[int, int] = (64, 48), form: str = "PNG") -> bytes:
    """A small picture whose content follows the seed."""
    color = (seed * 37 % 256, seed * 101 % 256, (seed // 256 * 53 + 29) % 256)
    image = Pillow.new("RGB", size, color)
    image.putpixel((seed % size[0], seed % size[1]), (255, 255, 255))
    stream = io.BytesIO()
    image.save(stream, form)
    return stream.getvalue()


def make_dataset(owner: User, name: str = "pond") -> Dataset:
    return Dataset.objects.create(owner=owner, name=name)


def make_image(dataset: Dataset, name: str, seed: int | None = None) -> Image:
    seed = sum(name.encode()) + len(name) * 997 if seed is None else seed
    content = picture(seed) + name.encode()  # bytes after the end marker: unique content
    image = Image(
        dataset=dataset,
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        media_type="image/png",
        bytes=len(content),
        width=64,
        height=48,
    )
    image.file.save(f"{image.sha256[:16]}.png", ContentFile(content), save=False)
    image.save()
    return image


def make_campaign(
    owner: User,
    dataset: Dataset,
    name: str = "coots",
    *,
    kind: str = "contains",
    policy: dict[str, Any] | None = None,
    images: int = 0,
    topic: str = "n02018207",
    launch: bool = True,
    settings: dict[str, Any] | None = None,
) -> Campaign:
    """A campaign of `images` questions about one topic, open unless told otherwise."""
    campaign = lifecycle.create(
        owner,
        name=name,
        title=name.title(),
        kind=kind,
        dataset=dataset,
        # All votes are asked, so that tests can count them.
        policy={"stop_early": "never"} | (policy or {}),
        settings=settings,
    )
    lifecycle.define_topics(
        campaign,
        [
            {
                "key": topic,
                "name": "American coot",
                "synonyms": ["marsh hen", "mud hen"],
                "definition": "a coot found in North America",
                "url": "https://en.wikipedia.org/wiki/American_coot",
            }
        ],
    )
    if images:
        names = [f"{name}/{index:03}.png" for index in range(images)]
        known = set(dataset.images.filter(name__in=names).values_list("name", flat=True))
        for image in names:
            if image not in known:
                make_image(dataset, image)
        asking.add_questions(campaign, [(image, topic) for image in names])
    if launch:
        lifecycle.launch(campaign, owner)
    return campaign


def join(user: User, campaign: Campaign, role: str = "annotator") -> Membership:
    return Membership.objects.create(
        user=user, campaign=campaign, role=role, joined_at=timezone.now()
    )


def put(campaign: Campaign, pks: Iterable[int], **fields: Any) -> None:
    """Writes into the rows of these questions what no action did, and counts them again."""
    campaign.questions.filter(pk__in=list(pks)).update(**fields)
    question_counts.reconcile(campaign.pk)


def questions_of(campaign: Campaign) -> list[Question]:
    return list(campaign.questions.order_by("ticket"))


def kept_in(page: Any) -> dict[str, str]:
    """What the form on the page sends along for the files that it keeps."""
    sent = re.findall(r'name="(\w+_kept)" value="([^"]*)"', page.content.decode())
    return {name: html.unescape(value) for name, value in sent}
