"""A body that each action of the API takes: for tests that change one value of it at a time."""

from typing import Any

from tests.labeling.vocabulary.test_types import SMALL
from tests.world import COOT, DRAKE, GRAPH, World

CAMPAIGN = "api/v1/campaigns/<slug:campaign>/"
KINDS = "api/v1/benchmark-kinds/"
SELECTIONS = "api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/"
SELECTION = {
    "classifiers": ["colours", "shapes"],
    "top_k": 5,
    "min_confidence": 0.6,
    "max_per_label": 2,
    "reserve": 3,
    "unique_pairs": False,
    "distance": "zero-one",
}
# Addresses from before there were kinds.
EARLIER = {
    "POST api/v1/cds-benchmarks/": f"POST {KINDS}cds/benchmarks/",
    "POST api/v1/cds-benchmark-plans/": f"POST {KINDS}cds/plans/",
    "POST api/v1/released-benchmarks/": f"POST {KINDS}labeled/benchmarks/",
    "POST api/v1/released-benchmark-plans/": f"POST {KINDS}labeled/plans/",
}
# They take files.
OF_FILES = {
    "POST api/v1/benchmarks/",
    "POST api/v1/benchmark-plans/",
    f"POST {KINDS}mad/benchmarks/",
    f"POST {KINDS}mad/plans/",
    "POST api/v1/benchmarks/<slug:benchmark>/classifiers/",
    "POST api/v1/benchmarks/<slug:benchmark>/predictions/",
    "POST api/v1/benchmarks/<slug:benchmark>/submissions/",
    "PUT api/v1/benchmarks/<slug:benchmark>/submissions/<str:classifier>/",
    "POST api/v1/datasets/<slug:dataset>/images/",
    "POST api/v1/datasets/<slug:dataset>/labels/",
    "POST api/v1/datasets/<slug:dataset>/part-imports/",
    "POST api/v1/datasets/<slug:dataset>/pools/upload/",
    "POST api/v1/models/",
    "POST api/v1/uploads/",
    "PATCH api/v1/uploads/<slug:sha256>/",
    f"POST {CAMPAIGN}releases/<int:number>/report/",
}
# Their body is empty.
BARE = {
    "POST api/v1/benchmarks/<slug:benchmark>/runs/",
    f"POST {CAMPAIGN}calibrations/",
    f"POST {CAMPAIGN}classes/",
    f"POST {CAMPAIGN}jobs/<int:pk>/retry/",
    f"POST {CAMPAIGN}releases/",
    *(
        f"POST api/v1/campaigns/<slug:name>/{way}/"
        for way in ("close", "launch", "pause", "resume")
    ),
    f"POST {CAMPAIGN}invitations/<int:pk>/delete/",
    *(
        f"POST api/v1/{rows}/<slug:name>/{way}/"
        for rows in ("campaigns", "datasets", "benchmarks")
        for way in ("archive", "unarchive")
    ),
    "POST api/v1/datasets/<slug:dataset>/imports/<int:pk>/retry/",
    "POST api/v1/datasets/<slug:dataset>/part-imports/<int:pk>/again/",
    "POST api/v1/seats/<slug:token>/skip/",
}
# What the small world is not ready for: the status, once the body was read.
NOT_NOW = {
    # A competition has no versions of its truth.
    "PATCH api/v1/benchmarks/<slug:name>/": 400,
    "POST api/v1/benchmarks/<slug:benchmark>/true-labels/": 400,
    # Nobody called the classifier wrong.
    "PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/": 400,
    f"POST {CAMPAIGN}members/<int:pk>/pardon/": 409,
    f"POST {CAMPAIGN}objects/": 400,
    # A release carries the name; and the typed name is not the image's.
    "POST api/v1/campaigns/<slug:name>/rename/": 409,
    "POST api/v1/datasets/<slug:dataset>/images/<int:pk>/remove-pixels/": 400,
    f"POST {CAMPAIGN}questions/<int:pk>/accept/": 409,
    f"POST {CAMPAIGN}questions/<int:pk>/send-back/": 400,
}
# Fields that are not in these bodies: of files, of other kinds, or told and not sent.
LEFT_OUT = {
    "address",
    "distances",
    "boxes",
    "orders",
    "query",
    "mapping",
    "object",
    "part",
    "extend",
    "confidence",
    "seed",
    "inclusive",
    "strict",
    "done",
    "queue",
}
# Asked by an annotator.
OF_BOB = {
    f"POST {CAMPAIGN}seats/",
    f"POST {CAMPAIGN}answers/",
    "POST api/v1/seats/<slug:token>/flag/",
}


