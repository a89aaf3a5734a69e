"""Every verb prints the JSON, and writes the files, that it did; releases have the same hashes."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from labeling.consensus import calibrating
from labeling.kinds import policies
from labeling.models import Campaign, Dataset, Image, Job, Policy, User
from labeling.quality import piloting
from labeling.release_files import frozen
from labeling.releases import freezing
from tests import factories
from tests.contract.conftest import KEPT
from tests.evaluation import box_world, crowd
from tests.evaluation.benchmarks.kinds.labeled import world as labeled_world
from tests.evaluation.cds import predicted, scenes
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.scoremaps import detectors
from tests.evaluation.pool import make_pool
from tests.evaluation.wsol_folders import Folder
from tests.labeling import hierarchies, part_releases, samples

COOT, DRAKE, DOG, CAT = "n02018207", "n01847000", "n02084071", "n02121620"
# Values that differ from one run, or version, to the next.
BLANK = {"seconds", "images_per_second", "run", "id", "sha256", "code_version", "versions"}
Arguments = tuple[object, ...]


def plain(value: Any, folder: Path) -> Any:
    """JSON without folders, times and ids, and without digits that processors differ in."""
    if isinstance(value, dict):
        return {
            key: "…" if key in BLANK and inner is not None else plain(inner, folder)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [plain(inner, folder) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, str):
        value = re.sub(r"\d+\.\d{10,}", lambda match: f"{float(match[0]):.9g}", value)
        # torch writes the same network to other bytes in another process.
        value = re.sub(r"sha256( +)[0-9a-f]{12}…", r"sha256\1DIGEST…", value)
        value = re.sub(r'"sha256": "[0-9a-f]{64}", "gives"', '"sha256": "…", "gives"', value)
        return value.replace(str(folder), "FOLDER")
    return value


def rows(path: Path, *lines: Iterable[object]) -> Path:
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    return path


def score_cds(folder: Path) -> Arguments:
    lines = [line for line in predicted.lines(1, 4) if line.content_scheme != "low"]
    return (
        *("score", "cds", "--bootstrap", 10),
        *("--sequences", predicted.write_sequences(folder / "sequences.jsonl", lines)),
        *("--predictions", predicted.write_predictions(folder / "predictions.csv", lines)),
        *("--mapping", predicted.write_mapping(folder / "mapping.csv")),
    )


def score_classification(folder: Path) -> Arguments:
    truth = [("image", "wnid"), ("a", DRAKE), ("b", COOT), ("c", DRAKE), ("d", DOG)]
    ranked = [("image", "rank", "wnid"), ("a", 1, DRAKE), ("b", 1, CAT), ("b", 2, COOT)]
    return (
        *("score", "classification", "--per-class", "--truth", rows(folder / "truth.csv", *truth)),
        *("--predictions", rows(folder / "one.csv", *ranked, ("c", 1, COOT))),
        *("--predictions", rows(folder / "two.csv", *ranked)),
    )


def mistakes(folder: Path, verb: str, *more: object) -> Arguments:
    truth = [("image", "wnid"), *((f"{at}.jpg", DRAKE) for at in range(12))]
    ranked = [("image", "rank", "wnid")]
    ranked += [(f"{at}.jpg", 1, DRAKE if at else COOT) for at in range(12)]
    arguments = ("--truth", rows(folder / "truth.csv", *truth))
    return ("mistakes", verb, *arguments, "--predictions", rows(folder / "one.csv", *ranked), *more)


def boxes(folder: Path, verb: str, *more: object) -> Arguments:
    box, far = (0, 0, 50, 50), (60, 60, 120, 120)
    truth = [("a", DRAKE, *box), ("a", DRAKE, *far), ("b", COOT, *box), ("c", DRAKE, *box)]
    predictions = [("a", DRAKE, 0.9, *box), ("a", DRAKE, 0.8, *box), ("b", DRAKE, 0.7, *box)]
    better = box_world.write(
        folder / "better.csv", box_world.FOUND_HEAD, [*predictions, ("c", DRAKE, 0.6, *box)]
    )
    arguments = box_world.Files(folder, verb, truth, predictions).arguments(
        "--predictions", f"more={better}"
    )
    return ("score", *arguments, "--per-class", *more)


def score_cues(folder: Path) -> Arguments:
    head = ("class", "cue", "region", "with_class", "without_class")
    duck = [("duck", "head", "foreground", 40, 0), ("duck", "water", "background", 75, 25)]
    return ("score", "wsol-cues", "--cues", rows(folder / "cues.csv", head, *duck))


def pool(folder: Path, *more: object) -> Arguments:
    return (
        *("mad", "select", "--predictions", make_pool(folder / "pool", images=60)),
        *("--top-k", 3, "--reserve", 1, "--device", "cpu", *more),
    )


def mad_merge(folder: Path, shell: Any) -> Arguments:
    parts = [folder / f"{number}.npz" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        assert shell(*pool(folder, "--shard", f"{number}/2", "--out", part))[0] == 0
    return ("mad", "merge", *parts, "--out", folder / "out.jsonl")


def mad_add(folder: Path, shell: Any) -> Arguments:
    old = folder / "old.jsonl"
    assert shell(*pool(folder, "--classifiers", "alpha,beta", "--out", old))[0] == 0
    return (
        *("mad", "add", "--predictions", folder / "pool", "--into", old),
        *("--classifier", "gamma", "--device", "cpu"),
        *("--out", folder / "out.jsonl"),
    )


def mad_rank(folder: Path) -> Arguments:
    lines = crowd.lines()
    (folder / "selection.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    questions = {(row["image"], wnid) for row in lines[1:] for wnid in row["labels"]}
    answers = [
        {"image": image, "wnid": wnid, "contains": (len(image) + int(wnid[-1])) % 3 > 0}
        for image, wnid in sorted(questions)
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    accuracy = [("classifier", "accuracy"), ("alpha", 0.9), ("beta", 0.7), ("gamma", 0.8)]
    return (
        *("mad", "rank", "--selection", folder / "selection.jsonl", "--bootstrap", 20),
        *("--answers", folder / "answers.jsonl", "--ablation"),
        *("--accuracy", rows(folder / "accuracy.csv", *accuracy)),
    )


def a_release(folder: Path) -> Arguments:
    """Its folder and its photographs'."""
    scenes.release(folder / "release", {"b.png": [scenes.cat("b.png"), scenes.cow("b.png")]})
    return (folder / "release", "--images", scenes.Photographs(["b.png"]).write(folder / "images"))


