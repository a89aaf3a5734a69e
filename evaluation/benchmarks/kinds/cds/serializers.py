"""API serializers of CDS benchmarks."""

from typing import Any

from rest_framework import serializers

from evaluation.benchmarks.kinds.cds.choosing import MAX_BOOTSTRAP, CdsChoice, parts_asked
from evaluation.benchmarks.serializers import FollowingRequest, OnReleaseRequest
from evaluation.benchmarks.serializers import create_arguments as release_arguments
from evaluation.benchmarks.uploads import load_wordnet, read_file
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import RANDOM
from evaluation.metrics.wordnet.similarity import BY, CONVENTIONS
from evaluation.readers.mappings import read_mapping
from evaluation.scoring.cds.scoring import MEASURES
from evaluation.sequences.part_orders import read_orders
from labeling.models import User
from labeling.web.api.base import SentFile

DEFAULTS = CdsChoice()


class CDSRequest(OnReleaseRequest):
    campaign = serializers.CharField(max_length=80, help_text="One in which people draw parts.")
    part_schemes = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=50,
        help_text="`random`, or names of orders in `orders`; by default all of them.",
    )
    orders = SentFile(required=False, help_text="orders.json, as `manage.py sequences` writes it.")
    content_schemes = serializers.ListField(
        child=serializers.ChoiceField(choices=CONTENT_SCHEMES),
        required=False,
        max_length=len(CONTENT_SCHEMES),
        help_text="By default all of them.",
    )
    include_empty = serializers.BooleanField(default=DEFAULTS.include_empty)
    mapping = SentFile(
        required=False,
        help_text="CSV with the columns category and wnid: which classes are right.",
    )
    measure = serializers.ChoiceField(choices=MEASURES, default=DEFAULTS.measure)
    convention = serializers.ChoiceField(choices=CONVENTIONS, default=DEFAULTS.convention)
    by = serializers.ChoiceField(choices=BY, default=DEFAULTS.by)
    bootstrap = serializers.IntegerField(
        min_value=0, max_value=MAX_BOOTSTRAP, default=DEFAULTS.bootstrap
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**32 - 1, default=DEFAULTS.seed)


class NewCDSBenchmarkSerializer(CDSRequest, FollowingRequest):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)


class CDSPlanSerializer(serializers.Serializer):
    release = serializers.IntegerField()
    objects = serializers.IntegerField()
    sequences = serializers.IntegerField()
    frames = serializers.IntegerField(help_text="Different ones.")
    left_out = serializers.IntegerField(help_text="Objects without a drawn part.")
    categories = serializers.DictField(child=serializers.CharField())


NEW, PLAN, PLANNED = NewCDSBenchmarkSerializer, CDSRequest, CDSPlanSerializer
NEW_WORDS = (
    "A benchmark that reveals the objects of a campaign's release part by part.\n\n"
    "The same again under the same name is the same benchmark."
)
PLAN_WORDS = "What a benchmark would reveal. A campaign without a release is refused: freeze it."


def create_arguments(user: User, body: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the kind's `plan` and `create` from a validated body."""
    body = release_arguments(user, body)
    if "content_schemes" in body:
        body["content_schemes"] = sorted(
            body["content_schemes"], key=CdsChoice().content_schemes.index
        )
    if "orders" in body:
        parts = parts_asked(body["campaign"])
        body["orders"] = read_file("orders", body["orders"], lambda path: read_orders(path, parts))
    if "mapping" in body:
        nouns = load_wordnet()
        read = read_file("mapping", body["mapping"], lambda path: read_mapping(path, nouns))
        body["mapping"] = read.classes
    body.setdefault("part_schemes", list(body.get("orders") or [RANDOM]))
    return body
