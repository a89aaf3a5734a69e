from django.contrib import admin

from evaluation.models import Benchmark, MistakeReview, ReleaseSplit, Run, Selection, Submission
from labeling.admin import ReadOnlyAdmin


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnlyAdmin):
    list_display = ("name", "title", "kind", "campaign", "release", "created_by", "created_at")
    list_filter = ("kind",)
    list_select_related = ("campaign", "release__campaign", "created_by")
    search_fields = ("name", "title")


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ("name", "benchmark", "position", "accuracy", "sha256", "is_people")
    list_filter = ("benchmark",)


@admin.register(MistakeReview)
class MistakeReviewAdmin(ReadOnlyAdmin):
    list_display = ("benchmark", "campaign", "version", "created_by", "created_at", "applied_at")
    list_select_related = ("benchmark", "campaign", "created_by")


@admin.register(Selection)
class SelectionAdmin(ReadOnlyAdmin):
    list_display = ("benchmark", "first", "second", "rank", "image", "state")
    list_filter = ("benchmark", "state")
    list_select_related = ("benchmark", "first", "second")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("pk", "benchmark", "state", "release", "created_at", "finished_at")
    list_filter = ("state", "benchmark")


@admin.register(ReleaseSplit)
class ReleaseSplitAdmin(ReadOnlyAdmin):
    list_display = ("pk", "release", "method", "seed", "extends", "sealed_by", "created_at")
    list_select_related = ("release__campaign", "extends__release__campaign", "sealed_by")
