"""What holds for the repository as a whole."""

import ast
import re
import subprocess
from collections import defaultdict
from importlib.metadata import packages_distributions
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from labeling.releases.freezing import code_version
from tests.syntax import statements

ROOT = Path(__file__).resolve().parents[1]


def tracked() -> list[Path]:
    """Files under version control; in a tarball without it, everything that is not built."""
    output = subprocess.run(
        ["git", "ls-files", "-z", "--cached"], cwd=ROOT, capture_output=True, check=False
    )
    if output.returncode == 0:
        files = [ROOT / name for name in output.stdout.decode().split("\0") if name]
        return [file for file in files if file.is_file()]
    built = {".venv", "var", "staticfiles", "__pycache__"}
    return [f for f in ROOT.rglob("*") if f.is_file() and not built & set(f.parts)]


@pytest.mark.parametrize(
    "name", [f"requirements{kind}.txt" for kind in ("", "-dev", "-cluster", "-models", "-exchange")]
)
def test_every_requirement_is_pinned_exactly(name):
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    needs = [line for line in lines if line and not line.startswith(("#", "-r "))]

    assert needs
    assert [n for n in needs if not re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\w.]+", n)] == []
    names = [re.split(r"[\[=]", need)[0].lower() for need in needs]
    assert len(names) == len(set(names))


# Django imports the one by the address of the database, Celery the other by that of the broker.
BY_ADDRESS = {"psycopg", "redis"}


def test_every_requirement_is_used_by_what_runs():
    needs = re.findall(r"^([\w.-]+)", (ROOT / "requirements.txt").read_text().lower(), re.M)
    product = {"annotator", "labeling", "evaluation", "deploy"}
    files = [f for f in tracked() if f.relative_to(ROOT).parts[0] in product]
    code = "\n".join(f.read_text() for f in files if f.suffix in {".py", ".service"})
    # Imported, named in the settings, or started by systemd.
    used = set(re.findall(r"^ *(?:from|import) (\w+)|\"(\w+)[\w.]*\"|/bin/(\w+)", code, re.M))
    modules = {module for names in used for module in names if module}
    names = defaultdict(set)
    for module, distributions in packages_distributions().items():
        for name in distributions:
            names[name.lower().replace("_", "-")].add(module)

    assert len(needs) > 20
    assert [name for name in needs if not names[name] & (modules | BY_ADDRESS)] == []


@pytest.mark.parametrize(
    ("kind", "locks"),
    [("", ""), ("-dev", "-dev"), ("-cluster", "-dev"), ("-exchange", "-exchange")],
)
def test_every_requirement_is_locked_by_hash_at_its_version(kind, locks):
    needs = re.findall(
        r"^([\w.-]+).*==(\S+)$", (ROOT / f"requirements{kind}.txt").read_text().lower(), re.M
    )
    lock = (ROOT / f"requirements{locks}.lock").read_text()
    locked = re.findall(r"^([\w.-]+)==(\S+).*\\\n    --hash=sha256:", lock, re.M)

    # A machine may have a build of torch of its own.
    needs = {(re.sub("[_.]", "-", name), version) for name, version in needs if name != "torch"}
    assert needs - set(locked) == set()


def test_the_changelog_has_a_section_of_the_version_of_the_code():
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)

    assert next(name for name in sections if name != "Unreleased") == code_version()


