"""The structure of the code: which package imports which, and what a web process loads."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import count_untyped
from tests.syntax import statements

ROOT = Path(__file__).resolve().parents[1]
APPS = ("annotator", "evaluation", "labeling")
# Each package imports only from those above it; "" holds the modules at the root of the app.
ORDER = {
    "labeling": (
        *("", "models", "db", "jobs", "estimators", "geometry", "vocabulary", "parts", "formats"),
        *(
            "near_duplicates",
            "boxes",
            "promptable",
            "question_graph",
            "kinds",
            "release_files",
            "publishing",
            "simulation",
        ),
        *("campaigns", "graphs"),
        *(
            "datasets",
            "assignment",
            "consensus",
            "assistance",
            "answers",
            "follow_ups",
            "quality",
            "releases",
        ),
        *("exchange", "removal", "reports", "web", "django"),
    ),
    "evaluation": (
        *(
            "",
            "models",
            "metrics",
            "readers",
            "engines",
            "selection",
            "sequences",
            "scoring",
            "splits",
        ),
        *("collecting", "classifiers", "wsol_study", "release_splits", "benchmarks"),
        *("benchmarks/kinds", "pools", "release_reports", "django"),
    ),
}
# Django looks these up at the root of an app; nothing but Django and tests imports them.
DJANGO_ROOT = re.compile(
    r"\w+/((apps|urls|admin|tasks|hooks)\.py$|migrations/|management/|templatetags/)"
)
PURE = (
    *(
        "labeling/bounded_numbers.py",
        "labeling/csv_rows.py",
        "labeling/disk_full.py",
        "labeling/errors.py",
        "labeling/files.py",
        "labeling/json_text.py",
        "labeling/plurals.py",
        "labeling/strict_yaml.py",
    ),
    *(
        "labeling/environment.py",
        "labeling/image_files.py",
        "labeling/numba_cache.py",
        "labeling/processors.py",
        "labeling/records.py",
        "labeling/sentences.py",
        "labeling/estimators",
    ),
    *("labeling/geometry", "labeling/vocabulary", "labeling/parts", "labeling/formats"),
    *(
        "labeling/near_duplicates",
        "labeling/boxes",
        "labeling/promptable",
        "labeling/onnx_files.py",
    ),
    *("labeling/question_graph", "labeling/kinds", "labeling/release_files"),
    "labeling/publishing",
    *("labeling/simulation", "evaluation/metrics", "evaluation/readers", "evaluation/engines"),
    *("evaluation/selection", "evaluation/sequences", "evaluation/scoring"),
    *("evaluation/collecting", "evaluation/classifiers", "evaluation/wsol_study"),
    "evaluation/devices.py",
)
# Modules that may know HTTP.
WEB = re.compile(
    r"^labeling/web/|^annotator/|/(admin|urls)\.py$|/templatetags/"
    r"|^evaluation/(benchmarks|pools|release_(splits|reports))/(.*/)?((\w+_)?(views|api)|serializers|forms|downloads)\.py$"
)
TORCH = re.compile(
    r"^evaluation/(metrics|selection|sequences|scoring|classifiers|wsol_study|management)/"
    r"|^evaluation/(devices|readers/answers)\.py$"
)
KERNELS = re.compile(r"/kernels(_\w+)?\.py$|^labeling/numba_cache\.py$")
MOST_MODULES = 25


def modules(*places: str) -> Iterator[Path]:
    for name in places:
        path = ROOT / name
        paths = [path] if path.is_file() else path.rglob("*.py") if path.is_dir() else []
        yield from (file for file in paths if "__pycache__" not in file.parts)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports(path: Path, *, for_types: bool = False) -> set[str]:
    """Full names of what a file imports, inside functions too, but not what only a type checker
    reads unless for_types; `from a import b` gives a and a.b."""
    tree = ast.parse(text_of(path))
    package = name_of(path).removesuffix(".py").split("/")[:-1]
    for node in statements(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = node.body if for_types else [ast.Pass()]
    modules_imported = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            modules_imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            modules_imported.add(module)
            modules_imported.update(f"{module}.{alias.name}" for alias in node.names)
    return modules_imported


def reaches(path: Path, *targets: str) -> list[str]:
    return sorted(
        module
        for module in imports(path)
        if any(module == target or module.startswith(f"{target}.") for target in targets)
    )


def offenders(files: Iterator[Path] | list[Path], *targets: str) -> dict[str, list[str]]:
    return {name_of(file): hit for file in files if (hit := reaches(file, *targets))}


def file_of(module: str) -> Path | None:
    """The file of a module's dotted name; None for a package or a name within a module."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    return path if path.is_file() else None


def package_of(path: Path) -> str:
    """The package in ORDER that a file belongs to."""
    app, _, rest = name_of(path).partition("/")
    if DJANGO_ROOT.match(name_of(path)):
        return "django"
    if rest in ("models.py", "models/__init__.py"):
        return "models"
    fitting = [name for name in ORDER[app] if name and rest.startswith(f"{name}/")]
    return max(fitting, key=len, default="")


