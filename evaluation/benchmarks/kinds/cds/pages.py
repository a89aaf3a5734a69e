"""What the pages of a CDS benchmark show of its result: rows read and put together, no HTML."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.kinds.cds.running import SEQUENCES
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.tables import Chosen, Result
from labeling.files import BadInput
from labeling.release_files import frozen
from labeling.releases import freezing
from labeling.reports import progress


def chosen_in(query: Mapping[str, str], result: Result | None) -> Chosen:
    """What the address asks for; what it asks for in vain falls back to the default."""
    averaging = query.get("averaging", "")
    of = query.get("of", "")
    known = result["classifiers"] if result else []
    return Chosen(
        averaging if averaging in wording.AVERAGING else Chosen().averaging,
        of if of in known else Chosen().of,
    )


def page(
    row: Benchmark, run: Run | None, result: Result | None, query: Mapping[str, str]
) -> dict[str, Any]:
    """What the templates of CDS benchmarks show."""
    chosen = chosen_in(query, result)
    submissions = list(row.submissions.all())
    return {
        "machines": [entry for entry in submissions if not entry.is_people],
        "people": _people(row),
        "has_people": any(entry.is_people for entry in submissions),
        "chosen": chosen,
        "size": {key: row.settings[key] for key in ("objects", "sequences", "frames", "left_out")},
        "schemes": _schemes(row),
        "result": _result(row, run, result, chosen) if result and run else None,
    }


def submissions_page(row: Benchmark) -> dict[str, Any]:
    """A frame of the benchmark, and how a person classifies them all; orders.json lies beside."""
    stated = row.settings
    schemes = [f"--part-scheme {name}" for name in stated["part_schemes"]]
    schemes += [f"--content-scheme {name}" for name in stated["content_schemes"]]
    schemes += ["--include-empty"] * stated["include_empty"]
    command = [
        f"manage.py classify {row.campaign.name} --number {row.own_release.number}",
        "--orders orders.json",
        *schemes,
        "--model torchvision:resnet50 --classes wnids.txt --out predictions.csv",
    ]
    return {
        "example": benchmarks.first_line_of(row).frames[0],
        "command": " \\\n  ".join(command),
    }


def result_of(row: Benchmark, run: Run | None) -> Result | None:
    """The run's result with what to call its categories; None while there is none."""
    if run is None or run.state != Run.State.DONE or run.result is None:
        return None
    return run.result | {"category_names": names_of(row)["categories"]}


def names_of(row: Benchmark) -> dict[str, dict[str, Any]]:
    """What the release calls its categories, and the parts of each by key; nothing where its files
    are gone."""
    if row.release is None:
        return {"categories": {}, "parts": {}}
    return _names(freezing.folder_of(row.release), row.release.sha256)


@lru_cache(maxsize=16)
def _names(folder: Path, sha256: str) -> dict[str, dict[str, Any]]:
    try:
        said = frozen.head(folder, sha256)["campaign"]["settings"].get("categories", {})
    except BadInput:
        said = {}
    return {
        "categories": {key: category["name"] for key, category in said.items()},
        "parts": {
            key: {part["key"]: part["name"] for part in category["parts"]}
            for key, category in said.items()
        },
    }


def _people(row: Benchmark) -> dict[str, Any] | None:
    """The campaign that asks people for names and how far it is; None where nobody is asked."""
    naming = row.naming
    return {"campaign": naming, "progress": progress.progress(naming)} if naming else None


def _schemes(row: Benchmark) -> dict[str, list[tuple[str, ...]]]:
    """The part schemes of the benchmark, each in words; its content schemes, each with its name and
    in words."""
    return {
        "part": [
            (name, wording.PART_SCHEMES_TOLD.get(name, "")) for name in row.settings["part_schemes"]
        ],
        "content": [
            (name, wording.content_scheme(name), wording.CONTENT_SCHEMES_TOLD[name])
            for name in row.settings["content_schemes"]
        ],
    }


def _result(row: Benchmark, run: Run, result: Result, chosen: Chosen) -> dict[str, Any]:
    kinds = tables.measures(result)
    return {
        "answer": tables.answer(result, chosen.averaging),
        "content_schemes": [
            {"key": key, "name": wording.content_scheme(key)}
            for key in tables.content_schemes(result)
        ],
        "part_schemes": tables.part_schemes(result),
        "measures": [
            {
                "key": key,
                "name": wording.SCORES[key],
                "standings": tables.standings(result, key, chosen.averaging),
                "parts": tables.by_part_scheme(result, key, chosen.averaging),
                "figure": "content" if key == "cds" else "content_b",
            }
            for key in kinds
        ],
        "errors": tables.errors(result),
        "winners": tables.winners(result),
        "correlation": [
            line | {"name": wording.SCORES[line["measure"]]}
            for line in tables.rows_of(result, "error_correlation", averaging=chosen.averaging)
        ],
        "ratios": tables.ratios(result, chosen.of),
        "presence": tables.presence(result),
        "hardness": [
            {"form": form, "name": name, "rows": _named(tables.hardness(result, form))}
            for form, name in wording.HARDNESS.items()
        ],
        "captchas": len(tables.rows_of(result, "captchas")),
        "averaging": [
            {"key": key, "words": words, "query": Chosen(key, chosen.of).query()}
            for key, words in wording.AVERAGING.items()
        ],
        "of": [
            {"name": name, "query": Chosen(chosen.averaging, name).query()}
            for name in ["", *result["classifiers"]]
        ],
        "head": {key: value for key, value in result.items() if key != "tables"},
        "has_sequences": (folders.run_folder(row, run.pk) / SEQUENCES).is_file(),
    }


def _named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"name": wording.content_scheme(row["of"])} for row in rows]
