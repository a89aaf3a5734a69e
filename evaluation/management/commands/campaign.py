import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from django.db import transaction
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled.label_sets.reviews import HOW_TO_JUDGE
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import selections
from evaluation.readers.class_files import Labels, load_wordnet
from evaluation.readers.mistakes import read_queue
from evaluation.readers.shipped import classes_file
from labeling.campaigns import lifecycle
from labeling.consensus import settling
from labeling.csv_rows import rows
from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import box_campaigns, lists, naming_campaigns, part_campaigns
from labeling.files import BadInput, read_yaml, text_lines
from labeling.follow_ups import following, opening
from labeling.graphs import store
from labeling.kinds import KINDS, policies
from labeling.kinds.base import (
    CANDIDATES,
    CHAINS,
    CONTAINS,
    GRAPH,
    IMAGES,
    JUDGED,
    OBJECTS,
    PAIRS,
)
from labeling.kinds.naming import MAX_CLASSES
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import argument, option
from labeling.management.release_options import find_campaign, find_release
from labeling.models import Campaign, Dataset, Membership, Release, User
from labeling.plurals import count_of
from labeling.quality import memberships
from labeling.question_graph import replaying
from labeling.question_graph.graph import QuestionGraph
from labeling.question_graph.ordering import ORDERS
from labeling.records import Record
from labeling.releases import freezing
from labeling.reports import progress
from labeling.vocabulary import reading

Role = Membership.Role


class Common(TypedDict):
    """The settings of campaigns of every kind."""

    name: str
    title: str
    dataset: Dataset
    policy: dict[str, object] | None


@dataclass(kw_only=True)
class Rebuilt(Record):
    """The questions that would change if all were settled again."""

    campaign: str
    questions: int
    differences: list[settling.Difference]


@dataclass(kw_only=True)
class NameOptions:
    name: str = argument("of the campaign")


@dataclass(kw_only=True)
class FreezeOptions(NameOptions):
    out: Path = option("a new folder", metavar="DIR")


@dataclass(kw_only=True)
class InviteOptions(NameOptions):
    people: int = option("who may join by the link (1)", 1, metavar="N")
    role: str = option("of those people (annotator)", Role.ANNOTATOR, choices=Role.values)


@dataclass(kw_only=True)
class OpenOptions:
    kind: str = argument(f"one of: {', '.join(KINDS)}")
    name: str = option("as in its address")
    title: str = option("as people read it; else the name", "")
    dataset: str = option("whose images are asked about")
    selection: Path | None = option(
        "selection.jsonl of mad select; for a review of mistakes its queue"
    )
    vocabulary: str | None = option(
        "wnids, one a line: classes to choose from, or ilsvrc; for parts a vocabulary of parts in "
        "YAML, or shipped",
        metavar="FILE|ilsvrc|shipped",
    )
    graph: str | None = option("question graph, JSON or YAML; or ILSVRC's", metavar="FILE|ilsvrc")
    mode: str | None = option("questions that a no closes", choices=replaying.MODES)
    order: str | None = option("order of the questions", choices=ORDERS)
    present: float | None = option(
        "on an image, on average, for the estimate of a question graph (2.8)", metavar="CLASSES"
    )
    images: Path | None = option("file of image names, one a line; by default all")
    labels: str | None = option(
        "for boxes: which classes are in which images, of a release (its folder, or its "
        "campaign's name) or as image,wnid rows; for contains: what is asked, without a benchmark",
        metavar="RELEASE|FILE",
    )
    proposals: Path | None = option(
        "for boxes: detections to check first, image,wnid,confidence,x0,y0,x1,y1 rows"
    )
    classes: Path | None = option("for boxes: file of wnids, one a line; by default all")
    most: int | None = option(
        f"for naming: classes that an answer may list, the surest first, up to {MAX_CLASSES} (1)",
        choices=range(1, MAX_CLASSES + 1),
        metavar="N",
    )
    policy: Path | None = option("policy.yaml")
    draft: bool = option("create it, but ask nobody yet")

    def check(self) -> None:
        """Raise UsageError for options that the kind does not take."""
        kind = self.kind
        if kind not in KINDS:
            raise UsageError(f"there is no kind {kind!r}; choose one of: {', '.join(KINDS)}")
        asks = KINDS[kind].asks
        for key in ("graph", "mode", "order", "present"):
            if getattr(self, key) is not None and asks != GRAPH:
                raise UsageError(f"--{key} is for campaigns of the kind hierarchy")
        asks_labels = asks == PAIRS and KINDS[kind].release == CONTAINS and not self.selection
        for key in ("labels", "proposals", "classes"):
            if getattr(self, key) and asks != CHAINS and not (key == "labels" and asks_labels):
                more = " or, without --selection, contains" if key == "labels" else ""
                raise UsageError(f"--{key} is for campaigns of the kind boxes{more}")
        if self.most and not KINDS[kind].has_vocabulary:
            raise UsageError("--most is for campaigns of the kind naming")
        if self.images and asks in (PAIRS, CHAINS):
            raise UsageError(f"the images of a campaign of the kind {kind} are those of its list")
        is_unknown = asks == PAIRS and KINDS[kind].release not in (JUDGED, CONTAINS)
        if asks == CANDIDATES or is_unknown:
            raise UsageError(f"open a campaign of the kind {kind} on the site or by the API")

    def files(self) -> dict[str, Path | None]:
        """Return the files whose content a refusal may name."""
        names = ("selection", "policy", "images", "proposals")
        return {name: getattr(self, name) for name in names}

    def common(self, dataset: Dataset) -> Common:
        return {
            "name": self.name,
            "title": self.title or self.name,
            "dataset": dataset,
            "policy": read_yaml(self.policy) if self.policy else None,
        }


