import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from evaluation.benchmarks.kinds.labeled.label_sets.reviews import HOW_TO_JUDGE
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.management import campaign_options, candidate_options
from evaluation.management.campaign_options import Choice
from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import selections
from evaluation.readers.class_files import Labels
from evaluation.readers.mistakes import read_queue
from evaluation.readers.shipped import classes_file
from labeling.campaigns import lifecycle
from labeling.consensus import settling
from labeling.csv_rows import rows
from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import box_campaigns, lists, naming_campaigns, part_campaigns
from labeling.files import BadInput, read_yaml, text_lines
from labeling.follow_ups import candidate_lists, following, opening
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
from labeling.kinds.candidates import SETTINGS
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.management.release_options import find_release
from labeling.models import Campaign, Dataset, Release, User
from labeling.plurals import count_of
from labeling.quality import piloting
from labeling.question_graph import replaying
from labeling.question_graph.graph import Graph
from labeling.records import Record
from labeling.releases import freezing
from labeling.reports import progress
from labeling.vocabulary import reading

CHANGES = {
    "pause": (lifecycle.pause, "ask nobody until it is resumed"),
    "resume": (lifecycle.resume, "ask again"),
    "close": (lifecycle.close, "ask nobody any more"),
}


@dataclass(kw_only=True)
class Rebuilt(Record):
    """What settling all questions again would change."""

    campaign: str
    questions: int
    differences: list[settling.Difference]