def sequences(folder: Path) -> Arguments:
    return ("sequences", *a_release(folder), "--part-scheme", "random", "--out", folder / "out")


def classify(folder: Path) -> Arguments:
    return (
        *("classify", *a_release(folder), "--content-scheme", "low", "--size", 8),
        *("--model", networks.scripted(folder / "colours.pt"), "--device", "cpu"),
        *("--classes", rows(folder / "classes.txt", *([wnid] for wnid in networks.CLASSES))),
        *("--out", folder / "out.csv"),
    )


def predict(folder: Path) -> Arguments:
    scenes.Photographs(["b.png", "a/1.png"]).write(folder / "images")
    (folder / "images" / "c.jpg").write_bytes(b"no photograph")
    return (
        *("predict", folder / "images", "--top", 2, "--size", 8),
        *("--model", networks.scripted(folder / "colours.pt"), "--device", "cpu"),
        *("--classes", rows(folder / "classes.txt", *([wnid] for wnid in networks.CLASSES))),
        *("--out", folder / "pool"),
    )


def scoremaps(folder: Path) -> Arguments:
    detectors.world(folder)
    return (
        *("scoremaps", "--method", "center-gaussian", "--metadata", folder / "metadata"),
        *("--map-size", 8, "--out", folder / "maps"),
    )


def wordnet_criteria(folder: Path) -> Arguments:
    (folder / "pool.txt").write_text("n02085620\nn02123045\nn02114367\nn02814533\nn01440764\n")
    mapping = [("category", "wnid"), (DOG, "n02085620"), (DOG, "n02114367"), (CAT, "n02123045")]
    return (
        *("wordnet", "criteria", "--pool", folder / "pool.txt"),
        *("--mapping", rows(folder / "mapping.csv", *mapping)),
    )


def labels(folder: Path) -> Path:
    (folder / "labels.txt").write_text(f"{DOG}\n{CAT}\n{COOT}\n{DRAKE}\n")
    return folder / "labels.txt"


def terms(folder: Path) -> Arguments:
    """Vectors of the labels' terms."""
    vectors = [("dog", 1, 0), ("domestic dog", 0.9, 0.2), ("cat", 0, 1), ("true cat", 0.1, 1)]
    vectors += [("coot", -1, 0), ("drake", -0.8, 0.1)]
    return ("--terms", rows(folder / "terms.csv", *vectors), "--labels", labels(folder))