def test_the_imports_of_a_file_are_found_however_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "evaluation" / "metrics" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("import a.b as c\ndef f():\n  from django import db\nfrom .. import models\n")

    assert imports(file) == {"a.b", "django", "django.db", "evaluation", "evaluation.models"}
    assert reaches(file, "django") == ["django", "django.db"]


@pytest.mark.parametrize("app", ORDER)
def test_packages_import_only_from_those_above_them(app):
    order, climbing = ORDER[app], []
    for file in modules(app):
        rank = order.index(package_of(file))
        for name in imports(file):
            target = file_of(name) if name.startswith(f"{app}.") else None
            if target is not None and order.index(package_of(target)) > rank:
                climbing.append(f"{name_of(file)} imports {name}")

    assert sorted(climbing) == []


def test_every_package_is_in_the_order():
    for app, order in ORDER.items():
        folders = {path.parent.relative_to(ROOT / app).as_posix() for path in modules(app)}
        known = {"", ".", "migrations", "management", "templatetags", *order}
        assert {folder.partition("/")[0] for folder in folders} <= known, app


def test_no_import_goes_in_a_circle():
    files = list(modules(*APPS))
    graph = {
        file: {target for name in imports(file, for_types=True) if (target := file_of(name))}
        for file in files
    }
    # Modules that import nothing left are taken away until none is; what stays is a circle.
    while gone := [file for file, targets in graph.items() if not targets & graph.keys() - {file}]:
        for file in gone:
            del graph[file]

    assert sorted(map(name_of, graph)) == []


def test_only_a_kind_of_benchmark_asks_for_its_kind():
    """Values of Benchmark.kind stand in no comparison outside evaluation/benchmarks/kinds."""
    compared = re.compile(
        r"\b(benchmark|row)\.kind\s*(==|!=|\bin\b|\bnot\b)|Benchmark\.Kind\.[A-Z]+\b"
    )
    files = [*modules("evaluation", "annotator"), *(ROOT / "templates").rglob("*.html")]
    offending = {
        name_of(file): compared.findall(text_of(file))
        for file in files
        if not re.match("evaluation/(benchmarks/kinds/|migrations/)", name_of(file))
    }

    assert {name: hits for name, hits in offending.items() if hits} == {}


def test_labeling_stands_alone():
    assert offenders(modules("labeling"), "annotator", "evaluation", "torch") == {}


def test_evaluation_never_knows_the_site():
    assert offenders(modules("evaluation"), "annotator") == {}


def test_pure_packages_know_nothing_of_django():
    assert all((ROOT / path).exists() for path in PURE)
    forbidden = ("django", "rest_framework", "celery", "labeling.models", "evaluation.models")
    assert offenders(modules(*PURE), *forbidden) == {}


def test_metrics_take_only_files_and_formulas_from_labeling():
    offending = offenders(modules("evaluation/metrics"), "labeling")

    assert {
        hit.removeprefix("labeling").split(".")[1]
        for hits in offending.values()
        for hit in hits
        if "." in hit
    } <= {"files", "numba_cache", "estimators", "plurals", "records"}


def test_only_web_modules_know_http():
    domain = [file for file in modules("labeling", "evaluation") if not WEB.search(name_of(file))]
    assert len(domain) > 100

    assert offenders(domain, "rest_framework", "django.http", "django.shortcuts") == {}


def test_models_import_no_views_api_tasks_or_admin():
    edges = [f"{app}.{name}" for app in APPS for name in ("web", "tasks", "admin", "benchmarks")]

    assert offenders(modules("labeling/models", "evaluation/models.py"), *edges) == {}


def test_torch_stays_in_metrics_scoring_and_classifiers():
    others = [file for file in modules(*APPS) if not TORCH.search(name_of(file))]

    assert offenders(others, "torch", "torchvision") == {}


def test_numba_stays_in_kernels():
    others = [file for file in modules(*APPS) if not KERNELS.search(name_of(file))]

    assert offenders(others, "numba", "labeling.numba_cache") == {}


def test_no_folder_holds_more_than_25_modules():
    files = (f for f in modules(*APPS, "tests", "benchmarks", "deploy") if f.name != "__init__.py")
    count = Counter(file.parent for file in files if file.parent.name != "migrations")

    assert {name_of(folder): n for folder, n in count.items() if n > MOST_MODULES} == {}


def test_every_package_says_what_is_in_it():
    silent = [
        name_of(file)
        for file in modules("labeling", "evaluation")
        if file.name == "__init__.py"
        and not re.search("migrations|management|templatetags", name_of(file))
        and ast.get_docstring(tree_of(file)) is None
    ]

    assert silent == []


def test_nobody_ties_the_domain_together_with_signals():
    assert offenders(modules(*APPS), "django.db.models.signals", "django.dispatch") == {}