def bodies(world: World) -> dict[str, dict[str, Any]]:
    """ "METHOD address" → a body with every field of the action."""
    parts, row = world.parts, {"image": "coots/000.png", "topic": COOT}
    body = {"name": "novel", "title": "New"}
    follows = {"pinned": False, "every": "week", "min_images": 7}
    cds = {
        "campaign": "cats",
        "release": 1,
        "part_schemes": ["random"],
        "content_schemes": ["low"],
        "include_empty": False,
        "measure": "wup",
        "convention": "clean",
        "by": "wnid",
        "bootstrap": 10,
        "seed": 0,
    }
    labeled = {"campaign": "cats", "release": 1, "kind": "wsol"}
    pilot = {"per_topic": 1, "seed": 0}
    policy = {"content": {"votes": 3, "method": "majority"}, "confirmed": True}
    topic = {
        "name": "coot",
        "synonyms": ["mud hen"],
        "definition": "a bird",
        "url": "https://en.wikipedia.org/wiki/Coot",
        "siblings": [{"name": "drake", "definition": "a male duck"}],
    }
    return {
        "POST api/v1/campaigns/<slug:name>/rename/": body,
        "POST api/v1/campaigns/<slug:name>/clone/": body,
        "POST api/v1/benchmarks/<slug:name>/rename/": body,
        "POST api/v1/datasets/<slug:dataset>/images/<int:pk>/remove-pixels/": {
            "typed": "another image"
        },
        "POST api/v1/datasets/<slug:name>/rename/": {"name": "novel"},
        f"POST {KINDS}cds/benchmarks/": body | cds | follows,
        f"POST {KINDS}cds/plans/": cds,
        f"POST {KINDS}labeled/benchmarks/": body
        | labeled
        | {"split": "test", "protocol": "reference", "normalize": "min-max"}
        | {"size": 64, "thresholds": 10}
        | follows,
        f"POST {KINDS}labeled/plans/": labeled,
        "PATCH api/v1/benchmarks/<slug:name>/": follows,
        "POST api/v1/benchmarks/<slug:benchmark>/reviews/": body
        | {"models": ["alpha"], "agreements": 0.5, "seed": 1, "policy": {"votes": 3}},
        "POST api/v1/benchmarks/<slug:benchmark>/label-sets/": {"campaign": "looks", "release": 1},
        "PUT api/v1/benchmarks/<slug:benchmark>/accuracies/": {"accuracies": {"alpha": 0.5}},
        "POST api/v1/benchmarks/<slug:benchmark>/true-labels/": {"selections": [1]},
        "PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/vocabulary/": {"vocabulary": ["a"]},
        "PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/": {
            "image": "coots/000.png",
            "classifier": "alpha",
            "tags": ["low quality"],
        },
        "POST api/v1/campaigns/": body
        | {"kind": "contains", "dataset": world.dataset.name, "instructions": "Look."}
        | {"settings": {}, "policy": {"votes": 3}},
        f"POST {CAMPAIGN}answers/": {
            "answers": [
                {
                    "id": "01890a5d-ac96-774b-bcce-b302099a8057",
                    "seat": parts["seat"],
                    "value": "yes",
                    "duration_ms": 900,
                    "input_method": "key",
                    "language": "de",
                    "looks": None,
                    "along": None,
                }
            ]
        },
        f"POST {CAMPAIGN}audits/": {"n": 1, "seed": 0},
        f"POST {CAMPAIGN}blocks/": {"reason": "Too fast.", "member": parts["member"]},
        f"POST {CAMPAIGN}classes/<str:key>/resume/": {"reason": "It pays."},
        f"POST {CAMPAIGN}classes/<str:key>/stop/": {"reason": "Enough."},
        f"POST {CAMPAIGN}flags/<uuid:pk>/reply/": {"reply": "Skip it."},
        "POST api/v1/seats/<slug:token>/flag/": {
            "id": "01890a5d-ac96-774b-bcce-b302099a8058",
            "note": "Blurred.",
        },
        f"POST {CAMPAIGN}gold/": {
            "gold": [
                {"image": "coots/006.png", "topic": DRAKE, "answer": "yes"}
                | {"explanation": "A bill.", "source": "me"}
            ],
            "replace": True,
        },
        f"POST {CAMPAIGN}gold/<int:pk>/retire/": {"reason": "Unclear."},
        f"POST {CAMPAIGN}gold/random/": {"n": 1, "seed": 0},
        f"POST {CAMPAIGN}gold/promote/": {"questions": [parts["question"]]},
        f"PUT {CAMPAIGN}texts/": {"texts": {"de": {"title": "Vögel"}}},
        f"PUT {CAMPAIGN}graph/": {"graph": GRAPH, "reason": "pilot", "version": 1},
        f"POST {CAMPAIGN}graph/images/": {"images": ["coots/000.png"]},
        f"POST {CAMPAIGN}invitations/": {
            "role": "annotator",
            "days": 7,
            "max_uses": 1,
            "note": "for Bob",
        },
        f"PATCH {CAMPAIGN}members/<int:pk>/": {"role": "reviewer"},
        f"POST {CAMPAIGN}members/<int:pk>/pardon/": {"reason": "A mistake."},
        f"POST {CAMPAIGN}members/<int:pk>/pause/": {"reason": "Too fast."},
        f"PUT {CAMPAIGN}members/<int:pk>/quotas/": {
            "quotas": [{"topic": COOT, "images": 5}],
            "reason": "agreed",
        },
        f"POST {CAMPAIGN}objects/": {"categories": ["n02121620"], "images": ["coots/000.png"]},
        f"POST {CAMPAIGN}pilots/": pilot,
        f"POST {CAMPAIGN}pilots/preview/": pilot,
        f"POST {CAMPAIGN}policies/": policy | {"apply": True},
        f"POST {CAMPAIGN}policies/preview/": policy,
        f"POST {CAMPAIGN}questions/": {"questions": [row]},
        f"POST {CAMPAIGN}questions/<int:pk>/accept/": {"seen": None, "reason": "Clear."},
        f"POST {CAMPAIGN}questions/<int:pk>/review/": {
            "seen": None,
            "reason": "Clear.",
            "value": "yes",
        },
        f"POST {CAMPAIGN}questions/<int:pk>/send-back/": {
            "seen": None,
            "note": "Again.",
            "answers": ["01890a5d-ac96-774b-bcce-b302099a8057"],
        },
        f"POST {CAMPAIGN}questions/ask-more/": {
            "questions": [parts["question"]],
            "people": 2,
            "reason": "Doubtful.",
        },
        f"POST {CAMPAIGN}questions/withdraw/": {
            "questions": [parts["question"]],
            "reason": "No photograph.",
        },
        f"POST {CAMPAIGN}seats/": {"size": 2, "known": [COOT]},
        f"POST {CAMPAIGN}topics/": {"topics": [{"key": DRAKE} | topic]},
        f"PATCH {CAMPAIGN}topics/<str:key>/": topic | {"guidance": "A white bill."},
        f"POST {CAMPAIGN}topics/<str:key>/examples/": {
            "image": "coots/001.png",
            "answer": "yes",
            "caption": "A white bill.",
        },
        f"POST {CAMPAIGN}releases/<int:number>/splits/": {
            "by": "1/1",
            "names": "dev,final",
            "seed": 1,
            "seal": False,
        },
        "PATCH api/v1/campaigns/<slug:name>/": {
            "title": "Coots",
            "instructions": "Look.",
            "settings": {},
            "nightly_audit": 20,
            "deadline": "2099-12-31T12:00:00Z",
        },
        "POST api/v1/datasets/": {"name": "sea", "description": "The sea."},
        "POST api/v1/datasets/<slug:dataset>/objects/<int:pk>/merge/": {
            "part": "leg",
            "instance": "left",
            "radius": 2.0,
            "method": "radius",
        },
        "POST api/v1/datasets/<slug:dataset>/pools/": {"models": ["colours"]},
        "POST api/v1/benchmarks/<slug:benchmark>/model-runs/": {
            "model": "colours",
            "pool": world.parts["pool"],
            "method": "",
        },
        f"POST {SELECTIONS}": SELECTION,
        f"POST {SELECTIONS}plan/": SELECTION,
        f"POST {SELECTIONS}<int:pk>/competition/": {
            "name": "lake-mad",
            "title": "Lake",
            "instructions": "",
            "policy": {},
            "vocabulary": [COOT],
        },
        "PUT api/v1/datasets/<slug:dataset>/vocabulary/": {"vocabulary": SMALL, "version": 1},
        "POST api/v1/invitations/accept/": {"secret": world.secret},
        "POST api/v1/tokens/": {"name": "laptop", "scope": "read", "days": 1},
    }