def wordnet_nearest(folder: Path) -> Arguments:
    np.save(folder / "vectors.npy", np.array([[1, 0.1], [0.1, 1], [-1, 0]], np.float32))
    return (
        *("wordnet", "nearest", *terms(folder), "--vectors", folder / "vectors.npy", "-k", 2),
        *("--images", rows(folder / "images.txt", ["a"], ["b"], ["c"])),
        *("--out", folder / "out.csv"),
    )


def aggregate(folder: Path, method: str, *more: object) -> Arguments:
    votes_of = {"g1": "yyyn", "g2": "nnny", "g3": "yyy.", "g4": "nnyn", "a": "yyn.", "b": "nyyn"}
    many = {f"{name}{copy}": votes * 3 for name, votes in votes_of.items() for copy in range(5)}
    lines = [
        (f"p{person}", image, vote)
        for image, votes in many.items()
        for person, vote in enumerate(votes)
        if vote != "."
    ]
    known = [(image, votes[0]) for image, votes in many.items() if image.startswith("g")]
    return (
        *("aggregate", rows(folder / "answers.csv", ("annotator", "image", "answer"), *lines)),
        *("--method", method, *more, "--out", folder / "out.csv"),
        *("--truth", rows(folder / "truth.csv", ("image", "answer"), *known)),
        *(("--gold", folder / "truth.csv") if method != "majority" else ()),
    )


def merge(folder: Path) -> Arguments:
    for name, rise in (("upper", 2), ("lower", 14)):
        mask = np.zeros((30, 40), np.uint8)
        mask[rise : rise + 10, 5:12] = 1
        Pillow.fromarray(mask).save(folder / f"{name}.png")
    return ("merge", folder / "upper.png", folder / "lower.png", "--out", folder / "merged.png")


def simulate_queries(folder: Path) -> Arguments:
    (folder / "graph.json").write_text(json.dumps(hierarchies.GRAPH))
    return (
        *("simulate", "queries", "--graph", folder / "graph.json", "--images", 200),
        *("--present", 1.5, "--error", 0.05, "--order", "learned"),
    )


def simulate_campaign(folder: Path) -> Arguments:
    (folder / "policy.yaml").write_text("votes: 3\nmax_votes: 3\ncost_per_hour: 9\n")
    (folder / "crowd.yaml").write_text("questions: 60\npeople: 6\naudited: 20\n")
    return (*("simulate", "campaign", folder / "policy.yaml"), *("--crowd", folder / "crowd.yaml"))


VERBS: dict[str, Callable[..., Arguments]] = {
    "score-cds": score_cds,
    "score-classification": score_classification,
    "score-localization": lambda folder: boxes(folder, "localization"),
    "score-detection": lambda folder: boxes(folder, "detection", "--most-rounds", 20_000),
    "score-wsol": lambda folder: ("score", "wsol", *Folder(folder).named, "--curves"),
    "score-wsol-masks": lambda folder: ("score", "wsol", *Folder(folder).mask().named),
    "score-wsol-cues": score_cues,
    "mistakes-queue": lambda folder: mistakes(folder, "queue", "--out", folder / "queue.jsonl"),
    "mad-select": lambda folder: pool(folder, "--out", folder / "out.jsonl"),
    "mad-merge": mad_merge,
    "mad-add": mad_add,
    "mad-rank": mad_rank,
    "sequences": sequences,
    "classify": classify,
    "predict": predict,
    "scoremaps": scoremaps,
    "wordnet-distance": lambda _: ("wordnet", "distance", "dog.n.01", CAT),
    "wordnet-similarity": lambda _: ("wordnet", "similarity", DOG, CAT, "--measure", "lin"),
    "wordnet-criteria": wordnet_criteria,
    "wordnet-near": lambda folder: ("wordnet", "near", labels(folder), "--hops", 2),
    "wordnet-correct-sets": lambda folder: ("wordnet", "correct-sets", labels(folder)),
    "wordnet-nearest": wordnet_nearest,
    "wordnet-embed": lambda folder: (
        *("wordnet", "embed", *terms(folder), "--by", "mean", "--out", folder / "out.npz"),
    ),
    "aggregate-majority": lambda folder: aggregate(folder, "majority"),
    "aggregate-dawid-skene": lambda folder: aggregate(folder, "dawid-skene"),
    "aggregate-posterior": lambda folder: aggregate(folder, "posterior"),
    "aggregate-vote-table": lambda folder: aggregate(folder, "vote-table", "--yes", "y"),
    "merge": merge,
    "simulate-queries": simulate_queries,
    "simulate-campaign": simulate_campaign,
}