# Only these know a kind of question by its name; others look up a value that the kind names.
KIND_NAMES = ("contains", "hierarchy", "mistake", "naming", "parts")
KNOW_KINDS = re.compile(r"^(labeling|annotator)/kinds/")
# What holds the name of a campaign's kind: `campaign.kind`, `kind`, `data["kind"]`, `get("kind")`.
A_KIND = re.compile(r"\bcampaign\.kind$|^kind$|\[['\"]kind['\"]\]$|\.get\(['\"]kind['\"](, .*)?\)$")
IN_TEMPLATE = re.compile(
    rf"campaign\.kind *(==|!=| in )|\bkind(\.name)? *[!=]= *\"({'|'.join(KIND_NAMES)})\""
)


def words(node: ast.expr) -> set[object]:
    """The texts that a literal, or a literal list or set, is made of."""
    return {constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant)}


HOLDS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


def compares_kinds(path: Path) -> list[int]:
    """Lines that compare a campaign's kind with anything, or hold anything called a kind against
    the name of one; also those that ask a kind whether it has an attribute."""
    lines = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            held = [side for side in sides if isinstance(side, HOLDS)]
            kinds = [side for side in held if A_KIND.search(ast.unparse(side))]
            has_kind = any(words(side) & set(KIND_NAMES) for side in sides)
            if any(ast.unparse(side).endswith("campaign.kind") for side in kinds) or (
                kinds and has_kind
            ):
                lines.append(node.lineno)
        elif (isinstance(node, ast.Match) and A_KIND.search(ast.unparse(node.subject))) or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("getattr", "hasattr")
            and re.search(r"\bkind$|^KINDS\[", ast.unparse(node.args[0]))
        ):
            lines.append(node.lineno)
    return lines


def test_kinds_of_question_are_compared_only_in_kinds():
    python = {
        name_of(file): lines
        for file in modules(*APPS)
        if "kind" in text_of(file) and not KNOW_KINDS.search(name_of(file))
        if (lines := compares_kinds(file))
    }
    pages = {
        name: match.group()
        for name in templates()
        if not name.startswith("annotator/kinds/")
        and (match := IN_TEMPLATE.search(text_of(ROOT / "templates" / name)))
    }

    assert python | pages == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('if campaign.kind == "naming": pass', True),
        ("if release.campaign.kind != KIND: pass", True),
        ('if data["kind"] in ("parts", "naming"): pass', True),
        ('getattr(KINDS[kind], "DRAWN", False)', True),
        ('if KINDS[campaign.kind].asks == "graph": pass', False),
        ('if job.kind == "score": pass', False),
    ],
)
def test_a_comparison_of_kinds_is_found_however_it_is_written(tmp_path, line, wrong):
    file = tmp_path / "x.py"
    file.write_text(line)

    assert bool(compares_kinds(file)) == wrong


WEB_PROCESS = """
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
        [sys.executable, "-c", WEB_PROCESS],
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


def names(text: str, asset: str) -> bool:
    """Whether a text names a template or script, spelt out or as `folder/{kind}.html`."""
    folder, _, last = asset.rpartition("/")
    computed = rf"{re.escape(folder)}/\{{[\w.]+\}}{re.escape(Path(last).suffix)}"
    return asset in text or bool(folder and re.search(computed, text))


def templates() -> list[str]:
    folder = ROOT / "templates"
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.html"))


# Names that allauth and Django look up themselves.
LOOKED_UP = re.compile(r"^(account/|socialaccount/|allauth/|admin/|\d{3}\.html$|django/)")


def naming_text() -> str:
    """All modules and templates, one after the other."""
    return "\n".join(map(text_of, [*modules(*APPS), *(ROOT / "templates").rglob("*.html")]))


def test_every_template_is_used():
    sources = naming_text()
    ours = [name for name in templates() if not LOOKED_UP.match(name)]

    assert [name for name in ours if not names(sources, name)] == []


def test_every_script_is_used():
    sources = naming_text()
    scripts = sorted((ROOT / "static" / "js").rglob("*.js"))

    def is_imported(script: Path) -> bool:
        importers = [file for file in scripts if file.name != script.name]
        return any(f"/{script.name}" in text_of(file) for file in importers)

    def is_named(script: Path) -> bool:
        path = script.relative_to(ROOT / "static").as_posix()
        return names(sources, path)

    assert [file for file in scripts if not is_named(file) and not is_imported(file)] == []


def test_templates_carry_no_inline_script_or_style():
    # The content security policy would silence them.
    inline = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)|<style|\sstyle=|\son\w+=")
    offending = {
        name: inline.findall(text_of(ROOT / "templates" / name))
        for name in templates()
        if inline.search(text_of(ROOT / "templates" / name))
    }

    assert offending == {}


def test_hardly_any_json_is_untyped():
    # 1,111 and 384 before results had types.
    dicts, returning = count_untyped.total()

    assert dicts <= 80
    assert returning <= 60
