"""YAML from strangers: what refers to itself or cannot be read is refused with its line."""

import pytest

from labeling import strict_yaml
from labeling.files import BadInput, read_yaml
from labeling.question_graph import replaying
from labeling.question_graph.graph import GraphError
from tests.cases import for_each

MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "line"),
    [(MERGES + "nodes: []\n", 3), ("x: &x [1]\nnodes: [*x, *x]", 2), ("nodes: &n [*n]", 1)],
)
def test_yaml_that_refers_to_itself_is_refused_with_its_line(tmp_path, text, line):
    (tmp_path / "rules.yaml").write_text(text)

    with pytest.raises(GraphError, match=f"uses a YAML alias .* in line {line};") as graph:
        replaying.parse(text)
    with pytest.raises(BadInput, match="uses a YAML alias") as policy:
        read_yaml(tmp_path / "rules.yaml")

    assert graph.value.line == policy.value.line == line


@for_each(
    "value", ["1" * 5000, "0x" + "f" * 9000, "2026-99-99", "0x_", "2001-12-14 21:59:43 -99:99"]
)
def test_a_value_that_is_none_is_refused_with_its_line(tmp_path, value):
    text = f"nodes:\n- id: {value}\n  question: Is there a cat?\n  class: n1\n"
    (tmp_path / "rules.yaml").write_text(text)

    with pytest.raises(GraphError, match="not YAML in line 2: a number or a date"):
        replaying.parse(text)
    with pytest.raises(BadInput, match="is not YAML"):
        read_yaml(tmp_path / "rules.yaml")


def test_a_number_of_thousands_of_digits_is_refused_in_json_too():
    with pytest.raises(GraphError, match="a number is too long"):
        replaying.parse('{"nodes": [{"id": ' + "1" * 5000 + "}]}")


def test_what_nests_too_deeply_or_is_too_long_is_refused(tmp_path, monkeypatch):
    (tmp_path / "deep.yaml").write_text("x: " + "[" * 2000)
    monkeypatch.setattr(strict_yaml, "MAX_CHARACTERS", 20)

    with pytest.raises(GraphError, match="write so much as JSON"):
        replaying.parse("nodes:\n- id: cat\n  question: Is there a cat?\n")
    monkeypatch.undo()
    with pytest.raises(BadInput, match="nests too deeply"):
        read_yaml(tmp_path / "deep.yaml")


def test_plain_values_are_read_as_ever():
    assert strict_yaml.load("a: 1\nb: 2026-11-21\nc: [yes, null, 1.5]\n<<: {d: 2}")["d"] == 2
