"""Whoever writes the state or the seats of questions counts them too, in the same function."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import for_each

ROOT = Path(__file__).resolve().parents[3]
APPS = ("annotator", "evaluation", "labeling")
STATEMENT = re.compile(
    r"INSERT INTO labeling_question "
    r"|UPDATE labeling_question SET ((?!WHERE)[^'])*?\b(state|seats_free) ="
    r"|\bQuestion\.objects\.(create|bulk_create|get_or_create|update_or_create|bulk_update)\("
    r"|\bquestion\.save\("
)
# No module without one of these writes a question.
MAY_WRITE = re.compile(r"labeling_question |\bQuestion\.objects\.|\bquestion\.save\(|\.update\(")
# What a state is called that is a question's: `Question.State.OPEN`, `State.OPEN`, `state`.
STATE = re.compile(r"^(Question\.)?State\.|^state$")
# Gold has no seats that are counted, and stays gold; what is written aside is content alone; the
# others are states of a run and of a class.
COUNTS_NOTHING = {
    "labeling/quality/gold.py _move_to_own_round",
    "labeling/follow_ups/chaining.py _save_aside",
    "labeling/quality/verifying.py _stop",
    "evaluation/benchmarks/runs.py _finish",
}


def writers(text: str) -> Iterator[ast.FunctionDef]:
    if not MAY_WRITE.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and (
            STATEMENT.search(ast.unparse(node)) or any(map(_updates, ast.walk(node)))
        ):
            yield node


def _updates(node: ast.AST) -> bool:
    """Whether this is `….update(seats_free=…)` or `….update(state=…)` with a question's state."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "update"):
        return False
    return any(
        word.arg == "seats_free" or (word.arg == "state" and STATE.search(ast.unparse(word.value)))
        for word in node.keywords
    )


def _counts(writer: ast.FunctionDef) -> bool:
    return "question_counts." in ast.unparse(writer)


def test_whoever_writes_states_or_seats_of_questions_counts_them():
    users = {
        f"{path.relative_to(ROOT).as_posix()} {writer.name}": "question_counts."
        in ast.unparse(writer)
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
        for writer in writers(path.read_text())
    }

    assert len(users) > 10
    assert {name for name, counts in users.items() if not counts} == COUNTS_NOTHING


@for_each(
    "line",
    [
        "execute(\"UPDATE labeling_question SET follow_up = true, state = 'open'\", [])",
        'execute(f"INSERT INTO labeling_question (id) VALUES ({pk})", [])',
        "Question.objects.bulk_create(rows)",
        "rows.update(state=State.OPEN)",
        "rows.update(seats_free=0)",
        "question.save(update_fields=['state'])",
    ],
)
def test_a_write_is_recognised(line):
    assert [writer.name for writer in writers(f"def write():\n    {line}")] == ["write"]


@pytest.mark.parametrize(
    "line",
    [
        'execute("UPDATE labeling_question SET follow_up = true WHERE state = 1", [])',
        "seats.update(state=Seat.State.CLOSED)",
        "rows.update(policy=policy)",
    ],
)
def test_another_write_is_none(line):
    assert list(writers(f"def write():\n    {line}")) == []
