"""Rename, archive, clone and delete a campaign, a dataset or an image."""

from typing import Any, ClassVar

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from labeling.assistance import networks
from labeling.campaigns import lifecycle
from labeling.datasets import datasets
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.models import (
    Answer,
    Campaign,
    CampaignText,
    Decision,
    Example,
    Graph,
    Item,
    Job,
    Membership,
    Policy,
    Release,
    SecondAnswer,
    SentBack,
    Topic,
    User,
)
from labeling.removal import erasing
from labeling.removal.erasing import Dependents


class Undo:
    """Renaming, archiving and deleting of one row by a user. noun: what sentences call the row.

    through: models that are deleted with the row although they protect it.
    """

    noun: ClassVar[str]
    through: ClassVar[frozenset[erasing.Model]] = frozenset()

    def __init__(self, row: Any, user: User) -> None:
        self.row, self.user = row, user

    @property
    def is_owner(self) -> bool:
        return self.user.is_staff or self.row.created_by_id == self.user.pk

    @property
    def needs_archive(self) -> bool:
        """Return whether the row must be archived before it is deleted."""
        return False

    @property
    def rows(self) -> models.QuerySet[Any]:
        rows: models.QuerySet[Any] = type(self.row)._base_manager.filter(pk=self.row.pk)
        return rows

    def dependents(self) -> Dependents:
        """Return what would be deleted with the row, and what prevents that."""
        return erasing.dependents(self.rows, self.through)

    def rename(self, name: str, title: str = "") -> None:
        """Change the name in the row's address and, if given, the title. Raises Refusal."""
        fields = {"name": name} | ({"title": title.strip()[:200]} if title.strip() else {})
        changed = {key: text for key, text in fields.items() if getattr(self.row, key) != text}
        if "name" in changed:
            lifecycle.check_name(name)
            self.check_can_rename()
        try:
            with transaction.atomic():
                self.rows.update(**changed)
                self.note({"changed": sorted(changed)})
        except IntegrityError as error:
            raise Conflict(
                f"A {self.noun} is already called {name!r}. Choose another name.", field="name"
            ) from error
        self.row.refresh_from_db()

    def check_can_rename(self) -> None:
        """Raise Conflict if files carry the name."""

    @transaction.atomic
    def archive(self) -> None:
        """Take the row out of lists and stop its work. Idempotent."""
        self.before_archive()
        if self.rows.filter(archived_at=None).update(archived_at=timezone.now()):
            self.note({"archived": True})
        self.row.refresh_from_db()

    def before_archive(self) -> None:
        """Stop the row's work. Raises Conflict if the row is in use."""

    @transaction.atomic
    def unarchive(self) -> None:
        """Put the row back into lists. Idempotent."""
        if self.rows.exclude(archived_at=None).update(archived_at=None):
            self.note({"archived": False})
        self.row.refresh_from_db()

    def note(self, content: dict[str, object]) -> None:
        """Record the change and its user if the row has a history."""

    def delete(self, typed: str) -> None:
        """Delete the row with all that belongs to it. typed: the row's name, to confirm.

        Raises Refusal if the user is not the owner, the row must be archived first, or is in use.
        """
        if not self.is_owner:
            raise NotAllowed(
                f"Only the owner of this {self.noun} may delete it. Archive it instead."
            )
        if typed.strip() != self.row.name:
            raise Refusal(
                f"Type {self.row.name} to delete the {self.noun} of that name.", field="typed"
            )
        if self.needs_archive and self.row.archived_at is None:
            raise Conflict(f"Archive the {self.noun} first; then it can be deleted.")
        if prevents := self.dependents().prevents:
            raise Conflict(f"It cannot be deleted: in use by {', '.join(prevents)}.")
        if self.has_running_job():
            raise Conflict(f"A job of the {self.noun} is running. Delete it once that has ended.")
        self.erase()

    def has_running_job(self) -> bool:
        """Return whether a running job belongs to the row, or to rows deleted with it."""
        return erasing.has_running_job(self.rows, self.through)

    def erase(self) -> None:
        erasing.erase(self.rows, self.through)


