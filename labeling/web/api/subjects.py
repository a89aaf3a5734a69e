"""Tags of the OpenAPI schema, one for each address, and examples of bodies."""

from collections.abc import Mapping

# Subject → its description and its addresses. An address is given by its first word, or by the
# first word below a campaign, dataset or benchmark, such as campaigns/gold.
SUBJECTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Account": ("You, your tokens, and invitations to you.", ("", "me", "tokens", "invitations")),
    "Uploads": ("Large files, sent in parts.", ("uploads",)),
    "Datasets": (
        "Photographs and their imports.",
        ("datasets", "datasets/images", "datasets/imports", "datasets/jobs"),
    ),
    "Labels and objects": (
        "Known labels, objects with parts, and the vocabulary of parts.",
        ("datasets/labels", "datasets/objects", "datasets/part-imports", "datasets/vocabulary"),
    ),
    "Models and pools": (
        "Registered models, predictions on a dataset, and selections from them.",
        ("models", "datasets/pools", "benchmarks/model-runs"),
    ),
    "Campaigns": (
        "Campaigns with their rules and progress.",
        (
            "campaigns",
            "campaigns/policies",
            "campaigns/decisions",
            "campaigns/texts",
            "campaigns/graph",
            "campaigns/jobs",
            "campaigns/classes",
        ),
    ),
    "Questions": (
        "Classes, questions, known answers, reviews and flags of a campaign.",
        (
            "campaigns/topics",
            "campaigns/questions",
            "campaigns/objects",
            "campaigns/gold",
            "campaigns/flags",
        ),
    ),
    "Labeling": ("Seats and answers.", ("seats", "campaigns/seats", "campaigns/answers")),
    "People": (
        "Members of a campaign and their work.",
        ("campaigns/members", "campaigns/invitations", "campaigns/standings", "campaigns/blocks"),
    ),
    "Quality": (
        "Agreement, audits, pilots and calibrations.",
        (
            "campaigns/quality",
            "campaigns/audits",
            "campaigns/pilots",
            "campaigns/calibrations",
            "campaigns/proposal-figures",
        ),
    ),
    "Releases": ("Frozen labels, their files and splits.", ("campaigns/releases",)),
    "Benchmarks": (
        "Benchmarks of every kind, their submissions, runs and versions of the truth.",
        ("benchmarks", "benchmark-kinds"),
    ),
    "MAD": (
        "Selections, true labels and failures of a MAD competition.",
        tuple(
            f"benchmarks/{name}"
            for name in (
                "accuracies",
                "case-iii",
                "classes",
                "classifiers",
                "failure-tags",
                "selection.jsonl",
                "selections",
                "true-labels",
            )
        ),
    ),
}
_SUBJECT_OF = {word: name for name, (_, words) in SUBJECTS.items() for word in words}
_NESTED = ("campaigns", "datasets", "benchmarks")
TAGS = [{"name": name, "description": words} for name, (words, _) in SUBJECTS.items()]
# Operation → an example of its body, in the order of a first campaign.
EXAMPLES: Mapping[str, object] = {
    "POST datasets/": {"name": "pond", "description": "Photographs of a pond"},
    "POST campaigns/": {
        "name": "coots",
        "title": "Coots",
        "kind": "contains",
        "dataset": "pond",
        "policy": {"votes": 5},
    },
    "POST campaigns/{campaign}/topics/": {
        "topics": [{"key": "n02018207", "name": "American coot"}]
    },
    "POST campaigns/{campaign}/questions/": {
        "questions": [{"image": "a/1.jpg", "topic": "n02018207"}]
    },
    "POST campaigns/{campaign}/invitations/": {"role": "annotator", "max_uses": 5},
    "POST campaigns/{campaign}/seats/": {"size": 20},
    "POST campaigns/{campaign}/answers/": {
        "answers": [
            {
                "id": "0193a7c4-5f2e-7c1a-9f57-3c2b1a0d9e8f",
                "seat": "a6bb76827e62da0447cf7b9b2bc3c2a4",
                "value": "yes",
                "duration_ms": 1400,
            }
        ]
    },
    "POST benchmark-kinds/labeled/benchmarks/": {
        "kind": "wsol",
        "campaign": "cats",
        "name": "maps",
        "title": "Where cats are",
    },
}
ROOT = "/api/v1/"


def subject_of(path: str) -> str:
    """Return the tag of an address such as /api/v1/campaigns/{name}/launch/."""
    words = [word for word in path.removeprefix(ROOT).split("/") if not word.startswith("{")]
    nested = "/".join(words[:2])
    if words[0] in _NESTED and nested in _SUBJECT_OF:
        return _SUBJECT_OF[nested]
    # Only the old addresses that create benchmarks are not in SUBJECTS.
    return _SUBJECT_OF.get(words[0], "Benchmarks")


def example_of(method: str, path: str) -> object | None:
    """Return an example of the operation's body; None without one."""
    return EXAMPLES.get(f"{method} {path.removeprefix(ROOT)}")