@pytest.fixture
def printed(shell, tmp_path) -> Callable[..., str]:
    """What a command that ends well prints with --json, on stdout and on stderr."""

    def run(*words: object) -> str:
        status, out, err = shell(*words, "--json")
        assert status == 0, err
        text = json.dumps(plain(json.loads(out), tmp_path), indent=1, ensure_ascii=False)
        return f"{text}\n{plain(err, tmp_path)}"

    return run


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_prints_and_writes_the_same(kept, verb, shell, printed, tmp_path):
    build = VERBS[verb]
    words = build(tmp_path, shell) if verb in ("mad-merge", "mad-add") else build(tmp_path)
    there = set(tmp_path.rglob("*"))

    text = printed(*words)

    for path in sorted(set(tmp_path.rglob("*")) - there):
        if path.suffix in (".csv", ".jsonl", ".json"):
            text += f"== {path.relative_to(tmp_path)}\n{plain(path.read_text(), tmp_path)}"
    kept(f"commands/{verb}.txt", f"{text}== as a table\n{plain(shell(*words)[1], tmp_path)}")


@pytest.mark.usefixtures("wordnet")
def test_a_review_of_mistakes_writes_the_same(kept, printed, tmp_path):
    queue = tmp_path / "queue.jsonl"
    printed(*mistakes(tmp_path, "queue", "--out", queue))
    pairs = [json.loads(line) for line in queue.read_text().splitlines()[1:]]
    answers = [(pair["image"], pair["wnid"], "valid", "text") for pair in pairs]
    head = ("image", "wnid", "answer", "tags")
    more = ("--queue", queue, "--answers", rows(tmp_path / "answers.csv", head, *answers))

    text = printed(*mistakes(tmp_path, "apply", *more, "--out", tmp_path / "v2"))

    text += f"== sets.csv\n{(tmp_path / 'v2' / 'sets.csv').read_text()}"
    kept("commands/mistakes-apply.txt", text)


@pytest.fixture
def people(db) -> tuple[User, User]:
    """Alice and Bob with fixed ids, of which releases make pseudonyms."""
    return (
        factories.make_user("alice", pk=900_001, is_researcher=True),
        factories.make_user("bob", pk=900_002),
    )


@pytest.fixture
def pond(people) -> Dataset:
    return factories.make_dataset(people[0])


def fixed_images() -> None:
    """Hashes of images by their names: libraries write the same PNG in different bytes."""
    for image in Image.objects.all():
        image.sha256 = hashlib.sha256(image.name.encode()).hexdigest()
        image.save(update_fields=["sha256"])


