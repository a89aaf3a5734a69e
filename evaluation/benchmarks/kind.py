"""Base class of the kinds of benchmark, and the registry of those in the settings.

A kind is a class in its own package, listed in ASSAY_BENCHMARK_KINDS: docs/how-to/develop.md,
"A new kind of benchmark". The framework uses kinds only through this class.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, ClassVar, Generic, TypeVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from evaluation.benchmarks import folders
from evaluation.benchmarks.model_work import ModelUse, ModelWork
from evaluation.benchmarks.tables import Table
from evaluation.figures import THEMES, ResultFigure, as_file
from evaluation.metrics.wordnet.nouns import WordNetMissing
from evaluation.models import Benchmark, Run, TruthVersion
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.jobs import kept_files
from labeling.models import Release, User
from labeling.records import Record
from labeling.releases import freezing
from labeling.reports.image_browser import PredictionFilter
from labeling.reports.image_page import ImageUse

# Key of the fingerprint, if the truth has a later version.
NEWEST_TRUTH = "newest_truth"
# A kind's result: its own Record, or a JSON object.
ResultT = TypeVar("ResultT", bound=Record | Mapping[str, object])
Query = Mapping[str, str]
# Members without a safe default: a kind that lacks one is refused when it is loaded.
REQUIRED = ("family", "names", "title", "create", "accept", "prepare", "score", "fingerprint")


@dataclass(frozen=True)
class Moving:
    """What changes on a benchmark's page between runs.

    mark: values that differ after a change. is_moving: whether the page polls. context: for the
    templates.
    """

    mark: tuple[object, ...] = ()
    is_moving: bool = False
    context: Mapping[str, object] = field(default_factory=dict)


class BenchmarkKind(Generic[ResultT]):
    """A kind of benchmark: an instance per value of Benchmark.kind; a class may serve several."""

    # family: in the address for new benchmarks. names: values of Benchmark.kind. title: for people.
    family: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    # On the page of all benchmarks: the button's key, and the purpose of such a benchmark.
    key: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    # The unit that its truth counts: image, object or, without versions, question.
    counted: ClassVar[str] = "image"
    # Its templates; missing ones fall back to the framework's (evaluation/{part}.html).
    templates: ClassVar[str] = "evaluation/{part}.html"
    styles: ClassVar[tuple[str, ...]] = ()
    # Modules with its own addresses on the site and in the API.
    urls: ClassVar[str] = ""
    api_urls: ClassVar[str] = ""
    # Dotted names: the forms of the site, the module of API serializers (see
    # serializers.py for the names in it).
    form: ClassVar[str] = "evaluation.benchmarks.forms.NewBenchmarkForm"
    submission_form: ClassVar[str] = "evaluation.benchmarks.forms.SubmissionForm"
    serializers: ClassVar[str] = "evaluation.benchmarks.serializers"
    # Whether the site shows a preview before it creates the benchmark.
    has_plan: ClassVar[bool] = False
    made: ClassVar[str] = "Benchmark created. Add submissions."
    # Shown while a run is being scored.
    scoring: ClassVar[str] = "Every submission is compared with the ground truth."
    # Whether a submitted file names its classifiers, whether a classifier can be removed, and
    # whether a submission is scored at once.
    names_in_file: ClassVar[bool] = False
    can_remove: ClassVar[bool] = False
    scores_at_once: ClassVar[bool] = True
    # Downloads of a benchmark and of a run, with descriptions.
    files: ClassVar[Mapping[str, str]] = {}
    run_files: ClassVar[Mapping[str, str]] = {}
    # Errors that fail a run with their message and end its job: a retry would fail the same way.
    refusals: ClassVar[tuple[type[Exception], ...]] = (BadInput, Refusal, WordNetMissing)
    # Raised for a run's file that is missing.
    gone: ClassVar[type[Refusal]] = Refusal
    # The tables of a result.
    tables: ClassVar[Sequence[Table]] = ()
    # The figures of a result, by their name in addresses.
    result_figures: ClassVar[Mapping[str, ResultFigure]] = {}
    # The class of a result, which reads JSON of any version; None if results are dicts.
    record: ClassVar[type[Record] | None] = None

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, **chosen: Any) -> object:
        """Return a preview of the benchmark that `create` would make, or None while the campaign
        has no release. Raises what `create` does.
        """
        return None

    def create(self, owner: User, **chosen: Any) -> Benchmark:
        """Create a benchmark; the same arguments again return the same benchmark.

        chosen: from `create_arguments` of the form or the serializers. Raises Refusal with the
        field, BadInput for damaged files.
        """
        raise NotImplementedError

    def accept(
        self, benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
    ) -> list[str]:
        """Return the names of the classifiers that were added or changed; all or nothing.

        file_name: the user's name for the file at `path`, for messages. name: of the classifier,
        unless names_in_file. Raises BadInput with the line, Refusal.
        """
        raise NotImplementedError

    def remove(self, benchmark: Benchmark, position: int) -> str:
        """Remove the classifier at this position and return its name."""
        raise Refusal("A classifier cannot be removed from this benchmark.")

    def max_bytes(self) -> int:
        """Return the largest size of an upload in bytes."""
        return kept_files.MAX_BYTES

    @property
    def baseline(self) -> Path | None:
        """Return the folder that is submitted as the baseline; None if the kind has none."""
        return None

    @property
    def takes_releases(self) -> bool:
        """Return whether a release of a naming campaign may be a submission."""
        return False

    @property
    def model_use(self) -> ModelUse | None:
        """Return how registered models become submissions; None if they cannot."""
        return None

    def model_work(
        self, benchmark: Benchmark, folder: Path, method: str, classes: Sequence[str]
    ) -> ModelWork:
        """Write the input files of the command into the folder, and return the command.

        method: one of model_use.methods, or "". classes: of the model. Raises Refusal.
        """
        raise NotImplementedError

    def accepted(self, names: Sequence[str]) -> str:
        """Return the site's message after submissions were added or changed."""
        return f"Added: {', '.join(names)}. The result appears on this page."

    def prepare(self, benchmark: Benchmark, run: Run) -> Release:
        """Return the release to score."""
        raise NotImplementedError

    def next_truth(
        self, benchmark: Benchmark, before: TruthVersion, release: Release
    ) -> TruthVersion | None:
        """Return a new version of the truth made of this release; None if it would not differ from
        `before`, the newest.

        Called at night, by “Score now” (truth_versions.follow) and after an image was removed.
        """
        return None

    def write_truth(self, benchmark: Benchmark, number: int, folder: Path) -> None:
        """Write the files of a version of the truth into an existing folder. Raises Refusal."""
        raise NotImplementedError

    def score(self, benchmark: Benchmark, release: Release, run: Run) -> ResultT:
        """Return the result as a Record or a JSON dict. Raises one of `refusals`."""
        raise NotImplementedError

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        """Return what a result depends on; a run is needed only when this changes. Must be
        cheap.
        """
        raise NotImplementedError

    def scored_before(
        self, benchmark: Benchmark, truth_keys: Sequence[str], file: str
    ) -> Run | None:
        """Return the last run if only the newest truth has changed since.

        truth_keys: keys of the fingerprint that may differ, at least one of which must. file: a
        file that the run's folder must have.
        """
        last = benchmark.runs.filter(state=Run.State.DONE).first()
        if last is None or last.result is None or not self.run_path(last, file).is_file():
            return None
        now, then = self.fingerprint(benchmark), dict(last.settings.get("signature") or {})
        truth = [(now.pop(key, None), then.pop(key, None)) for key in truth_keys]
        if now != then or all(newer == older for newer, older in truth):
            return None
        return last if last.result.get("code_version") == freezing.code_version() else None

    def count_settled(self, benchmark: Benchmark, since: Run | None) -> int:
        """Return how many questions were settled since a run, for kinds without truth versions."""
        return 0

    def obstacle(self, benchmark: Benchmark) -> str:
        """Return a sentence why nothing can be scored yet, or ""."""
        if benchmark.submissions.exists():
            return ""
        return "There are no submissions yet. Add one, then score."

    def hidden(self, benchmarks: Sequence[Benchmark], user: User) -> set[int]:
        """Return the ids of the benchmarks of which this user sees only counts and scores."""
        return set()

    def uses_of_image(self, benchmarks: Sequence[Benchmark], image: str) -> list[ImageUse]:
        """Return how results of these benchmarks of this family used the image, in few queries."""
        return []

    def images_predicted(
        self, benchmarks: Sequence[Benchmark], names: Sequence[str], chosen: PredictionFilter
    ) -> set[str]:
        """Return the names of the images with such a prediction in a submission, in few queries.

        benchmarks: of this family; a submission to any of them counts.
        """
        return set()

    def remove_interim(self, run: Run, gone: Sequence[int]) -> None:
        """Delete the files of the interim runs in `gone`, which `run` replaces."""
        folders.remove_runs(run.benchmark, gone)

    def stored_result(self, benchmark: Benchmark, run: Run) -> Mapping[str, object]:
        """Return the run's JSON result, without the names of images that the user may not see."""
        result: Mapping[str, object] = run.result or {}
        return result

    def result_of(self, benchmark: Benchmark, run: Run | None) -> ResultT | None:
        """Return the run's result with everything its pages need; None without a result."""
        if run is None or run.state != Run.State.DONE or run.result is None:
            return None
        result: Any = self.stored_result(benchmark, run)
        return result if self.record is None else cast("ResultT", self.record.from_json(result))

    def result_json(self, benchmark: Benchmark, run: Run) -> str | Iterator[str]:
        """Return the whole result as JSON, at once or in pieces."""
        return json.dumps(self.stored_result(benchmark, run), ensure_ascii=False, indent=1) + "\n"

    def filled_tables(self, result: ResultT) -> list[Table]:
        """Return the tables that the pages of this result offer."""
        return list(self.tables)

    def figures(self, result: ResultT) -> Sequence[str]:
        """Return the names of the figures that have something to show."""
        return [name for name, figure in self.result_figures.items() if figure.rows(result)]

    def figure_options(self, result: ResultT, query: Query) -> tuple[Any, ...]:
        """Return the arguments of the figures after the result and the theme."""
        return ()

    def draw(self, name: str, result: ResultT, form: str, theme: str, query: Query) -> bytes:
        """Return a figure as a file in one of figures.FORMS."""
        options = self.figure_options(result, query)
        return as_file(self.result_figures[name].draw(result, THEMES[theme], *options), form)

    def alt(self, name: str, result: ResultT, query: Query) -> str:
        """Return the figure's alt text."""
        return self.result_figures[name].words(result, *self.figure_options(result, query))

    def figure_query(self, result: ResultT, query: Query) -> str:
        """Return the part of the page's query that its figures depend on."""
        return ""

    def moving(self, benchmark: Benchmark) -> Moving:
        return Moving()

    def page(
        self, benchmark: Benchmark, run: Run | None, result: ResultT | None, query: Query
    ) -> dict[str, object]:
        """Return template context beyond that of pages.py; its `result` replaces the one there."""
        return {"result": result}

    def submissions_page(self, benchmark: Benchmark) -> dict[str, object]:
        """Return template context for the kind's part of the submissions page."""
        return {}

    def open_file(self, benchmark: Benchmark, name: str) -> IO[bytes]:
        """Return one of `files`, opened; the caller closes it. Raises Refusal if it is missing."""
        raise NotImplementedError

    def run_path(self, run: Run, name: str) -> Path:
        """Return the path of one of `run_files`, which may be missing."""
        return folders.run_folder(run.benchmark, run.pk) / name

    def run_file_name(self, run: Run, name: str) -> str:
        """Return the download name of one of `run_files`."""
        return f"{run.benchmark.name}-run-{run.pk}-{name}"

    def template(self, part: str) -> list[str]:
        """Return the kind's template of this name, falling back to the framework's."""
        return [self.templates.format(part=part), f"evaluation/{part}.html"]

    def table_of(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)


