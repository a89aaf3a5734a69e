"""Context of the pages of a CDS benchmark. No HTML."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.kind import BenchmarkKind, Query
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.kinds.cds.figures import FIGURES
from evaluation.benchmarks.kinds.cds.running import SEQUENCES
from evaluation.benchmarks.kinds.cds.tables import CORRELATIONS, ERRORS, TABLES
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.benchmarks.tables import Table
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.tables import ReaderChoice
from labeling.files import BadInput
from labeling.release_files import frozen
from labeling.releases import freezing
from labeling.reports import progress


@dataclass(frozen=True)
class ReleaseNames:
    """Names of a release's categories, and of their parts by key."""

    categories: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasureGrids:
    """The tables of CDS or of B-CDS."""

    key: str
    rows: list[tables.ClassifierRow]
    parts: list[tables.ClassifierRow]

    @property
    def name(self) -> str:
        return wording.SCORES[self.key]


def chosen_in(query: Mapping[str, str], result: CdsResult | None) -> ReaderChoice:
    """Return the reader's choices in the query, with defaults for what the result lacks."""
    averaging = query.get("averaging", "")
    of = query.get("of", "")
    known = result.classifiers if result else []
    return ReaderChoice(
        averaging if averaging in wording.AVERAGING else ReaderChoice().averaging,
        of if of in known else ReaderChoice().of,
    )


class CdsPages(BenchmarkKind[CdsResult]):
    """What the pages of a CDS benchmark show."""

    record = CdsResult
    tables = TABLES
    result_figures = FIGURES

    def result_of(self, benchmark: Benchmark, run: Run | None) -> CdsResult | None:
        result = super().result_of(benchmark, run)
        return result and replace(result, category_names=names_of(benchmark).categories)

    def filled_tables(self, result: CdsResult) -> list[Table]:
        return [table for table in TABLES if getattr(result.tables, table.name)]

    def figure_options(self, result: CdsResult, query: Query) -> tuple[ReaderChoice]:
        return (chosen_in(query, result),)

    def figure_query(self, result: CdsResult, query: Query) -> str:
        return chosen_in(query, result).query()

    def page(
        self, benchmark: Benchmark, run: Run | None, result: CdsResult | None, query: Query
    ) -> dict[str, object]:
        chosen = chosen_in(query, result)
        submissions = list(benchmark.submissions.all())
        return {
            "machines": [entry for entry in submissions if not entry.is_people],
            "people": _people(benchmark),
            "has_people": any(entry.is_people for entry in submissions),
            "chosen": chosen,
            "size": {
                key: benchmark.settings[key]
                for key in ("objects", "sequences", "frames", "left_out")
            },
            "schemes": _schemes(benchmark),
            "result": _result(benchmark, run, result, chosen) if result and run else None,
        }

    def submissions_page(self, benchmark: Benchmark) -> dict[str, object]:
        stated, version = benchmark.settings, truth_versions.newest(benchmark)
        assert version is not None, "its truth is a release"
        frames = stated["frames"]
        if version.number > FIRST:
            frames = len(SequenceHistory.of(benchmark).frames_at(version.number))
        schemes = [f"--part-scheme {name}" for name in stated["part_schemes"]]
        schemes += [f"--content-scheme {name}" for name in stated["content_schemes"]]
        schemes += ["--include-empty"] * stated["include_empty"]
        command = [
            f"manage.py classify {benchmark.campaign.name} --number {version.release.number}",
            "--orders orders.json",
            *schemes,
            *["--sequences sequences.jsonl"] * (version.number > FIRST),
            "--model torchvision:resnet50 --classes wnids.txt --out predictions.csv",
        ]
        return {
            "frames": frames,
            "version": version,
            "example": benchmarks.first_line_of(benchmark).frames[0],
            "command": " \\\n  ".join(command),
        }


def names_of(row: Benchmark) -> ReleaseNames:
    """Return the names in the benchmark's release; empty if its files are missing."""
    if row.release is None:
        return ReleaseNames()
    return _names(freezing.folder_of(row.release), row.release.sha256)


@lru_cache(maxsize=16)
def _names(folder: Path, sha256: str) -> ReleaseNames:
    try:
        categories = frozen.head(folder, sha256)["campaign"]["settings"].get("categories", {})
    except BadInput:
        categories = {}
    return ReleaseNames(
        {key: category["name"] for key, category in categories.items()},
        {
            key: {part["key"]: part["name"] for part in category["parts"]}
            for key, category in categories.items()
        },
    )


def _people(row: Benchmark) -> dict[str, object] | None:
    """Return the naming campaign and its progress; None if there is none."""
    naming = row.naming
    return {"campaign": naming, "progress": progress.progress(naming)} if naming else None


def _schemes(row: Benchmark) -> dict[str, list[tuple[str, ...]]]:
    """Return the part schemes and content schemes with their descriptions."""
    return {
        "part": [
            (name, wording.PART_SCHEME_WORDS.get(name, "")) for name in row.settings["part_schemes"]
        ],
        "content": [
            (name, wording.content_scheme(name), wording.CONTENT_SCHEME_WORDS[name])
            for name in row.settings["content_schemes"]
        ],
    }


def _result(row: Benchmark, run: Run, result: CdsResult, chosen: ReaderChoice) -> dict[str, object]:
    return {
        "answer": tables.answer(result, chosen.averaging),
        "content_schemes": list(map(wording.content_scheme, tables.content_schemes(result))),
        "part_schemes": tables.part_schemes(result),
        "measures": [
            MeasureGrids(
                key,
                tables.classifier_rows(result, key, chosen.averaging),
                tables.by_part_scheme(result, key, chosen.averaging),
            )
            for key in tables.measures(result)
        ],
        "errors": ERRORS.page_context(tables.errors(result)),
        "truths": tables.by_truths(result),
        "waiting": [
            tables.category_name(result, category)
            for category in (result.newest.waiting if result.newest else ())
        ],
        "winners": tables.winners(result),
        "correlations": CORRELATIONS.page_context(
            tables.where(result.tables.error_correlation, averaging=chosen.averaging)
        ),
        "ratios": tables.ratios(result, chosen.of),
        "presence": tables.presence(result),
        "hardness": [
            {"form": form, "name": name, "rows": tables.hardness(result, form)}
            for form, name in wording.HARDNESS.items()
        ],
        "captchas": len(result.tables.captchas),
        "averaging": [
            {"key": key, "words": words, "query": ReaderChoice(key, chosen.of).query()}
            for key, words in wording.AVERAGING.items()
        ],
        "of": [
            {"name": name, "query": ReaderChoice(chosen.averaging, name).query()}
            for name in ["", *result.classifiers]
        ],
        "head": result,
        "has_sequences": (folders.run_folder(row, run.pk) / SEQUENCES).is_file(),
    }
