"""What the API takes of CDS benchmarks."""

from rest_framework import serializers

from evaluation.benchmarks.kinds.cds.choosing import MAX_BOOTSTRAP, Choice
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.wordnet.similarity import BY, CONVENTIONS
from evaluation.scoring.cds.scoring import MEASURES
from labeling.web.api.base import Body

DEFAULTS = Choice()


class PredictionsUpload(Body):
    predictions = serializers.FileField(
        help_text="CSV with the columns frame, classifier and wnid; others are passed over."
    )


class CDSRequest(Body):
    campaign = serializers.CharField(max_length=80, help_text="One in which people draw parts.")
    release = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text="By default the latest one; without any, one is frozen.",
    )
    part_schemes = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=50,
        help_text="`random`, or names of orders in `orders`; by default all of them.",
    )
    orders = serializers.FileField(
        required=False, help_text="orders.json, as `manage.py sequences` writes it."
    )
    content_schemes = serializers.ListField(
        child=serializers.ChoiceField(choices=CONTENT_SCHEMES),
        required=False,
        max_length=len(CONTENT_SCHEMES),
        help_text="By default all of them.",
    )
    include_empty = serializers.BooleanField(default=DEFAULTS.include_empty)
    mapping = serializers.FileField(
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


class NewCDSBenchmarkSerializer(CDSRequest):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)


class CDSPlanSerializer(serializers.Serializer):
    release = serializers.IntegerField()
    objects = serializers.IntegerField()
    sequences = serializers.IntegerField()
    frames = serializers.IntegerField(help_text="Different ones.")
    left_out = serializers.IntegerField(help_text="Objects without a drawn part.")
    categories = serializers.DictField(child=serializers.CharField())
