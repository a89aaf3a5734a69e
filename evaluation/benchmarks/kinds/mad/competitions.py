"""MAD competitions: from a selection to questions, replacements and new classifiers.

Only this module creates benchmarks of this kind and writes their Selection and Submission rows. A
pair uses the first n images of its list that were not dropped; n is how many images of the list
have a rank up to top_k. `mad rank` has the same rule (ranking.images_in_place).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from django.db import transaction
from django.db.models import Count, F, Q

from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.metrics.wordnet.nouns import Synset, UnknownLabel, WordNet
from evaluation.models import Benchmark, PoolSelection, Selection, Submission
from evaluation.readers import selections
from evaluation.readers.selections import MAX_CLASS_LENGTH, Meta, Row, SelectionFile, SelectionLine
from labeling.campaigns import lifecycle
from labeling.db.sql import retried
from labeling.errors import Conflict, Refusal
from labeling.files import BadInput
from labeling.follow_ups import asking
from labeling.kinds import policies
from labeling.models import Campaign, Dataset, Decision, Image, Job, Question, User
from labeling.plurals import count_of
from labeling.reports import forecasts

BATCH = 1000
MAX_LISTED = 10
# Default settings of the ranking. The other settings of a benchmark describe its selection.
DEFAULTS: dict[str, object] = {"smoothing": "laplace", "bootstrap": 2000, "seed": 0}
Key = tuple[str, str]


@dataclass(frozen=True)
class CompetitionPlan:
    """Counts of a planned competition, and missing images."""

    classifiers: list[str]
    pairs: int
    images: int
    questions: int
    wnids: int
    estimate: forecasts.CostEstimate
    missing: list[str]
    missing_reserve: list[str]


def plan(
    selection: SelectionFile, dataset: Dataset, policy: Mapping[str, object] | None = None
) -> CompetitionPlan:
    """Return the counts, the cost under the policy, and the images that the dataset lacks."""
    questions = selection.questions()
    chosen = {image for image, _ in questions}
    listed_images = {line.image for line in selection.lines}
    known_images = _images_in(dataset, listed_images)
    return CompetitionPlan(
        classifiers=selection.classifiers,
        pairs=len({frozenset(line.pair) for line in selection.lines}),
        images=len(chosen),
        questions=len(questions),
        wnids=len({wnid for _, wnid in questions}),
        estimate=estimate(len(questions), policies.clean_new(policy)),
        missing=sorted(chosen - known_images),
        missing_reserve=sorted(listed_images - chosen - known_images),
    )


def estimate(questions: int, policy: Mapping[str, object]) -> forecasts.CostEstimate:
    """Return the cost of this many questions, without gold questions (they may be added later)."""
    return forecasts.estimate(forecasts.known_number(questions), {**policy, "gold_share": 0})


def create(
    owner: User,
    *,
    name: str,
    title: str,
    dataset: Dataset,
    lines: SelectionFile | Sequence[Row],
    wordnet: WordNet | None,
    policy: Mapping[str, object] | None = None,
    instructions: str = "",
    vocabulary: Sequence[str] | None = None,
    settings: dict[str, object] | None = None,
    pool_selection: PoolSelection | None = None,
) -> Benchmark:
    """Create a benchmark with a draft campaign that asks each (image, class) of the selection once.

    lines: a selection as read, or its lines as rows, the meta line first. vocabulary: wnids to
    choose the true label from; by default the classes of the selection. settings: smoothing,
    bootstrap and seed of its runs. Creates everything or nothing. If the same user created a
    benchmark with the same name and selection, returns it. Raises Refusal that lists the chosen
    images that the dataset lacks (reserves may be added later).
    """
    selection = selections.from_rows(lines, wordnet)
    stated = {**DEFAULTS, **(settings or {})}
    stated |= {"meta": selection.meta.to_json(), "selection_sha256": selection.sha256()}
    strict = wordnet if selection.meta.needs_wordnet else None
    stated["vocabulary"] = _checked_vocabulary(vocabulary, strict)
    existing = Benchmark.objects.filter(name=name, created_by=owner).first()
    if existing and existing.settings.get("selection_sha256") == stated["selection_sha256"]:
        return existing
    if Benchmark.objects.filter(name=name).exists():
        raise Conflict(
            f"A benchmark is already called {name!r}. Choose another name.", field="name"
        )
    _refuse_missing(selection, dataset)
    with transaction.atomic():
        campaign = lifecycle.create(
            owner,
            name=name,
            title=title,
            kind="contains",
            dataset=dataset,
            instructions=instructions,
            policy=policy,
        )
        benchmark = Benchmark.objects.create(
            name=name,
            title=campaign.title,
            campaign=campaign,
            pool_selection=pool_selection,
            settings=stated,
            created_by=owner,
        )
        _add_submissions(benchmark, owner, selection.classifiers, first=0)
        _add_lines(benchmark, selection, wordnet)
    return benchmark


@retried
def add_classifier(
    benchmark: Benchmark,
    actor: User,
    lines: SelectionFile | Sequence[Row],
    wordnet: WordNet | None,
) -> list[str]:
    """Add classifiers with the lines of `mad add` and return their names.

    Only the questions of their pairs are added. Known lines are skipped, so sending a file twice
    adds nothing. Raises Conflict for a line that contradicts a known one. Adds all or nothing.
    """
    selection = selections.from_rows(lines, wordnet)
    selections.check_same_rule(meta_of(benchmark), selection.meta, "the joining selection")
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark)
        old = list(benchmark.submissions.values_list("name", flat=True))
        used = {name for line in selection.lines for name in line.pair}
        new = [name for name in selection.classifiers if name in used and name not in old]
        fresh = _lines_of_new_pairs(benchmark, selection, set(old))
        if not fresh:
            return []
        part = SelectionFile(selection.meta, fresh)
        _refuse_missing(part, benchmark.campaign.dataset)
        _add_submissions(benchmark, actor, new, first=len(old))
        _add_lines(benchmark, part, wordnet)
        # A shared image may already have been dropped as too hard; it must not enter the new pairs.
        waiting = _drop(benchmark, _dropped_keys(benchmark, {line.image for line in fresh}))
        benchmark.settings["meta"] |= {"classifiers": [*old, *new]}
        benchmark.save(update_fields=["settings"])
    _refuse_waiting(waiting)
    return new


@retried
def replace_dropped(job: Job) -> None:
    """Replace the image of a dropped question by the next reserve, in each pair that asked it.

    Job payload: {"question": pk}. If a pair's reserve is missing from the dataset, the pair keeps a
    gap and the job fails with the names of the images; a retry fills every gap it can. Does nothing
    for a campaign without a benchmark.
    """
    question = Question.objects.select_related("item__image").get(pk=job.payload["question"])
    with transaction.atomic():
        benchmark = (
            Benchmark.objects.select_for_update()
            .filter(campaign_id=question.campaign_id, kind=Benchmark.Kind.MAD)
            .select_related("campaign__dataset")
            .first()
        )
        if benchmark is None:
            return
        is_dropped = Question.objects.filter(pk=question.pk, state=Question.State.DROPPED).exists()
        keys = {(question.item.image.name, question.topic)} if is_dropped else set()
        waiting = _drop(benchmark, keys)
    _refuse_waiting(waiting)


def selection_of(benchmark: Benchmark) -> SelectionFile:
    """Return the whole selection, including added classifiers, as `mad rank` reads it."""
    meta = meta_of(benchmark)
    names = benchmark.submissions.values_list("name", flat=True)
    meta = replace(meta, classifiers=meta.in_order(names))
    rows = benchmark.selections.values_list(
        "first__name",
        "second__name",
        "rank",
        "image",
        "first_label",
        "second_label",
        "first_confidence",
        "second_confidence",
        "distance",
    )
    lines = [
        SelectionLine((a, b), rank, image, (x, y), (p, q), distance)
        for a, b, rank, image, x, y, p, q, distance in rows
    ]
    return SelectionFile(meta, lines)


def meta_of(benchmark: Benchmark) -> Meta:
    """Return the meta line of the selection."""
    return Meta.from_json(benchmark.settings["meta"])


def set_accuracies(benchmark: Benchmark, accuracies: dict[str, float | None]) -> int:
    """Set accuracies and return how many changed.

    Raises Refusal for an unknown classifier and for a value outside 0 to 100.
    """
    rows = {row.name: row for row in benchmark.submissions.all()}
    if unknown := sorted(set(accuracies) - set(rows)):
        raise Refusal(
            f"No classifier here is called {unknown[0]!r}. They are: {', '.join(rows)}.",
            field="accuracy",
        )
    changed = []
    for name, value in accuracies.items():
        if value is not None and not 0 <= value <= 100:
            raise Refusal(
                f"The accuracy of {name} is {value:g}; give a share or a percentage.",
                field="accuracy",
            )
        if rows[name].accuracy != value:
            rows[name].accuracy = value
            changed.append(rows[name])
    Submission.objects.bulk_update(changed, ["accuracy"])
    return len(changed)


def topic_of(synset: Synset) -> lifecycle.TopicFields:
    """Return the topic of a class as people see it: name, synonyms, gloss and a link."""
    name, *synonyms = synset.lemmas
    page = quote(name[:1].upper() + name[1:].replace(" ", "_"))
    return {
        "key": synset.wnid,
        "name": name,
        "synonyms": synonyms,
        "definition": synset.gloss,
        "url": f"https://en.wikipedia.org/wiki/{page}",
    }


def topics_of(keys: Iterable[str], wordnet: WordNet | None) -> list[lifecycle.TopicFields]:
    """Return the topics of these classes; a class unknown to WordNet is named by its key."""

    def topic(key: str) -> lifecycle.TopicFields:
        try:
            return topic_of(wordnet.synset(wordnet.index(key))) if wordnet else _plain(key)
        except UnknownLabel:
            return _plain(key)

    return [topic(key) for key in keys]


def _plain(key: str) -> lifecycle.TopicFields:
    return {"key": key, "name": key}


def _checked_vocabulary(wnids: Sequence[str] | None, wordnet: WordNet | None) -> list[str] | None:
    """Return the vocabulary without duplicates. wordnet: None if classes may have any name."""
    if not wnids:
        return None
    if wordnet is None:
        if longer := next((name for name in wnids if len(name) > MAX_CLASS_LENGTH), ""):
            raise Refusal(
                f"The class {longer[:80]!r} has over {MAX_CLASS_LENGTH} characters. Shorten it.",
                field="vocabulary",
            )
        return list(dict.fromkeys(wnids))
    try:
        return [wordnet.wnid(wordnet.index(wnid)) for wnid in dict.fromkeys(wnids)]
    except UnknownLabel as error:
        raise Refusal(f"The vocabulary: {error}.", field="vocabulary") from error


def _images_in(dataset: Dataset, names: Iterable[str]) -> set[str]:
    sorted_names = sorted(names)
    known: set[str] = set()
    for start in range(0, len(sorted_names), BATCH):
        rows = Image.objects.filter(dataset=dataset, name__in=sorted_names[start : start + BATCH])
        known.update(rows.values_list("name", flat=True))
    return known


def _refuse_missing(selection: SelectionFile, dataset: Dataset) -> None:
    chosen = {line.image for line in selection.chosen_lines()}
    if missing := sorted(chosen - _images_in(dataset, chosen)):
        absent = count_of(len(missing), "chosen image is", "chosen images are")
        raise Refusal(
            f"{absent} not in the dataset {dataset.name!r}: {_some(missing)}. "
            "Add them (manage.py images add), then try again.",
            field="selection",
            code="missing_images",
        )


def _some(names: Sequence[str]) -> str:
    examples = ", ".join(names[:MAX_LISTED])
    return (
        examples if len(names) <= MAX_LISTED else f"{examples} and {len(names) - MAX_LISTED} more"
    )


def _add_submissions(benchmark: Benchmark, actor: User, names: Sequence[str], first: int) -> None:
    Submission.objects.bulk_create(
        [
            Submission(benchmark=benchmark, name=name, position=first + offset, submitted_by=actor)
            for offset, name in enumerate(names)
        ]
    )


def _add_lines(benchmark: Benchmark, selection: SelectionFile, wordnet: WordNet | None) -> None:
    submissions = {row.name: row for row in benchmark.submissions.all()}
    Selection.objects.bulk_create(
        [
            Selection(
                benchmark=benchmark,
                first=submissions[line.pair[0]],
                second=submissions[line.pair[1]],
                rank=line.rank,
                image=line.image,
                first_label=line.labels[0],
                second_label=line.labels[1],
                first_confidence=line.confidences[0],
                second_confidence=line.confidences[1],
                distance=line.distance,
                state=Selection.State.CHOSEN
                if line.rank <= selection.top_k
                else Selection.State.RESERVE,
            )
            for line in selection.lines
        ],
        batch_size=BATCH,
    )
    # Define the topics of reserves too: WordNet may be missing when a reserve is used.
    lifecycle.define_topics(benchmark.campaign, topics_of(selection.wnids(), wordnet))
    dropped = _dropped_keys(benchmark, {line.image for line in selection.chosen_lines()})
    _ask(benchmark, [key for key in selection.questions() if key not in dropped])


def _ask(benchmark: Benchmark, keys: Sequence[Key], lane: int = Question.Lane.FRESH) -> None:
    if keys:
        added = asking.add_questions(benchmark.campaign, keys, lane=lane)
        if added.missing_images:
            # The images were deleted after the check.
            raise Conflict(f"Images left the dataset: {_some(added.missing_images)}. Try again.")


def _lines_of_new_pairs(
    benchmark: Benchmark, selection: SelectionFile, old: set[str]
) -> list[SelectionLine]:
    known = {(frozenset(line.pair), line.rank): line for line in selection_of(benchmark).lines}
    fresh = []
    for line in selection.lines:
        same = known.get((frozenset(line.pair), line.rank))
        if same is not None and same.image == line.image:
            continue
        if same is not None or set(line.pair) <= old:
            raise Conflict(
                f"The pair {line.pair[0]} – {line.pair[1]} already exists, with other images. Send "
                "only the lines of the new classifier (mad add).",
                field="selection",
            )
        fresh.append(line)
    return fresh


def _dropped_keys(benchmark: Benchmark, images: Iterable[str]) -> set[Key]:
    """Return the questions about these images that were dropped as too hard."""
    names = sorted(images)
    keys: set[Key] = set()
    for start in range(0, len(names), BATCH):
        rows = Question.objects.filter(
            campaign_id=benchmark.campaign_id,
            state=Question.State.DROPPED,
            item__image__name__in=names[start : start + BATCH],
        )
        keys.update(rows.values_list("item__image__name", "topic"))
    return keys


def _drop(benchmark: Benchmark, keys: set[Key]) -> list[str]:
    """Drop the images of these questions, fill the gaps, and return the missing reserve images.

    The caller holds the benchmark's lock, so that concurrent drops run one after the other.
    """
    gone = [
        row
        for row in benchmark.selections.filter(image__in={image for image, _ in keys})
        .exclude(state=Selection.State.DROPPED)
        .select_related("first", "second")
        if {(row.image, row.first_label), (row.image, row.second_label)} & keys
    ]
    Selection.objects.filter(pk__in=[row.pk for row in gone]).update(state=Selection.State.DROPPED)
    taken, waiting = _fill(benchmark)
    # Withdraw first: it locks questions, and asking locks the campaign's row (order: sql.py).
    _withdraw_unneeded(benchmark, {key for row in gone for key in _keys_of(row)} - keys)
    _ask(benchmark, [key for row in taken for key in _keys_of(row)], Question.Lane.RETURNED)
    Decision.objects.bulk_create(
        [_record(benchmark, row, "left") for row in gone]
        + [_record(benchmark, row, "entered") for row in taken]
    )
    return waiting


def _fill(benchmark: Benchmark) -> tuple[list[Selection], list[str]]:
    """Fill each pair that has a gap; return the reserves used, and the images the dataset lacks."""
    top_k = benchmark.settings["meta"]["top_k"]
    chosen, reserve = Selection.State.CHOSEN, Selection.State.RESERVE
    gaps = (
        benchmark.selections.order_by()
        .values("first", "second")
        .annotate(
            wanted=Count("pk", filter=Q(rank__lte=top_k)),
            in_place=Count("pk", filter=Q(state=chosen)),
            left=Count("pk", filter=Q(state=reserve)),
        )
        .filter(in_place__lt=F("wanted"), left__gt=0)
    )
    taken: list[Selection] = []
    waiting: list[str] = []
    for gap in gaps:
        rows = list(
            benchmark.selections.filter(first=gap["first"], second=gap["second"], state=reserve)
            .select_related("first", "second")
            .order_by("rank")
        )
        dropped = _dropped_keys(benchmark, {row.image for row in rows})
        known_images = _images_in(benchmark.campaign.dataset, {row.image for row in rows})
        needed = gap["wanted"] - gap["in_place"]
        for row in rows:
            if not needed:
                break
            if dropped.intersection(_keys_of(row)):
                row.state = Selection.State.DROPPED
            elif row.image in known_images:
                row.state = chosen
                taken.append(row)
                needed -= 1
            else:
                # Do not skip to the next reserve: the method takes reserves in order.
                waiting.append(row.image)
                break
        Selection.objects.bulk_update([r for r in rows if r.state != reserve], ["state"])
    return taken, sorted(set(waiting))


def _keys_of(row: Selection) -> list[Key]:
    return [(row.image, row.first_label), (row.image, row.second_label)]


def _withdraw_unneeded(benchmark: Benchmark, keys: set[Key]) -> None:
    """Withdraw open questions that no pair needs any more."""
    images = {image for image, _ in keys}
    needed = {
        key
        for row in benchmark.selections.filter(image__in=images, state=Selection.State.CHOSEN)
        for key in _keys_of(row)
    }
    idle = keys - needed
    rows = Question.objects.filter(
        campaign_id=benchmark.campaign_id,
        item__image__name__in={image for image, _ in idle},
        state__in=[Question.State.OPEN, Question.State.REVIEW],
    ).values_list("pk", "item__image__name", "topic")
    pks = [pk for pk, image, topic in rows if (image, topic) in idle]
    if pks:
        asking.withdraw_questions(
            benchmark.campaign, pks, None, "The image was too hard on its other question."
        )


def _record(benchmark: Benchmark, row: Selection, action: str) -> Decision:
    return Decision(
        campaign=benchmark.campaign,
        kind=Decision.Kind.DROP,
        content={
            "deed": action,
            "pair": [row.first.name, row.second.name],
            "rank": row.rank,
            "image": row.image,
        },
        reason="Too hard for annotators; replaced by the pair's next reserve image."
        if action == "left"
        else "Replaces an image that was too hard.",
    )


def _refuse_waiting(images: list[str]) -> None:
    if images:
        raise BadInput(
            f"the next reserve images are not in the dataset: {_some(images)}",
            cure="add them to the dataset, then try the job again",
        )


def class_names(campaign: Campaign) -> dict[str, str]:
    """Return wnid → name for people."""
    return dict(campaign.topics.values_list("key", "name"))
