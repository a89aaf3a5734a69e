"""The demo that `make demo` loads: photographs, simulated classifiers and five annotators.

It has an answered MAD competition (competition.py), a campaign with a question graph (graph.py),
one of part drawings (parts.py), one of bounding boxes (instances.py), and benchmarks on drawn
objects (cds.py, labeled.py). Everything goes through the same functions as pages and commands, and
may be run again safely.
"""

import json
import os
import secrets
import string
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from annotator.checks import has_insecure_key
from annotator.demo import cds, competition, graph, instances, labeled, networks, parts, pools
from annotator.demo.joining import join
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark
from labeling.campaigns import lifecycle, texts
from labeling.files import BadInput, atomic_write
from labeling.models import Campaign, Dataset, User
from labeling.quality.gold import add_gold

SOURCE = Path(__file__).resolve().parent
NAME = "demo"
CLASSIFIERS = ("aurora", "borealis", "cirrus", "drizzle")
TOP_K, RESERVE = 4, 3
RESEARCHER = "alice"
ANNOTATORS = ("bob", "carol", "dave", "erin", "frank")
ACCOUNTS = {
    "admin": "administrator",
    RESEARCHER: "researcher, runs the competition",
    **dict.fromkeys(ANNOTATORS, "annotator"),
}
INSTRUCTIONS = "\n\n".join(
    [
        "You see a photograph and the name of a thing. Does the photograph contain it?",
        "Yes, if you see it anywhere in the picture, whole or in part. No, if it is not there; a "
        "picture or a toy of the thing is not the thing.",
        "The definition counts, not the name alone: many names have a narrower meaning here than "
        "in the street.",
    ]
)
EXAMPLE = ("n04326547", "gravel.png", "no", "Loose stones are not a wall.")


def load() -> Benchmark:
    """Create everything in the demo on the first call; return the competition open for answers.

    Needs the site's own SECRET_KEY or DEBUG, because it creates accounts that may log in.
    """
    if has_insecure_key() and not settings.DEBUG:
        raise BadInput("SECRET_KEY is not set", cure="use make demo, or set SECRET_KEY or DEBUG=1")
    users = make_users()
    benchmark = Benchmark.objects.filter(name=NAME).first()
    if benchmark is None or not competition.is_loaded():
        dataset = make_dataset(users[RESEARCHER])
        predictions = write_predictions(settings.DATA_DIR / "demo" / "predictions")
        selection = pools.select(predictions, classifiers=CLASSIFIERS, top_k=TOP_K, reserve=RESERVE)
        competition.load(users, users[RESEARCHER], dataset, selection, INSTRUCTIONS)
        benchmark = benchmark or make_competition(users, dataset, selection)
    members = {name: users[name] for name in ANNOTATORS}
    for piece in (graph, parts, cds, labeled, instances):
        piece.load(members, users[RESEARCHER], benchmark.campaign.dataset)
    networks.load(members, users[RESEARCHER], INSTRUCTIONS)
    give_words(users[RESEARCHER])
    return benchmark


def give_words(researcher: User) -> None:
    """Add German and Chinese texts (texts.json) to campaigns that have none yet."""
    words = json.loads((SOURCE / "texts.json").read_text(encoding="utf-8"))
    for campaign in Campaign.objects.filter(name__in=words, languages=[]):
        texts.replace(campaign, researcher, words[campaign.name])


def accounts_file() -> Path:
    return Path(settings.DATA_DIR) / "demo-accounts.txt"


def make_users() -> dict[str, User]:
    """Return the demo's users by name. Existing passwords are kept."""
    known = _passwords()
    passwords = {name: known.get(name) or _password() for name in ACCOUNTS}
    # Save passwords before creating users: a crash in between must not leave accounts nobody can
    # use.
    if passwords != known:
        _write_passwords(passwords)
    users = {}
    for name in ACCOUNTS:
        user, created = User.objects.get_or_create(
            username=name,
            defaults={
                "is_staff": name == "admin",
                "is_superuser": name == "admin",
                "is_researcher": name in ("admin", RESEARCHER),
            },
        )
        if created or name not in known:
            user.set_password(passwords[name])
            user.save(update_fields=["password"])
        users[name] = user
    return users


def _password() -> str:
    """Return 60 random bits as three groups that are easy to read aloud and type."""
    letters = "".join(set(string.ascii_lowercase + string.digits) - set("lo01"))
    return "-".join("".join(secrets.choice(sorted(letters)) for _ in range(4)) for _ in range(3))


def _passwords() -> dict[str, str]:
    if not accounts_file().exists():
        return {}
    rows = (line.split() for line in accounts_file().read_text().splitlines())
    return {row[0]: row[1] for row in rows if len(row) > 2 and row[0] in ACCOUNTS}


def _write_passwords(passwords: dict[str, str]) -> None:
    lines = ["Who may log in, with which password:"]
    lines += [f"  {name:6} {passwords[name]}  {role}" for name, role in ACCOUNTS.items()]
    accounts_file().parent.mkdir(parents=True, exist_ok=True)
    old = os.umask(0o077)
    try:
        with atomic_write(accounts_file()) as file:
            file.write("\n".join(lines) + "\n")
    finally:
        os.umask(old)


def make_dataset(owner: User, name: str = NAME) -> Dataset:
    """Return the photographs that come with scikit-image and scikit-learn."""
    rows = (
        (row["image"], row, pools.photograph(row["package"], row["image"]).read_bytes())
        for row in graph.read_rows("images.csv")
    )
    description = "Photographs that come with scikit-image and scikit-learn."
    return pools.make_dataset(owner, name, description, rows)


def write_predictions(folder: Path) -> Path:
    """Write predictions.csv, the format that `mad select` reads."""
    rows = graph.read_rows("predictions.csv")
    names = sorted({row["image"] for row in rows}, key=str.encode)
    classes = sorted({row["wnid"] for row in rows})
    by_classifier: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in rows:
        by_classifier[row["classifier"]][row["image"]] = row
    arrays = {
        classifier: (
            np.array([classes.index(rows_by_image[name]["wnid"]) for name in names], np.int16),
            np.array([float(rows_by_image[name]["confidence"]) for name in names], np.float32),
        )
        for classifier, rows_by_image in by_classifier.items()
    }
    return pools.write(folder, names, classes, arrays)


@transaction.atomic
def make_competition(
    users: dict[str, User], dataset: Dataset, selection: list[dict[str, Any]]
) -> Benchmark:
    """Create the competition with members and gold, open for answers, in one transaction."""
    researcher = users[RESEARCHER]
    benchmark = competitions.create(
        researcher,
        name=NAME,
        title="MAD demo: 4 simulated classifiers",
        dataset=dataset,
        lines=selection,
        # Ask all five annotators, so that each has work; three votes would be enough.
        policy={"votes": 5, "stop_early": "never"},
        instructions=INSTRUCTIONS,
        vocabulary=None,
        wordnet=nouns.load(),
    )
    campaign = benchmark.campaign
    topic, image, answer, caption = EXAMPLE
    lifecycle.add_example(campaign, topic, dataset.images.get(name=image), answer, caption)
    add_gold(campaign, researcher, graph.read_rows("gold.csv"))
    lifecycle.launch(campaign, researcher)
    join(campaign, researcher, [users[name] for name in ANNOTATORS])
    return benchmark
