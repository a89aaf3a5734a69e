"""API of MAD competitions: accuracies, selections, true labels."""

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import runs
from evaluation.benchmarks.access import benchmark_for
from evaluation.benchmarks.kinds.mad import (
    class_gallery,
    competitions,
    failure_tags,
    gallery,
    true_labels,
)
from evaluation.benchmarks.kinds.mad.serializers import (
    AccuraciesSerializer,
    CaseThreeSerializer,
    ChangedSerializer,
    ClassGallerySerializer,
    FailureTagSerializer,
    NamingSerializer,
    NewTagsSerializer,
    PredictedClassSerializer,
    SelectionSerializer,
    TagCountSerializer,
    TagVocabularySerializer,
    TrueLabelsSerializer,
)
from evaluation.benchmarks.uploads import load_wordnet
from evaluation.metrics.wordnet.nouns import load_or_none
from evaluation.models import FailureTag, Selection, Submission
from labeling.errors import NotYours
from labeling.web.api.base import BaseViewSet, BoundedMultiPartParser, StrictJSONParser

MAD = "mad"


class CompetitionViewSet(BaseViewSet):
    queryset = Submission.objects.none()
    pagination_class = None
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]

    @extend_schema(request=AccuraciesSerializer, responses=ChangedSerializer)
    def accuracies(self, request: Request, benchmark: str) -> Response:
        """Set accuracies that were published elsewhere; the next run compares with them."""
        row = benchmark_for(self.user, benchmark, MAD)
        stated = self.read(AccuraciesSerializer)["accuracies"]
        changed = competitions.set_accuracies(row, stated)
        if changed and not runs.obstacle(row):
            runs.request(row, self.user)
        return self.answer(ChangedSerializer, {"changed": changed})

    @extend_schema(responses=CaseThreeSerializer(many=True))
    def case_three(self, request: Request, benchmark: str) -> Response:
        """Return the images on which both classifiers of a pair are wrong.

        The labels that are farthest from the true one come first, as on the page and in
        case-iii.csv.
        """
        row = benchmark_for(self.user, benchmark, MAD)
        head, lines = gallery.CASE_THREE.content(gallery.case_three(row))
        rows = [dict(zip(head, line, strict=True)) for line in lines]
        return Response(CaseThreeSerializer(rows, many=True).data)

    @extend_schema(responses=PredictedClassSerializer(many=True))
    def classes(self, request: Request, benchmark: str) -> Response:
        """Return the classes that are predicted for the chosen images, by name."""
        row = benchmark_for(self.user, benchmark, MAD)
        rows = [{"key": key, "name": name} for key, name in class_gallery.classes(row)]
        return Response(PredictedClassSerializer(rows, many=True).data)

    @extend_schema(responses=ClassGallerySerializer)
    def class_images(self, request: Request, benchmark: str, key: str) -> Response:
        """Return the chosen images of one class over all pairs, and reference images."""
        row = benchmark_for(self.user, benchmark, MAD)
        if key not in dict(class_gallery.classes(row)):
            raise NotYours("No classifier predicts this class for a chosen image.")
        images_of_class = class_gallery.of_class(row, key)
        images = [image for _, group in images_of_class.groups for image in group]
        body = {
            "images": images,
            "references": images_of_class.references,
            "reference_count": images_of_class.reference_count,
        }
        return self.answer(ClassGallerySerializer, body)


class FailureTagFilters(django_filters.FilterSet):
    classifier = django_filters.CharFilter("submission__name")

    class Meta:
        model = FailureTag
        fields = ("image", "tag", "classifier")


class FailureTagViewSet(BaseViewSet):
    queryset = FailureTag.objects.none()
    serializer_class = FailureTagSerializer
    filterset_class = FailureTagFilters

    def list(self, request: Request, benchmark: str) -> Response:
        """Return the failure tags of every researcher."""
        rows = benchmark_for(self.user, benchmark, MAD).failure_tags
        return self.paged(rows.select_related("submission", "tagged_by"), FailureTagSerializer)

    @extend_schema(request=NewTagsSerializer, responses=NewTagsSerializer)
    def set_tags(self, request: Request, benchmark: str) -> Response:
        """Replace your tags of one classifier on one image, which people called wrong there."""
        row = benchmark_for(self.user, benchmark, MAD)
        body = self.read(NewTagsSerializer)
        tags = {body["classifier"]: body["tags"]}
        failure_tags.set_tags(row, self.user, body["image"], tags)
        return self.answer(NewTagsSerializer, body)

    @extend_schema(responses=TagCountSerializer(many=True))
    def counts(self, request: Request, benchmark: str) -> Response:
        """Return how many of each classifier's tagged images have each tag, with intervals."""
        row = benchmark_for(self.user, benchmark, MAD)
        return Response(TagCountSerializer(failure_tags.counts(row), many=True).data)

    @extend_schema(request=TagVocabularySerializer, responses=TagVocabularySerializer)
    def vocabulary(self, request: Request, benchmark: str) -> Response:
        """Set the tags to choose from; one that is on an image cannot be left out."""
        row = benchmark_for(self.user, benchmark, MAD)
        tags = self.read(TagVocabularySerializer)["vocabulary"]
        chosen = failure_tags.set_vocabulary(row, tags)
        return self.answer(TagVocabularySerializer, {"vocabulary": chosen})


class SelectionFilters(django_filters.FilterSet):
    first = django_filters.CharFilter("first__name")
    second = django_filters.CharFilter("second__name")

    class Meta:
        model = Selection
        fields = ("state", "image", "first", "second")


class SelectionViewSet(BaseViewSet):
    queryset = Selection.objects.none()
    serializer_class = SelectionSerializer
    filterset_class = SelectionFilters

    def list(self, request: Request, benchmark: str) -> Response:
        """Return the images of every pair with their ranks, including reserves and dropped ones."""
        rows = benchmark_for(self.user, benchmark, MAD).selections.select_related("first", "second")
        return self.paged(rows, SelectionSerializer)

    @extend_schema(request=TrueLabelsSerializer, responses={201: NamingSerializer})
    def true_labels(self, request: Request, benchmark: str) -> Response:
        """Ask people for the true label of images where both classifiers were wrong."""
        row = benchmark_for(self.user, benchmark, MAD)
        keys = set(self.read(TrueLabelsSerializer)["selections"])
        chosen = list(row.selections.filter(pk__in=keys).select_related("first", "second"))
        if len(chosen) < len(keys):
            raise NotYours("Some of these selections are not in this benchmark.")
        needed = competitions.meta_of(row).needs_wordnet
        net = load_wordnet() if needed else load_or_none()
        campaign = true_labels.ask_true_label(row, self.user, chosen, net)
        return self.answer(NamingSerializer, campaign, 201)