@pytest.mark.django_db
def test_no_migration_is_missing():
    out = StringIO()

    call_command("makemigrations", "--check", "--dry-run", stdout=out)

    assert "No changes detected" in out.getvalue()


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`[^`\n]*`")
PAGES = sorted(file for file in tracked() if file.suffix == ".md")


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def is_broken(file: Path, address: str) -> bool:
    target, _, anchor = address.partition("#")
    if target.startswith(("http:", "https:", "mailto:")):
        return False
    goal = (file.parent / target).resolve() if target else file
    return not goal.exists() or bool(
        anchor and goal.suffix == ".md" and anchor not in anchors(goal)
    )


def test_links_between_pages_resolve():
    links = [
        (file.name, link or image)
        for file in PAGES
        for link, image in LINK.findall(CODE_SPAN.sub("", file.read_text()))
        if is_broken(file, link or image)
    ]

    assert links == []


def test_every_page_of_the_docs_is_in_its_index():
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text()
    pages = [file.relative_to(docs).as_posix() for file in PAGES if docs in file.parents]

    assert [page for page in pages if page != "index.md" and f"({page}" not in index] == []


def test_no_file_names_a_machine_it_was_written_on():
    paths = re.compile(rb"(?<!campaigns)/(home|Users|root|work)/\w+|/opt/(pypi|wheels)")
    plain = [f for f in tracked() if f.suffix in {".py", ".md", ".toml", ".txt", ".sh", ".js", ""}]
    offending = {
        file.relative_to(ROOT).as_posix(): match.group().decode()
        for file in plain
        if file != Path(__file__) and (match := paths.search(file.read_bytes()))
    }

    assert offending == {}


def test_no_file_is_left_unfinished():
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X:", "place" + "holder text"]))
    files = [f for f in tracked() if "vendor" not in f.parts and f.suffix in {".py", ".md", ".js"}]
    offending = [file.name for file in files if marks.search(file.read_text())]

    assert offending == []


def test_no_line_of_a_template_is_longer_than_120_columns():
    longer = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in tracked()
        if file.is_relative_to(ROOT / "templates")
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if len(line) > 120
    ]

    assert longer == []


def test_no_browser_test_waits_for_a_script_of_its_own():
    # The page evaluates such a script itself, which its content security policy forbids as soon as
    # the first look does not succeed. Wait by locators and `expect`.
    call = "wait_for_" + "function"
    tests = [f for f in tracked() if f.suffix == ".py" and "tests" in f.relative_to(ROOT).parts]

    assert [f.name for f in tests if call in f.read_text()] == []


# Code lines of each package, for tests of all, and lines of docs and benchmarks. Whoever raises an
# entry says why in the same commit; whoever removes code lowers it.
BUDGETS = {
    "annotator": 2_086,
    "annotator/demo": 1_051,
    "annotator/kinds": 954,
    "annotator/management": 62,
    "annotator/pages": 1_595,
    "benchmarks": 3_985,
    "clients": 340,
    "deploy": 828,
    "docs": 5_403,
    "evaluation": 809,
    "evaluation/benchmarks": 13_482,
    "evaluation/classifiers": 2_266,
    "evaluation/collecting": 488,
    "evaluation/engines": 538,
    "evaluation/management": 4_093,
    "evaluation/metrics": 6_963,
    "evaluation/migrations": 930,
    "evaluation/pools": 1_645,
    "evaluation/readers": 3_555,
    "evaluation/release_reports": 305,
    "evaluation/release_splits": 516,
    "evaluation/scoring": 4_115,
    "evaluation/selection": 939,
    "evaluation/sequences": 730,
    "evaluation/splits": 434,
    "evaluation/wsol_study": 2_752,
    "labeling": 1_320,
    "labeling/answers": 685,
    "labeling/assignment": 1_053,
    "labeling/assistance": 421,
    "labeling/boxes": 435,
    "labeling/campaigns": 740,
    "labeling/consensus": 1_401,
    "labeling/datasets": 2_122,
    "labeling/db": 366,
    "labeling/estimators": 1_287,
    "labeling/removal": 430,
    "labeling/exchange": 1_789,
    "labeling/follow_ups": 1_140,
    "labeling/formats": 3_739,
    "labeling/geometry": 896,
    "labeling/graphs": 308,
    "labeling/jobs": 1_057,
    "labeling/kinds": 1_984,
    "labeling/management": 1_241,
    "labeling/migrations": 2_951,
    "labeling/models": 1_172,
    "labeling/near_duplicates": 309,
    "labeling/parts": 656,
    "labeling/promptable": 620,
    "labeling/quality": 3_277,
    "labeling/question_graph": 1_337,
    "labeling/publishing": 695,
    "labeling/release_files": 1_095,
    "labeling/releases": 1_402,
    "labeling/reports": 2_767,
    "labeling/simulation": 1_881,
    "labeling/templatetags": 80,
    "labeling/vocabulary": 595,
    "labeling/web": 8_687,
    "tests": 84_060,
}
# Django looks for these at the root of an app.
DJANGO_FOLDERS = {"management", "migrations", "templatetags"}


def code_lines(file: Path) -> int:
    """Return how many lines of a file hold code: no blanks, comments or docstrings."""
    text = file.read_text()
    lines = {
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    tree = ast.parse(text)
    for node in (tree, *statements(tree)):
        if isinstance(node, documented) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def package_of(file: Path) -> str:
    """Return the part of the table a file counts for: labeling/answers, annotator, tests, docs."""
    top, *inner = file.relative_to(ROOT).parts
    nested = top in {"annotator", "labeling", "evaluation"} and len(inner) > 1
    return f"{top}/{inner[0]}" if nested else top


# clients/python/generate.py writes it.
GENERATED = ROOT / "clients/python/assay_client/models.py"


def lines_of_packages() -> dict[str, int]:
    counted: dict[str, int] = defaultdict(int)
    for file in tracked():
        package = package_of(file)
        if package in {"benchmarks", "docs"}:
            counted[package] += file.read_text().count("\n") if file.suffix in {".py", ".md"} else 0
        elif file.suffix == ".py" and file.parent != ROOT and file != GENERATED:
            counted[package] += code_lines(file)
    return counted


def test_every_package_keeps_to_its_budget():
    over = {
        package: f"{count} lines, of {BUDGETS.get(package, 0)}"
        for package, count in lines_of_packages().items()
        if count > BUDGETS.get(package, 0)
    }

    assert over == {}


def test_the_architecture_lists_every_package():
    text = (ROOT / "docs/explanation/architecture.md").read_text()
    packages = [
        folder.parent
        for app in ("labeling", "evaluation")
        for folder in sorted((ROOT / app).glob("*/__init__.py"))
    ]
    rows = [(folder, f"| `{folder.name}`") for folder in packages]

    assert [f.name for f, row in rows if f.name not in DJANGO_FOLDERS and row not in text] == []
