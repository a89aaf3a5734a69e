"""The arrows of the house: who may import whom, and what a web process may hold in memory."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("annotator", "labeling", "evaluation")
PURE = (
    "evaluation/benchmarks/kinds/cds/answer_index.py",
    "evaluation/scoring/cds/arrays.py",
    "evaluation/classifiers/classifying.py",
    "evaluation/benchmarks/kinds/cds/figure_words.py",
    "evaluation/readers/sequences.py",
    "evaluation/scoring/cds/similarity.py",
    "evaluation/sequences/objects.py",
    "evaluation/sequences/part_orders.py",
    "evaluation/readers/frame_predictions.py",
    "evaluation/scoring/cds/scoring.py",
    "evaluation/sequences/sequencing.py",
    "evaluation/benchmarks/kinds/cds/splitting.py",
    "evaluation/scoring/cds/tables.py",
    "evaluation/scoring/cds/wording.py",
    "evaluation/scoring/cds/tabulating.py",
    "evaluation/readers/fixations.py",
    "evaluation/ilsvrc",
    "evaluation/readers/mappings.py",
    "evaluation/metrics",
    "evaluation/networks",
    "evaluation/selection/shards.py",
    "evaluation/readers/pools.py",
    "evaluation/readers/answers.py",
    "evaluation/benchmarks/kinds/labeled/images/image_index.py",
    "evaluation/benchmarks/kinds/labeled/images/outcomes.py",
    "evaluation/benchmarks/kinds/labeled/csv_tables.py",
    "evaluation/benchmarks/kinds/labeled/images/box_overlays.py",
    "evaluation/benchmarks/kinds/labeled/figure_words.py",
    "evaluation/benchmarks/kinds/labeled/images/heatmap.py",
    "evaluation/benchmarks/kinds/labeled/tables.py",
    "evaluation/benchmarks/kinds/labeled/wording.py",
    "evaluation/scoremaps",
    "evaluation/scoring.py",
    "evaluation/selection/selecting.py",
    "evaluation/wsol",
    "labeling/simulation/aggregate_methods.py",
    "labeling/estimators/aggregation.py",
    "labeling/estimators/agreement.py",
    "labeling/geometry/alpha_shapes.py",
    "labeling/estimators/kernels.py",
    "labeling/geometry/crops.py",
    "labeling/estimators/dawid_skene.py",
    "labeling/geometry/delaunay.py",
    "labeling/release_files/exporting.py",
    "labeling/files.py",
    "labeling/formats",
    "labeling/release_files/frozen.py",
    "labeling/release_files/frozen_labels.py",
    "labeling/release_files/frozen_objects.py",
    "labeling/geometry/regions.py",
    "labeling/question_graph/planning.py",
    "labeling/estimators/intervals.py",
    "labeling/kinds/deciding.py",
    "labeling/parts/pixel_votes.py",
    "labeling/geometry/mask_png.py",
    "labeling/question_graph/ordering.py",
    "labeling/geometry/svg.py",
    "labeling/parts/joining.py",
    "labeling/exchange/part_reading.py",
    "labeling/exchange/part_report.py",
    "labeling/parts/workers.py",
    "labeling/strict_yaml.py",
    "labeling/plurals.py",
    "labeling/kinds/policies.py",
    "labeling/geometry/polygons.py",
    "labeling/question_graph/graph.py",
    "labeling/question_graph/replaying.py",
    "labeling/parts/background.py",
    "labeling/geometry/contours.py",
    "labeling/estimators/annotator_checks.py",
    "labeling/parts/simplifying.py",
    "labeling/simulation/crowd.py",
    "labeling/simulation/simulating.py",
    "labeling/simulation/simulating_queries.py",
    "labeling/datasets/archives.py",
    "labeling/vocabulary/types.py",
    "labeling/vocabulary/changes.py",
    "labeling/vocabulary/checks.py",
    "labeling/vocabulary/reading.py",
    "labeling/estimators/vote_tables.py",
    "labeling/simulation/vote_files.py",
)
# The doors of labeling and evaluation: they may know HTTP. All else in there is domain.
DOORS = re.compile(
    r"/(api|api_\w+|serializers|views|\w+_views|urls|admin|forms|tokens|problems|throttles|schema"
    r"|pagination|permissions|filters|downloads|context)\.py$|/(views|api)/|/templatetags/"
)
# `mad` asks for a device before it hands the arrays to the metric.
TORCH_MAY = (
    "evaluation/metrics",
    "evaluation/networks",
    "evaluation/readers/answers.py",
    "evaluation/scoremaps",
    "evaluation/scoring.py",
    # Frames are tensors from where they are rendered to the classifier.
    "evaluation/classifiers/classifying.py",
    "evaluation/sequences/sequencing.py",
    "evaluation/scoring/cds/tabulating.py",
    "evaluation/management/commands/",
)


def modules(*places: str) -> Iterator[Path]:
    for place in places:
        path = ROOT / place
        found = [path] if path.is_file() else path.rglob("*.py") if path.is_dir() else []
        yield from (file for file in found if "__pycache__" not in file.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path, top_only: bool = False) -> set[str]:
    """Full names of what a file imports; `from a import b` gives a and a.b."""
    tree = ast.parse(path.read_text())
    package = name_of(path).removesuffix(".py").split("/")[:-1]
    found = set()
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def reaches(path: Path, *targets: str) -> list[str]:
    return sorted(
        found
        for found in imports(path)
        if any(found == target or found.startswith(f"{target}.") for target in targets)
    )


def offenders(places: tuple[str, ...], *targets: str) -> dict[str, list[str]]:
    return {name_of(file): hit for file in modules(*places) if (hit := reaches(file, *targets))}


def test_the_imports_of_a_file_are_found_however_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "evaluation" / "metrics" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("import a.b as c\ndef f():\n  from django import db\nfrom .. import models\n")

    assert imports(file) == {"a.b", "django", "django.db", "evaluation", "evaluation.models"}
    assert reaches(file, "django") == ["django", "django.db"]


def test_labeling_stands_alone():
    assert offenders(("labeling",), "annotator", "evaluation", "torch") == {}


def test_evaluation_never_knows_the_site():
    assert offenders(("evaluation",), "annotator") == {}


def test_metrics_know_nothing_of_django():
    assert list(modules(*PURE)), "the list of pure modules points nowhere"
    forbidden = ("django", "rest_framework", "celery", "evaluation.models", "annotator")
    assert offenders(PURE, *forbidden) == {}


def test_metrics_take_only_files_from_labeling():
    found = offenders(("evaluation/metrics", "evaluation/readers/answers.py"), "labeling")

    assert {hit for hits in found.values() for hit in hits} <= {
        "labeling.files",
        "labeling.files.BadInput",
        "labeling.files.atomic_write",
        "labeling.files.StrPath",
        # Pure formulas, written once.
        "labeling.estimators.intervals",
        "labeling.estimators.intervals.clopper_pearson",
        # A number with its noun.
        "labeling.plurals",
        "labeling.plurals.count_of",
    }


def test_the_domain_knows_no_http():
    domain = tuple(
        name_of(file)
        for file in modules("labeling", "evaluation")
        if not DOORS.search(f"/{name_of(file)}")
    )
    assert len(domain) > 20

    assert offenders(domain, "rest_framework", "django.http", "django.shortcuts") == {}


def test_models_know_no_doors():
    models = ("labeling/models", "evaluation/models.py")
    doors = [f"{part}.{door}" for part in PARTS for door in ("views", "api", "tasks", "admin")]

    assert offenders(models, *doors) == {}


def test_torch_stays_in_metrics_readers_and_scoring():
    others = tuple(
        name_of(file) for file in modules(*PARTS) if not name_of(file).startswith(TORCH_MAY)
    )

    assert offenders(others, "torch", "torchvision") == {}


def test_the_table_of_the_house_names_every_file_of_labeling_and_tells_the_pure_ones():
    told = (ROOT / "docs" / "architecture.md").read_text()
    table = told.partition("## The files of labeling")[2].partition("\n## ")[0]
    files = {file.name for file in (ROOT / "labeling").glob("*.py")} - {"__init__.py"}
    pure = {Path(name).name for name in PURE if re.fullmatch(r"labeling/\w+\.py", name)}

    assert sorted(re.findall(r"`(\w+\.py)`", table)) == sorted(files)
    # Estimators are pure as a row.
    [estimators] = re.findall(r"^\| Estimators \(P\) \|.*$", table, re.MULTILINE)
    marked = {*re.findall(r"`(\w+\.py)` \(P\)", table), *re.findall(r"`(\w+\.py)`", estimators)}
    assert marked == pure


def test_the_table_of_evaluation_names_every_file():
    told = (ROOT / "docs" / "architecture.md").read_text()
    table = told.partition("## The files of evaluation")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]

    for folder, mine in (
        ("cds", lambda row: row.startswith("| `cds/`")),
        ("ilsvrc", lambda row: row.startswith("| `ilsvrc/`")),
        ("released", lambda row: row.startswith("| `released/`")),
        ("wsol", lambda row: row.startswith("| `wsol/`")),
        ("metrics", lambda row: row.startswith("| `metrics/`")),
        ("networks", lambda row: row.startswith("| `networks/`")),
        ("scoremaps", lambda row: row.startswith("| `scoremaps/`")),
        ("", lambda row: not row.startswith("| `")),
    ):
        named = re.findall(r"`(\w+\.py)`", "".join(row for row in rows if mine(row)))
        there = {file.name for file in (ROOT / "evaluation" / folder).glob("*.py")}
        assert sorted(named) == sorted(there - {"__init__.py"}), folder


def test_nobody_ties_the_domain_together_with_signals():
    assert offenders(PARTS, "django.db.models.signals", "django.dispatch") == {}


WEB = """
import json, os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
from annotator.wsgi import application
from django.urls import get_resolver
get_resolver().url_patterns
from django.test import Client
Client().get("/accounts/login/")
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_a_web_process_loads_neither_torch_nor_numba(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WEB],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "ASSAY_DATA": str(tmp_path), "SECRET_KEY": "of this test"},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "django" in loaded
    assert loaded & {"torch", "numba", "pandas", "skimage", "sklearn"} == set()