def kinds() -> dict[str, BenchmarkKind]:
    """Return every known value of Benchmark.kind with its kind, in the order of the setting."""
    return _loaded(tuple(settings.ASSAY_BENCHMARK_KINDS))


def families() -> dict[str, BenchmarkKind]:
    """Return every family with the kind of its first name."""
    by_family: dict[str, BenchmarkKind] = {}
    for kind in kinds().values():
        by_family.setdefault(kind.family, kind)
    return by_family


def kind_of(benchmark: Benchmark) -> BenchmarkKind:
    """Return the benchmark's kind. Raises ImproperlyConfigured if the settings do not list it."""
    try:
        return kinds()[benchmark.kind]
    except KeyError:
        raise ImproperlyConfigured(
            f"no class in ASSAY_BENCHMARK_KINDS serves benchmarks of kind {benchmark.kind!r}"
        ) from None


@lru_cache(maxsize=8)
def _loaded(paths: tuple[str, ...]) -> dict[str, BenchmarkKind]:
    by_name: dict[str, BenchmarkKind] = {}
    for path in paths:
        made = import_string(path)
        lacking = [name for name in REQUIRED if getattr(made, name) is getattr(BenchmarkKind, name)]
        if lacking:
            raise ImproperlyConfigured(f"{path} lacks {', '.join(lacking)}")
        for name in made.names:
            if name in by_name:
                raise ImproperlyConfigured(f"{path} serves {name!r}, and so does another kind")
            by_name[name] = made(name)
    return by_name