class Command(ContractCommand):
    help = "Open, pause, close and freeze campaigns; say how far they are."

    @verb("make a campaign and open it")
    def open(self, options: OpenOptions) -> dict[str, object]:
        dataset = _dataset(options.dataset)
        common = options.common(dataset)
        with _refusals(**options.files()):
            options.check()
            made = self._make(dataset.owner, options, common)
            if not options.draft:
                lifecycle.launch(made, dataset.owner)
        return self._status(made)

    def _make(self, owner: User, options: OpenOptions, common: Common) -> Campaign:
        makers = {
            PAIRS: self._contains,
            GRAPH: self._hierarchy,
            IMAGES: self._naming,
            OBJECTS: self._parts,
            CHAINS: self._boxes,
        }
        kind = KINDS[options.kind]
        is_review = kind.asks == PAIRS and kind.release == JUDGED
        make = self._mistakes if is_review else makers[kind.asks]
        return make(owner, options, common)

    def _contains(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        if choice.labels:
            pairs, _ = _labels(choice.labels, None, load_wordnet())
            return opening.draft(owner, kind=choice.kind, pairs=pairs, **common)
        if choice.selection is None:
            raise UsageError("a campaign of the kind contains needs --selection or --labels")
        net = selections.wordnet_for(choice.selection, load_wordnet)
        lines = selections.read(choice.selection, net)
        checking = net if lines.meta.needs_wordnet else None
        wnids = _wnids(choice.vocabulary, checking) if choice.vocabulary else None
        plan = competitions.plan(lines, common["dataset"], common["policy"])
        if plan.missing_reserve:
            self.warn(
                count_of(len(plan.missing_reserve), "reserve image is", "reserve images are")
                + f" not in the dataset yet, the first is {plan.missing_reserve[0]!r}"
            )
        return competitions.create(
            owner,
            lines=lines,
            vocabulary=wnids,
            wordnet=net,
            **common,
        ).campaign

    def _mistakes(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        if choice.selection is None:
            raise UsageError(f"a campaign of the kind {choice.kind} needs --selection, a queue")
        if choice.vocabulary:
            raise UsageError(f"a campaign of the kind {choice.kind} takes no --vocabulary")
        net = load_wordnet()
        pairs = [
            (image, net.wnid(synset)) for image, synset in read_queue(choice.selection, net).pairs
        ]
        return opening.draft(
            owner, kind=choice.kind, pairs=pairs, instructions=HOW_TO_JUDGE, **common
        )

    def _boxes(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        if choice.labels is None:
            raise UsageError(f"a campaign of the kind {choice.kind} needs --labels")
        net = load_wordnet()
        classes = _wnids(str(choice.classes), net) if choice.classes else None
        pairs, release = _labels(choice.labels, classes, net)
        proposed = None
        if choice.proposals is not None:
            proposals = lists.read_proposals("\n".join(text_lines(choice.proposals)))
            chosen_classes = set(classes or ())
            proposals = [
                row for row in proposals if not chosen_classes or row.topic in chosen_classes
            ]
            proposed = box_campaigns.propose(common["dataset"], pairs, proposals)
            if proposed.unasked or proposed.repeated:
                self.warn(box_campaigns.describe_proposed(proposed))
        with transaction.atomic():
            made = lifecycle.create(owner, kind=choice.kind, **common)
            box_campaigns.check(made, pairs)
            if release is not None:
                box_campaigns.record_source_release(made, release)
            opening.define_asked(made, pairs)
        # In slices, as in _hierarchy.
        with self.progress(len(pairs), "pair", "opening") as bar:
            box_campaigns.ask(made, pairs, proposed, tick=lambda done, _: bar.update(done - bar.n))
        return made

    def _parts(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        dataset, file = common["dataset"], choice.vocabulary
        with transaction.atomic():
            version = None
            if file is not None:
                content = reading.shipped() if file == "shipped" else reading.read(file)
                version = vocabulary_store.add_version(dataset, content, None)
            images = _names(choice.images)
            items = part_campaigns.objects_of(dataset, images=images) if images else None
            return part_campaigns.draft(
                owner,
                dataset,
                version=version,
                items=items,
                kind=choice.kind,
                name=common["name"],
                title=common["title"],
                policy=common["policy"],
            )

    def _naming(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        classes: list[dict[str, str]] = []
        if KINDS[choice.kind].has_vocabulary:
            if choice.vocabulary is None:
                raise UsageError(f"a campaign of the kind {choice.kind} needs --vocabulary")
            classes = [{"key": wnid} for wnid in _wnids(choice.vocabulary, load_wordnet())]
        return naming_campaigns.draft(
            owner,
            images=_names(choice.images),
            kind=choice.kind,
            vocabulary=classes,
            settings={"most": choice.most} if choice.most else {},
            **common,
        )

    def _hierarchy(self, owner: User, choice: OpenOptions, common: Common) -> Campaign:
        if choice.graph is None:
            raise UsageError("a campaign of the kind hierarchy needs --graph")
        graph, names = _graph(choice.graph), _names(choice.images)
        keys = ("mode", "order", "present")
        settings = {key: getattr(choice, key) for key in keys}
        chosen = {key: value for key, value in settings.items() if value is not None}
        with transaction.atomic():
            made = lifecycle.create(owner, kind=choice.kind, settings=chosen, **common)
            store.define(made, owner, graph)
            following.check_images(made, names)
        # In slices, so that other users do not wait while many questions are created.
        with self.progress(None, "question", "opening") as bar:

            def tick(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            following.open_images(made, names or None, tick)
        return made

    def _moved(self, action: str, options: NameOptions) -> dict[str, object]:
        campaign = find_campaign(options.name)
        with _refusals():
            lifecycle.change_state(campaign, None, action)
        return self._status(campaign)

    @verb("open a draft")
    def launch(self, options: NameOptions) -> dict[str, object]:
        return self._moved("launch", options)

    @verb("make a link, below the site's address, by which people join")
    def invite(self, options: InviteOptions) -> dict[str, object]:
        campaign = find_campaign(options.name)
        with _refusals():
            made, secret = memberships.invite(
                campaign,
                campaign.created_by,
                options.role,
                max_uses=options.people,
            )
        return {
            "campaign": options.name,
            "role": options.role,
            "people": options.people,
            "expires_at": made.expires_at.isoformat(timespec="seconds"),
            "link": reverse("join", args=[secret]),
        }

    @verb("ask nobody until it is resumed")
    def pause(self, options: NameOptions) -> dict[str, object]:
        return self._moved("pause", options)

    @verb("ask again")
    def resume(self, options: NameOptions) -> dict[str, object]:
        return self._moved("resume", options)

    @verb("ask nobody any more")
    def close(self, options: NameOptions) -> dict[str, object]:
        return self._moved("close", options)

    @verb("how far it is, and what it costs")
    def status(self, options: NameOptions) -> dict[str, object]:
        return self._status(find_campaign(options.name))

    @verb("write a release")
    def freeze(self, options: FreezeOptions) -> dict[str, object]:
        campaign = find_campaign(options.name)
        with _refusals():
            lifecycle.check_campaign_active(campaign)
            release = freezing.freeze(campaign, None, options.out)
        if release.unsettled:
            self.warn(
                f"{count_of(release.unsettled, 'question is', 'questions are')} not settled yet, "
                "and not in the release"
            )
        beside = ("marks", "interim", "stated_error")
        counts = {k: v for k, v in release.counts.items() if k not in beside}
        return {
            "campaign": options.name,
            "release": release.number,
            "sha256": release.sha256,
            "out": str(options.out),
            "counts": counts,
        }

    @verb("settlements recomputed from the answers: what would differ")
    def rebuild(self, options: NameOptions) -> Rebuilt:
        campaign = find_campaign(options.name)
        return Rebuilt(
            campaign=options.name,
            questions=campaign.questions.for_consensus().count(),
            differences=list(settling.rebuild(campaign)),
        )

    def _status(self, campaign: Campaign) -> dict[str, object]:
        campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
        return {
            "name": campaign.name,
            "kind": campaign.kind,
            "state": campaign.state,
            **progress.progress(campaign).to_json(),
        }


@contextlib.contextmanager
def _refusals(**files: Path | None) -> Iterator[None]:
    """Convert a Refusal into BadInput that names the file with the fault."""
    try:
        yield
    except Refusal as refusal:
        part = "policy" if refusal.field in policies.DEFAULTS else refusal.field or ""
        raise _from_refusal(refusal, files.get(part)) from refusal


def _from_refusal(refusal: Refusal, path: Path | None) -> BadInput:
    """Return the refusal as BadInput, with the line of the file that its message begins with."""
    source, colon, rest = refusal.message.partition(": ")
    number = source.removeprefix("Line ")
    if path is not None and colon and source != number and number.isdecimal():
        return BadInput(rest, file=path, line=int(number))
    return BadInput(refusal.message, file=path)


def _graph(name: str) -> QuestionGraph:
    """Return the graph of that file, or ILSVRC's. Raises BadInput with every fault."""
    if name == "ilsvrc":
        return store.load_ilsvrc()
    try:
        return replaying.build(replaying.read(name))
    except replaying.GraphError as error:
        raise BadInput(error.message, file=name, line=error.line) from error


def _labels(
    source: str, classes: list[str] | None, net: WordNet
) -> tuple[list[tuple[str, str]], Release | None]:
    """Return (image, wnid) of a release's labels, or of the rows of a file; and the release where
    it is one of this site.
    """
    path = Path(source)
    if path.is_file():
        labels = Labels(net)
        pairs = dict.fromkeys(
            (image, net.wnid(labels.synsets[labels(label, path, line)]))
            for line, (image, label) in rows(path, ("image", "wnid"))
        )
        chosen_labels = [row for row in pairs if classes is None or row[1] in classes]
        if not chosen_labels:
            raise BadInput(
                "has no image,wnid row" + (" of these classes" if classes else ""),
                file=source,
                cure="give one line for each class that is in an image",
            )
        return chosen_labels, None
    release, row = find_release(source)
    return box_campaigns.pairs_of(release, classes), row


def _names(path: Path | None) -> list[str]:
    """Return the image names of the file; an empty list (all images) without a file."""
    if path is None:
        return []
    names = lists.read_names("\n".join(text_lines(path)))
    if not names:
        raise BadInput("names no image", file=path, cure="write one image name per line")
    return names


def _dataset(name: str) -> Dataset:
    dataset = Dataset.objects.filter(name=name).select_related("owner").first()
    if dataset is None:
        raise BadInput(
            f"there is no dataset {name!r}", cure="make it on the datasets page, then add images"
        )
    return dataset


def _wnids(path: str, net: WordNet | None) -> list[str]:
    from evaluation.readers.pools import read_classes

    return read_classes(classes_file(path), net)