def test_the_site_from_the_shell(kept, printed, pond, people, wordnet, tmp_path, settings):
    """Images, campaigns, labels, benchmarks and jobs, verb after verb."""
    settings.SECRET_KEY = "fixed"
    alice, bob = people
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, seed in (("a.jpg", 1), ("copy.jpg", 1), ("b.jpg", 2)):
        (pictures / name).write_bytes(samples.noise(seed))
    (pictures / "notes.txt").write_text("no image")
    lines = crowd.lines()
    crowd.add_images(pond, lines)
    (tmp_path / "selection.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    (tmp_path / "graph.json").write_text(json.dumps(hierarchies.GRAPH))
    (tmp_path / "policy.yaml").write_text("votes: 1\nmax_votes: 3\ngold_share: 0\n")
    (tmp_path / "images.txt").write_text("shared.png\n")
    outputs = []

    def say(*words: object) -> None:
        line = " ".join(map(str, words)).replace(str(tmp_path), "FOLDER")
        outputs.append(f"== {line}\n{printed(*words)}")

    policy = ("--policy", tmp_path / "policy.yaml")
    only = ("--images", tmp_path / "images.txt")
    say("images", "add", "lake", pictures, "--create", "alice", "--licence", "CC0")
    say(
        *("campaign", "open", "contains", "--name", "birds", "--dataset", "pond", *policy),
        *("--selection", tmp_path / "selection.jsonl"),
    )
    say(
        *("campaign", "open", "hierarchy", "--name", "home", "--dataset", "pond", *policy),
        *("--graph", tmp_path / "graph.json", *only),
    )
    say(
        *("campaign", "open", "naming", "--name", "names", "--dataset", "pond", *policy),
        *("--vocabulary", labels(tmp_path), *only),
    )
    for verb in ("pause", "resume", "status"):
        say("campaign", verb, "names")
    birds = Campaign.objects.get(name="birds")
    factories.join(bob, birds)
    crowd.answer(birds, [bob], crowd.right_is(crowd.COOT))
    say("campaign", "status", "birds")
    calibrating.calibrate(birds, reason="asked for by a command")
    say("campaign", "rebuild", "birds")
    piloting.ask_pilot(birds, None, 2, 0)
    say("campaign", "close", "birds")
    fixed_images()
    say("campaign", "freeze", "birds", "--out", tmp_path / "frozen")
    say("nightly")
    say("labels", "export", "birds", "--format", "coco", "--out", tmp_path / "exported")
    say("labels", "import", "pond", tmp_path / "exported")
    part_releases.settled(alice, bob, factories.make_dataset(alice, "meadow"))
    say("benchmark", "open", "wsol", "--campaign", "cats", "--name", "maps", "--thresholds", 10)
    (tmp_path / "maps" / "cats").mkdir(parents=True)
    np.save(tmp_path / "maps" / "cats" / "1.png.npy", labeled_world.ramp())
    say("benchmark", "submit", "maps", "alpha", tmp_path / "maps")
    say("benchmark", "score", "maps")
    Job.objects.create(pk=900_001, kind="derivatives", key="a", state="failed", error="No disk.")
    # Its key is the campaign's id, which differs from one database to the next.
    Job.objects.filter(kind="advance").update(key="2")
    say("jobs", "list")
    say("jobs", "retry", 900_001)
    say("jobs", "sweep")

    kept("commands/site.txt", "".join(outputs))


def contains(alice: User, bob: User, pond: Dataset) -> Any:
    campaign = factories.make_campaign(alice, pond, images=3, policy={"votes": 1, "gold_share": 0})
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda image, _: "hard" if "002" in image else "yes")
    return campaign


def naming(alice: User, bob: User, pond: Dataset) -> Any:
    vocabulary = [{"key": COOT, "name": "coot"}, {"key": DRAKE, "name": "drake"}]
    campaign = factories.make_campaign(
        *(alice, pond, "names"),
        kind="naming",
        images=3,
        policy={"votes": 1, "gold_share": 0},
        settings={"vocabulary": vocabulary},
    )
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda *_: {"key": COOT})
    return campaign


def hierarchy(alice: User, bob: User, pond: Dataset) -> Any:
    campaign = hierarchies.make(alice, pond)
    hierarchies.settle(campaign, animal="yes", kitchen="no", electric="dropped")
    return campaign


def mistake(alice: User, bob: User, pond: Dataset) -> Any:
    options = {"images": 2, "policy": {"votes": 1, "gold_share": 0}}
    campaign = factories.make_campaign(alice, pond, kind="mistake", **options)
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda image, _: "minor" if "000" in image else "valid")
    return campaign


# A settled campaign of every kind.
SETTLED = {
    "contains": contains,
    "naming": naming,
    "hierarchy": hierarchy,
    "mistake": mistake,
    "parts": part_releases.settled,
}


@pytest.mark.parametrize("kind", SETTLED)
def test_a_release_has_the_same_hashes(kept, kind, pond, people, settings):
    settings.SECRET_KEY = "fixed"
    campaign = SETTLED[kind](*people, pond)
    fixed_images()

    release = freezing.freeze(campaign)

    folder = freezing.folder_of(release)
    meta = json.loads((folder / "release.json").read_text())
    assert release.sha256 == frozen.digest(meta)
    outside = {"sha256": "…", "created_at": "…", "code_version": "…"}
    kept(f"releases/{kind}.json", json.dumps(meta | outside, indent=1, sort_keys=True) + "\n")


STORED = json.loads((KEPT / "policies.json").read_text())


@pytest.mark.parametrize("version", STORED)
def test_a_policy_as_an_older_version_stored_it_is_read(kept, coots, version):
    """kept/policies.json has the defaults of older versions, and is never rewritten."""
    Policy.objects.filter(pk=coots.policy.pk).update(content=STORED[version])
    coots.refresh_from_db()

    policy = policies.for_campaign(coots)

    stored_policies = {
        "of": policy,
        "clean": policies.clean(STORED[version]),
        "first_votes": policies.first_votes(policy),
        "asks_all": policies.asks_all(policy),
    }
    kept(f"policies/{version}.json", json.dumps(stored_policies, indent=1) + "\n")
