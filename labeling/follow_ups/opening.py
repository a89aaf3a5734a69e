"""Creates campaigns with their questions, and adds questions with their classes."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from labeling.campaigns import lifecycle
from labeling.campaigns.lifecycle import TopicFields
from labeling.errors import Refusal
from labeling.follow_ups import asking, class_trees, following
from labeling.follow_ups.asking import AddedQuestions
from labeling.graphs import store
from labeling.jobs import queue
from labeling.kinds import KINDS
from labeling.models import Campaign, Dataset, Job, User
from labeling.question_graph.graph import QuestionGraph

# A naming question asks about no class of its own.
NAMING_TOPIC: TopicFields = {"key": "label", "name": "What does this image show?"}
MAX_LISTED_IMAGES = 5
# Up to this many images are opened within a request; a job opens more.
AT_ONCE = 500
Pairs = Sequence[tuple[str, str]]


@transaction.atomic
def draft(
    owner: User,
    *,
    pairs: Pairs = (),
    topics: Iterable[TopicFields] = (),
    vocabulary: Sequence[dict[str, str]] = (),
    **fields: Any,
) -> Campaign:
    """Create a draft campaign with these (image, topic) pairs; fields as in lifecycle.create.

    All or nothing. Raises Refusal for an invalid field and for missing images.
    """
    if vocabulary:
        fields["settings"] = {**(fields.get("settings") or {}), "vocabulary": list(vocabulary)}
    campaign = create(owner, **fields)
    ask(campaign, pairs, topics)
    return campaign


@transaction.atomic
def create(owner: User, **fields: Any) -> Campaign:
    """Create a campaign like lifecycle.create.

    Classes of a vocabulary without a name get that of the site's glossary. Where an answer may list
    several classes, they are sorted by the site's class tree and each becomes a topic.
    """
    chosen = fields.get("settings") or {}
    vocabulary = chosen.get("vocabulary")
    lists_classes = bool(chosen.get("most")) and isinstance(vocabulary, list)
    if isinstance(vocabulary, list):
        rows = _named(vocabulary)
        if lists_classes:
            rows = class_trees.in_tree_order(rows)
        fields["settings"] = {**chosen, "vocabulary": class_trees.with_distinct_names(rows)}
    campaign = lifecycle.create(owner, **fields)
    if lists_classes:
        names = KINDS[campaign.kind].class_names(campaign.settings)
        rows = describe(list(names))
        lifecycle.define_topics(campaign, [{**row, "name": names[row["key"]]} for row in rows])
    return campaign


def _named(vocabulary: Sequence[Any]) -> list[Any]:
    """Return the entries; those with a key alone are named by the glossary, else by the key."""

    def key_of(entry: Any) -> str | None:
        key = entry.get("key") if isinstance(entry, dict) and not entry.get("name") else None
        return key if isinstance(key, str) else None

    known = glossary([key for key in map(key_of, vocabulary) if key])
    words = {key: [topic["name"], *topic.get("synonyms", ())] for key, topic in known.items()}
    return [
        {**entry, "name": ", ".join(words.get(key, [key]))} if (key := key_of(entry)) else entry
        for entry in vocabulary
    ]


@transaction.atomic
def ask(campaign: Campaign, pairs: Pairs, topics: Iterable[TopicFields] = ()) -> AddedQuestions:
    """Add questions like asking.add_questions, after defining new classes.

    Unlisted classes are described by the site's glossary, or named by their key.
    """
    define_asked(campaign, pairs, topics)
    added = asking.add_questions(campaign, pairs)
    refuse_missing(campaign, added.missing_images)
    return added


def define_asked(campaign: Campaign, pairs: Pairs, topics: Iterable[TopicFields] = ()) -> None:
    """Define the listed classes, and the other new ones of these pairs by the site's glossary."""
    known = set(campaign.topics.values_list("key", flat=True))
    topics_by_key = {topic["key"]: topic for topic in topics}
    topic_keys = dict.fromkeys(topic for _, topic in pairs)
    new = [key for key in topic_keys if key not in known and key not in topics_by_key]
    lifecycle.define_topics(campaign, [*topics_by_key.values(), *describe(new)])


def refuse_missing(campaign: Campaign, names: Sequence[str]) -> None:
    """Raise Refusal, which names the missing images, if there are any."""
    if names:
        more = " …" if len(names) > MAX_LISTED_IMAGES else ""
        raise Refusal(
            f"{len(names)} of the images are not in {campaign.dataset.name}: "
            f"{', '.join(names[:MAX_LISTED_IMAGES])}{more}. Add them to the "
            "dataset, or remove them from the list.",
            field="questions",
        )


@transaction.atomic
def draft_graph(
    owner: User, graph: QuestionGraph, *, names: Sequence[str] = (), **fields: Any
) -> tuple[Campaign, int | None]:
    """Create a draft campaign that asks by a graph; return it with the number of first questions.

    names: the images, by default all of the dataset; fields as in lifecycle.create. The number is
    None for many images, which a job opens. All or nothing. Raises Refusal.
    """
    campaign = lifecycle.create(owner, **{"kind": store.KIND, **fields})
    store.define(campaign, owner, graph)
    return campaign, open_images(campaign, names)


def open_images(campaign: Campaign, names: Sequence[str] = ()) -> int | None:
    """Open the first questions of these images, by default of all; return their number.

    None for many images, which a job opens. Raises Refusal for missing images.
    """
    store.load_graph(campaign)
    images = len(names) or campaign.dataset.images.count()
    if images <= AT_ONCE:
        return following.open_images(campaign, list(names) or None)
    following.check_images(campaign, names)
    key = str(campaign.pk) if not names else f"{campaign.pk}:{uuid.uuid4().hex}"
    queue.enqueue("open images", key, {"names": list(names), "images": images}, campaign)
    return None


def execute_open_images(job: Job) -> None:
    """Run the job "open images": open the first questions of these images, by default of all."""
    assert job.campaign is not None, "a job that opens images names its campaign"
    names = job.payload.get("names") or None
    following.open_images(job.campaign, names, lambda done, total: queue.renew(job, done, total))


def naming_pairs(dataset: Dataset, names: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the naming question of each of these images, by default of all."""
    chosen = names or dataset.images.order_by("pk").values_list("name", flat=True)
    return [(name, NAMING_TOPIC["key"]) for name in chosen]


def describe(keys: Sequence[str]) -> list[TopicFields]:
    """Return a topic for each key in the glossary of ASSAY_GLOSSARY."""
    topics_by_key = {NAMING_TOPIC["key"]: NAMING_TOPIC} | glossary(keys)
    return [topics_by_key.get(key) or {"key": key, "name": key} for key in keys]


def glossary(keys: Sequence[str], *, siblings: bool = False) -> dict[str, TopicFields]:
    """Return key → entry of the site's glossary; with siblings, also similar classes."""
    path = getattr(settings, "ASSAY_GLOSSARY", "")
    if not path or not keys:
        return {}
    look_up: Callable[..., list[TopicFields]] = import_string(path)
    more = {"siblings": True} if siblings else {}
    return {topic["key"]: topic for topic in look_up(keys, **more)}