class Command(ContractCommand):
    help = "Open, pause, close and freeze campaigns; say how far they are."

    def add_arguments(self, parser: CommandParser) -> None:
        open_parser = self.verb(parser, "open", self.open, help="make a campaign and open it")
        campaign_options.add(open_parser)
        for name, (change, words) in CHANGES.items():
            verb = self.verb(parser, name, partial(self._change, change), help=words)
            verb.add_argument("name", metavar="NAME", help="of the campaign")
        status = self.verb(parser, "status", self.status, help="how far it is, and what it costs")
        status.add_argument("name", metavar="NAME", help="of the campaign")
        freeze_parser = self.verb(parser, "freeze", self.freeze, help="write a release")
        freeze_parser.add_argument("name", metavar="NAME", help="of the campaign")
        freeze_parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a folder that is not there yet"
        )
        rebuilding = self.verb(
            parser,
            "rebuild",
            self.rebuild,
            self.show_rebuilt,
            help="settlements recomputed from the answers: what would differ",
        )
        rebuilding.add_argument("name", metavar="NAME", help="of the campaign")

    def open(
        self, dataset: str, draft: bool, title: str, name: str, **options: Any
    ) -> dict[str, object]:
        pool = _dataset(dataset)
        options_of_files = ("selection", "policy", "images", "proposals", "candidates", "examples")
        files = {key: options[key] for key in options_of_files}
        stop = {key: options.pop(key) for key in SETTINGS}
        policy = options.pop("policy")
        choice = Choice(
            name=name,
            title=title or name,
            dataset=pool,
            policy=read_yaml(policy) if policy else None,
            stop={key: number for key, number in stop.items() if number is not None},
            **options,
        )
        actor = pool.owner
        with _refusals(**files):
            made = self._make(actor, choice)
            if not draft:
                lifecycle.launch(made, actor)
        return self._status(made)

    def _make(self, owner: User, choice: Choice) -> Campaign:
        makers = {
            PAIRS: self._contains,
            GRAPH: self._hierarchy,
            IMAGES: self._naming,
            OBJECTS: self._parts,
            CANDIDATES: self._candidates,
            CHAINS: self._boxes,
        }
        if choice.kind not in KINDS:
            known = ", ".join(KINDS)
            raise UsageError(f"there is no kind {choice.kind!r}; choose one of: {known}")
        asks = KINDS[choice.kind].asks
        for key in ("graph", "mode", "order", "price", "present"):
            if getattr(choice, key) is not None and asks != GRAPH:
                raise UsageError(f"--{key} is for campaigns of the kind hierarchy")
        for key in ("labels", "proposals", "classes", "complete"):
            if getattr(choice, key) and asks != CHAINS:
                raise UsageError(f"--{key} is for campaigns of the kind boxes")
        for key in ("most", "examples"):
            if getattr(choice, key) and not KINDS[choice.kind].has_vocabulary:
                raise UsageError(f"--{key} is for campaigns of the kind naming")
        if asks != CANDIDATES and (choice.candidates or choice.pilot or choice.stop):
            option = "candidates" if choice.candidates else "pilot"
            option = next(iter(choice.stop), option)
            raise UsageError(f"--{option} is for campaigns of the kind candidates")
        if choice.images and asks in (PAIRS, CHAINS, CANDIDATES):
            raise UsageError(
                f"the images of a campaign of the kind {choice.kind} are those of its list"
            )
        if asks == PAIRS and KINDS[choice.kind].release == JUDGED:
            return self._mistakes(owner, choice)
        if asks == PAIRS and KINDS[choice.kind].release != CONTAINS:
            raise UsageError(f"open a campaign of the kind {choice.kind} on the site or by the API")
        return makers[asks](owner, choice)

    def _contains(self, owner: User, choice: Choice) -> Campaign:
        if choice.selection is None:
            raise UsageError("a campaign of the kind contains needs --selection")
        net = selections.wordnet_for(choice.selection, load)
        lines = selections.read(choice.selection, net)
        checking = net if lines.meta.needs_wordnet else None
        wnids = _wnids(choice.vocabulary, checking) if choice.vocabulary else None
        plan = competitions.plan(lines, choice.dataset, choice.policy)
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
            **choice.common(),
        ).campaign

    def _mistakes(self, owner: User, choice: Choice) -> Campaign:
        if choice.selection is None:
            raise UsageError(f"a campaign of the kind {choice.kind} needs --selection, a queue")
        if choice.vocabulary:
            raise UsageError(f"a campaign of the kind {choice.kind} takes no --vocabulary")
        net = load()
        pairs = [
            (image, net.wnid(synset)) for image, synset in read_queue(choice.selection, net).pairs
        ]
        common = choice.common() | {"instructions": HOW_TO_JUDGE}
        return opening.draft(owner, kind=choice.kind, pairs=pairs, **common)

    def _candidates(self, owner: User, choice: Choice) -> Campaign:
        if choice.candidates is None:
            raise UsageError(f"a campaign of the kind {choice.kind} needs --candidates")
        if choice.vocabulary or choice.selection:
            raise UsageError(
                f"a campaign of the kind {choice.kind} takes no --selection or --vocabulary"
            )
        rows = candidate_options.read(choice.candidates)
        with transaction.atomic():
            made = candidate_lists.draft(
                owner, rows, kind=choice.kind, settings=choice.stop, **choice.common()
            )
            if choice.pilot is not None:
                piloting.ask_pilot(made, None, choice.pilot, 0)
        return made

    def _boxes(self, owner: User, choice: Choice) -> Campaign:
        if choice.labels is None:
            raise UsageError(f"a campaign of the kind {choice.kind} needs --labels")
        net = load()
        classes = _wnids(str(choice.classes), net) if choice.classes else None
        pairs, release = _labels(choice.labels, classes, net)
        proposed = None
        if choice.proposals is not None:
            proposals = lists.read_proposals("\n".join(text_lines(choice.proposals)))
            chosen_classes = set(classes or ())
            proposals = [
                row for row in proposals if not chosen_classes or row.topic in chosen_classes
            ]
            proposed = box_campaigns.propose(choice.dataset, pairs, proposals)
            if proposed.unasked or proposed.repeated:
                self.warn(box_campaigns.words_of(proposed))
        with transaction.atomic():
            settings = {"complete": choice.complete}
            made = lifecycle.create(owner, kind=choice.kind, settings=settings, **choice.common())
            box_campaigns.check(made, pairs)
            if release is not None:
                box_campaigns.begin_with(made, release)
            opening.define_asked(made, pairs)
        # Slice by slice, as in _hierarchy.
        with self.progress(len(pairs), "pair", "opening") as bar:
            box_campaigns.ask(made, pairs, proposed, tick=lambda done, _: bar.update(done - bar.n))
        return made

    def _parts(self, owner: User, choice: Choice) -> Campaign:
        common = choice.common() | {"kind": choice.kind}
        dataset, file = common.pop("dataset"), choice.vocabulary
        with transaction.atomic():
            version = None
            if file is not None:
                content = reading.shipped() if file == "shipped" else reading.read(file)
                version = vocabulary_store.add_version(dataset, content, None)
            images = _names(choice.images)
            items = part_campaigns.objects_of(dataset, images=images) if images else None
            return part_campaigns.draft(owner, dataset, version=version, items=items, **common)

    def _naming(self, owner: User, choice: Choice) -> Campaign:
        classes: list[dict[str, str]] = []
        if KINDS[choice.kind].has_vocabulary:
            if choice.vocabulary is None:
                raise UsageError(f"a campaign of the kind {choice.kind} needs --vocabulary")
            net = load()
            topics = [net.synset(net.index(wnid)) for wnid in _wnids(choice.vocabulary, net)]
            classes = [{"key": s.wnid, "name": ", ".join(s.lemmas)} for s in topics]
        examples = choice.examples
        return naming_campaigns.draft(
            owner,
            images=_names(choice.images),
            kind=choice.kind,
            vocabulary=classes,
            settings={"most": choice.most} if choice.most else {},
            examples=lists.read_examples(examples.read_bytes()) if examples else (),
            **choice.common(),
        )

    def _hierarchy(self, owner: User, choice: Choice) -> Campaign:
        if choice.graph is None:
            raise UsageError("a campaign of the kind hierarchy needs --graph")
        graph, names = _graph(choice.graph), _names(choice.images)
        keys = ("mode", "order", "price", "present")
        settings = {key: getattr(choice, key) for key in keys}
        chosen = {key: value for key, value in settings.items() if value is not None}
        with transaction.atomic():
            made = lifecycle.create(owner, kind=choice.kind, settings=chosen, **choice.common())
            store.define(made, owner, graph)
            following.check_images(made, names)
        # Slice by slice: nobody waits while the questions of many images are made.
        with self.progress(None, "question", "opening") as bar:

            def tick(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            following.open_images(made, names or None, tick)
        return made

    def _change(
        self, change: Callable[[Campaign, User | None], object], name: str, **_: Any
    ) -> dict[str, object]:
        campaign = _campaign(name)
        with _refusals():
            change(campaign, None)
        return self._status(campaign)

    def status(self, name: str, **_: Any) -> dict[str, object]:
        return self._status(_campaign(name))

    def freeze(self, name: str, out: Path, **_: Any) -> dict[str, object]:
        campaign = _campaign(name)
        with _refusals():
            release = freezing.freeze(campaign, None, out)
        if release.unsettled:
            self.warn(
                f"{count_of(release.unsettled, 'question is', 'questions are')} not settled yet, "
                "and not in the release"
            )
        counts = {k: v for k, v in release.counts.items() if k not in ("marks", "interim")}
        return {
            "campaign": name,
            "release": release.number,
            "sha256": release.sha256,
            "out": str(out),
            "counts": counts,
        }

    def rebuild(self, name: str, **_: Any) -> Rebuilt:
        campaign = _campaign(name)
        return Rebuilt(
            campaign=name,
            questions=campaign.questions.for_consensus().count(),
            differences=list(settling.rebuild(campaign)),
        )

    def show_rebuilt(self, result: Rebuilt) -> str:
        if not result.differences:
            questions = count_of(result.questions, "question")
            return f"{questions}: settlements follow from their answers"
        changed = [
            (row.question, *(value and value.state for value in (row.current, row.rebuilt)))
            for row in result.differences
        ]
        return table(changed, head=("question", "stands", "rebuilt"))

    def _status(self, campaign: Campaign) -> dict[str, object]:
        campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
        return {
            "name": campaign.name,
            "kind": campaign.kind,
            "state": campaign.state,
            **progress.progress(campaign).to_json(),
        }

    def show(self, result: dict[str, object]) -> str:
        flat: list[tuple[str, object]] = []
        nested: list[tuple[str, object]] = []
        for key, value in result.items():
            if isinstance(value, dict):
                nested += value.items()
            else:
                flat.append((key, value))
        return table(flat + nested)


@contextlib.contextmanager
def _refusals(**files: Path | None) -> Iterator[None]:
    """A Refusal as the one line that commands print, with the file whose part it names: policy,
    selection, images, candidates."""
    try:
        yield
    except Refusal as refusal:
        part = "policy" if refusal.field in policies.DEFAULTS else refusal.field or ""
        raise candidate_options.from_refusal(refusal, files.get(part)) from refusal


def _graph(name: str) -> Graph:
    """The graph of that file, or ILSVRC's. Raises BadInput naming the file and every fault."""
    if name == "ilsvrc":
        return store.load_ilsvrc()
    try:
        return replaying.build(replaying.read(name))
    except replaying.GraphError as error:
        raise BadInput(error.message, file=name, line=error.line) from error


def _labels(
    source: str, classes: list[str] | None, net: WordNet
) -> tuple[list[tuple[str, str]], Release | None]:
    """(image, wnid) of a release's labels, or of the rows of a file, and the release where it is
    one of this site."""
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
    release, row = find_release(source, None)
    return box_campaigns.pairs_of(release, classes), row


def _names(path: Path | None) -> list[str]:
    """The image names of that file; none without a file, which stands for all images."""
    if path is None:
        return []
    names = lists.read_names("\n".join(text_lines(path)))
    if not names:
        raise BadInput("names no image", file=path, cure="write one image name a line")
    return names


def _campaign(name: str) -> Campaign:
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        raise BadInput(f"there is no campaign {name!r}", cure="check the name")
    return campaign


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
