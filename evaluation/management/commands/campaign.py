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
from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import selections
from evaluation.readers.answers import text_lines
from evaluation.readers.mistakes import read_queue
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, settling
from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import lists, part_campaigns
from labeling.files import BadInput, read_yaml
from labeling.follow_ups import following, opening
from labeling.graphs import store
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CONTAINS, GRAPH, IMAGES, JUDGED, OBJECTS, PAIRS
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.models import Campaign, Dataset, User
from labeling.plurals import count_of
from labeling.quality import piloting
from labeling.question_graph import replaying
from labeling.question_graph.graph import Graph
from labeling.question_graph.ordering import ORDERS
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


@dataclass(frozen=True)
class Choice:
    """The options of `campaign open`."""

    kind: str
    name: str
    title: str
    dataset: Dataset
    policy: dict[str, object] | None
    instructions: str
    selection: Path | None
    vocabulary: str | None
    graph: str | None
    mode: str | None
    order: str | None
    images: Path | None

    def common(self) -> dict[str, Any]:
        """What is made of every kind of campaign."""
        names = ("name", "title", "dataset", "policy", "instructions")
        return {name: getattr(self, name) for name in names}


class Command(ContractCommand):
    help = "Open, pause, close and freeze campaigns; say how far they are."

    def add_arguments(self, parser: CommandParser) -> None:
        open_parser = self.verb(parser, "open", self.open, help="make a campaign and open it")
        open_parser.add_argument("kind", metavar="KIND", help=f"one of: {', '.join(KINDS)}")
        open_parser.add_argument("--name", required=True, help="as in its address")
        open_parser.add_argument("--title", default="", help="as people read it; else the name")
        open_parser.add_argument("--dataset", required=True, help="whose images are asked about")
        open_parser.add_argument(
            "--owner", default="", help="a username; by default the dataset's owner"
        )
        open_parser.add_argument(
            "--selection",
            type=Path,
            help="selection.jsonl of mad select; for a review of mistakes its queue",
        )
        open_parser.add_argument(
            "--vocabulary",
            metavar="FILE|shipped",
            help="wnids, one a line: classes to choose from; for parts a vocabulary of parts in "
            "YAML, or shipped",
        )
        open_parser.add_argument(
            "--graph", metavar="FILE|ilsvrc", help="question graph, JSON or YAML; or ILSVRC's"
        )
        open_parser.add_argument("--mode", choices=replaying.MODES, help="what a no closes")
        open_parser.add_argument("--order", choices=ORDERS, help="which question comes next")
        open_parser.add_argument(
            "--images", type=Path, help="file of image names, one a line; by default all"
        )
        open_parser.add_argument("--policy", type=Path, help="policy.yaml")
        open_parser.add_argument("--instructions", type=Path, help="text file that people see")
        open_parser.add_argument("--draft", action="store_true", help="make it, but ask nobody yet")
        for name, (change, what) in CHANGES.items():
            verb = self.verb(parser, name, partial(self._change, change), help=what)
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
        pilot = self.verb(
            parser, "pilot", self.pilot, help="ask ten votes on a random sample of each topic"
        )
        pilot.add_argument("name", metavar="NAME", help="of the campaign")
        pilot.add_argument(
            "--per-topic", type=int, required=True, metavar="N", help="questions of each class"
        )
        pilot.add_argument("--seed", type=int, default=0, help="of the choice (0)")
        calibrate = self.verb(
            parser, "calibrate", self.calibrate, help="recompute reputations and vote tables now"
        )
        calibrate.add_argument("name", metavar="NAME", help="of the campaign")

    def open(
        self, dataset: str, owner: str, draft: bool, title: str, name: str, **options: Any
    ) -> dict[str, object]:
        pool = _dataset(dataset)
        files = {key: options[key] for key in ("selection", "policy", "images")}
        policy, instructions = options.pop("policy"), options.pop("instructions")
        choice = Choice(
            name=name,
            title=title or name,
            dataset=pool,
            policy=read_yaml(policy) if policy else None,
            instructions="\n".join(text_lines(instructions)) if instructions else "",
            **options,
        )
        actor = _owner(owner, pool)
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
        }
        if choice.kind not in KINDS:
            known = ", ".join(KINDS)
            raise UsageError(f"there is no kind {choice.kind!r}; choose one of: {known}")
        asks = KINDS[choice.kind].asks
        for key in ("graph", "mode", "order"):
            if getattr(choice, key) and asks != GRAPH:
                raise UsageError(f"--{key} is for campaigns of the kind hierarchy")
        if choice.images and asks == PAIRS:
            raise UsageError(
                f"the images of a campaign of the kind {choice.kind} are its selection's"
            )
        if asks == PAIRS and KINDS[choice.kind].release == JUDGED:
            return self._mistakes(owner, choice)
        if asks == PAIRS and KINDS[choice.kind].release != CONTAINS:
            raise UsageError(f"open a campaign of the kind {choice.kind} on the site or by the API")
        return makers[asks](owner, choice)

    def _contains(self, owner: User, choice: Choice) -> Campaign:
        if choice.selection is None:
            raise UsageError("a campaign of the kind contains needs --selection")
        net = load()
        lines = selections.read(choice.selection, net)
        wnids = _wnids(choice.vocabulary, net) if choice.vocabulary else None
        plan = competitions.plan(lines, choice.dataset, choice.policy)
        if plan.missing_reserve:
            self.warn(
                count_of(len(plan.missing_reserve), "reserve image is", "reserve images are")
                + f" not in the dataset yet, the first is {plan.missing_reserve[0]!r}"
            )
        return competitions.create(
            owner, lines=lines, vocabulary=wnids, wordnet=net, **choice.common()
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
        common = choice.common()
        common["instructions"] = choice.instructions or HOW_TO_JUDGE
        return opening.draft(owner, kind=choice.kind, pairs=pairs, **common)

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
        pairs = opening.naming_pairs(choice.dataset, _names(choice.images))
        return opening.draft(
            owner, kind=choice.kind, pairs=pairs, vocabulary=classes, **choice.common()
        )

    def _hierarchy(self, owner: User, choice: Choice) -> Campaign:
        if choice.graph is None:
            raise UsageError("a campaign of the kind hierarchy needs --graph")
        graph, names = _graph(choice.graph), _names(choice.images)
        settings = {"mode": choice.mode, "order": choice.order}
        chosen = {key: value for key, value in settings.items() if value}
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
            questions=campaign.questions.asked().count(),
            differences=list(settling.rebuild(campaign)),
        )

    def pilot(self, name: str, per_topic: int, seed: int, **_: Any) -> dict[str, object]:
        campaign = _campaign(name)
        with _refusals():
            plan = piloting.plan(campaign, per_topic, seed)
            asked = piloting.ask_pilot(campaign, None, per_topic, seed)
        found = piloting.state(campaign)
        return {
            "campaign": name,
            "seed": seed,
            "questions": asked,
            **{key: getattr(plan, key) for key in ("answers", "hours", "cost", "currency")},
            "pilot": {key: getattr(found, key) for key in ("asked", "decided", "topics", "tables")},
        }

    def calibrate(self, name: str, **_: Any) -> dict[str, object]:
        campaign = _campaign(name)
        made = calibrating.calibrate(campaign, reason="asked for by a command")
        return {
            "campaign": name,
            "calibration": made.number,
            "changed": made.pk != campaign.calibration_id,
            "annotators": len(made.content["annotators"]),
            "tables": len(made.content.get("tables", {})),
        }

    def show_rebuilt(self, result: Rebuilt) -> str:
        if not result.differences:
            asked = count_of(result.questions, "question")
            return f"{asked}: settlements follow from their answers"
        rows = [
            (row.question, *(value and value.state for value in (row.stands, row.rebuilt)))
            for row in result.differences
        ]
        return table(rows, head=("question", "stands", "rebuilt"))

    def _status(self, campaign: Campaign) -> dict[str, object]:
        campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
        return {
            "name": campaign.name,
            "kind": campaign.kind,
            "state": campaign.state,
            **progress.progress(campaign).to_json(),
        }

    def show(self, result: dict[str, object]) -> str:
        rows: list[tuple[str, object]] = []
        nested: list[tuple[str, object]] = []
        for key, value in result.items():
            if isinstance(value, dict):
                nested += value.items()
            else:
                rows.append((key, value))
        return table(rows + nested)


@contextlib.contextmanager
def _refusals(**files: Path | None) -> Iterator[None]:
    """A Refusal as the one line that commands print, with the file whose part it names: policy,
    selection, images."""
    try:
        yield
    except Refusal as refusal:
        part = "policy" if refusal.field in policies.DEFAULTS else refusal.field or ""
        raise BadInput(refusal.message, file=files.get(part)) from refusal


def _graph(name: str) -> Graph:
    """The graph of that file, or ILSVRC's. Raises BadInput naming the file and every fault."""
    if name == "ilsvrc":
        return store.load_ilsvrc()
    try:
        return replaying.build(replaying.read(name))
    except replaying.GraphError as error:
        raise BadInput(error.message, file=name, line=error.line) from error


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


def _owner(username: str, dataset: Dataset) -> User:
    if not username:
        return dataset.owner
    user = User.objects.filter(username=username).first()
    if user is None:
        raise BadInput(f"there is no user {username!r}", cure="check --owner")
    return user


def _wnids(path: str, net: WordNet) -> list[str]:
    from evaluation.readers.pools import read_classes

    return read_classes(Path(path), net)