def names(file: Path, asset: str) -> bool:
    """Whether a file names a template or script, spelt out or as `folder/{kind}.html`."""
    text = file.read_text()
    folder, _, last = asset.rpartition("/")
    computed = rf"{re.escape(folder)}/\{{[\w.]+\}}{re.escape(Path(last).suffix)}"
    return asset in text or bool(folder and re.search(computed, text))


def templates() -> list[str]:
    folder = ROOT / "templates"
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.html"))


# Names that allauth and Django look up themselves.
LOOKED_UP = re.compile(r"^(account/|socialaccount/|allauth/|admin/|\d{3}\.html$|django/)")


@pytest.mark.parametrize("template", [t for t in templates() if not LOOKED_UP.match(t)])
def test_every_template_is_used(template):
    sources = [*modules(*PARTS), *(ROOT / "templates").rglob("*.html")]

    assert any(names(file, template) for file in sources), f"nothing names {template}"


SCRIPTS = sorted(file for file in (ROOT / "static" / "js").rglob("*.js"))


@pytest.mark.parametrize("script", [f.relative_to(ROOT / "static").as_posix() for f in SCRIPTS])
def test_every_script_is_used(script):
    sources = [*modules(*PARTS), *(ROOT / "templates").rglob("*.html")]
    relative = [file for file in SCRIPTS if file.name != Path(script).name]

    named = any(names(file, script) for file in sources)
    assert named or any(f"/{Path(script).name}" in file.read_text() for file in relative)


def test_templates_carry_no_inline_script_or_style():
    # The content security policy would silence them.
    inline = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)|<style|\sstyle=|\son\w+=")
    found = {
        name: inline.findall((ROOT / "templates" / name).read_text())
        for name in templates()
        if inline.search((ROOT / "templates" / name).read_text())
    }

    assert found == {}