class CampaignUndo(Undo):
    """A campaign. Answers are deleted only together with their archived campaign."""

    noun = "campaign"
    through = frozenset({Answer, SentBack, SecondAnswer, Release})

    @property
    def needs_archive(self) -> bool:
        answers = Answer.objects.filter(assignment__question__campaign=self.row)
        return self.row.state != Campaign.State.DRAFT or answers.exists()

    def check_can_rename(self) -> None:
        if self.row.releases.exists() or self.row.replaced_releases.exists():
            raise Conflict(
                "Releases carry the campaign's name, so it stays. Change the title instead.",
                field="name",
            )

    def before_archive(self) -> None:
        if self.row.state == Campaign.State.OPEN:
            lifecycle.change_state(self.row, self.user, "pause")

    def note(self, content: dict[str, object]) -> None:
        Decision.objects.record(self.row, Decision.Kind.STATE, self.user, content)

    def erase(self) -> None:
        networks.remove(self.row)
        super().erase()

    @transaction.atomic
    def clone(self, name: str, title: str = "") -> Campaign:
        """Create a draft with the same texts, classes, examples and rules; return it.

        The clone has no questions or gold, and only this user. Raises Refusal for a name in use.
        """
        lifecycle.check_name(name)
        lifecycle.check_dataset_active(self.row.dataset)
        if Campaign.objects.filter(name=name).exists():
            raise Conflict(
                f"A campaign is already called {name!r}. Choose another name.", field="name"
            )
        row = self.row
        keys = ("kind", "dataset", "instructions", "settings", "languages", "nightly_audit")
        fields = {key: getattr(row, key) for key in (*keys, "vocabulary")}
        copy = Campaign.objects.create(
            name=name, title=title.strip()[:200] or row.title, created_by=self.user, **fields
        )
        copy.policy = Policy.objects.create(campaign=copy, version=1, content=row.policy.content)
        if row.graph is not None:
            content, sha256 = row.graph.content, row.graph.sha256
            copy.graph = Graph.objects.create(
                campaign=copy, version=1, content=content, sha256=sha256, created_by=self.user
            )
        copy.save(update_fields=["policy", "graph"])
        Membership.objects.create(user=self.user, campaign=copy, role=Membership.Role.RESEARCHER)
        for text in row.texts.all():
            CampaignText.objects.create(campaign=copy, language=text.language, content=text.content)
        self._copy_topics(copy)
        Decision.objects.record(
            copy, Decision.Kind.STATE, self.user, {"state": copy.state, "clone_of": row.name}
        )
        return copy

    def _copy_topics(self, copy: Campaign) -> None:
        topics = list(self.row.topics.all())
        for topic in topics:
            topic.pk, topic.campaign = None, copy
            topic._state.adding = True
        Topic.objects.bulk_create(topics)
        topic_of_key = {topic.key: topic for topic in copy.topics.all()}
        rows = Example.objects.filter(topic__campaign=self.row).select_related("topic")
        Example.objects.bulk_create(
            Example(
                topic=topic_of_key[row.topic.key],
                image_id=row.image_id,
                answer=row.answer,
                caption=row.caption,
            )
            for row in rows
        )


class DatasetUndo(Undo):
    """A dataset can be deleted once no campaign asks about it."""

    noun = "dataset"
    through = frozenset({Item})

    @property
    def is_owner(self) -> bool:
        return datasets.may_add(self.user, self.row)

    def has_running_job(self) -> bool:
        running = Job.objects.filter(state=Job.State.RUNNING, payload__dataset=self.row.pk)
        return running.exists() or super().has_running_job()

    def before_archive(self) -> None:
        at_work = (Campaign.State.OPEN, Campaign.State.PAUSED)
        rows = self.row.campaigns.filter(archived_at=None, state__in=at_work)
        if titles := list(rows.values_list("title", flat=True)[: erasing.MAX_NAMED]):
            raise Conflict(
                f"Campaigns ask about this dataset: {', '.join(titles)}. Close or archive them."
            )


class ImageUndo(Undo):
    """An image can be deleted while no campaign has asked about it."""

    noun = "image"
    through = frozenset({Item})

    @property
    def is_owner(self) -> bool:
        return datasets.may_add(self.user, self.row.dataset)
