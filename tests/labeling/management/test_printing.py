"""Results as people read them."""

from labeling.management.printing import MAX_PRINTED, show


def test_facts_come_first_then_tables_and_notes():
    text = show(
        {
            "notes": ["one note"],
            "rows": [{"name": "a", "value": 0.5}, {"name": "bb", "value": 1}],
            "top1_error": {"value": 0.25, "interval": [0.1, 0.4]},
            "names": ["x", "y"],
            "missing": None,
            "refused": [],
            "versions": {"numpy": "1"},
        }
    )

    assert text.split("\n\n") == [
        "top1 error  0.25 (0.1 to 0.4)\nnames       x, y\nmissing     -\nrefused     none",
        "notes\n- one note",
        "rows\nname  value\na       0.5\nbb        1",
    ]


def test_a_long_list_says_how_many_more_there_are():
    text = show({"rows": [{"n": number} for number in range(MAX_PRINTED + 3)]})

    assert text.endswith(f"\n{MAX_PRINTED - 1}\n… 3 more with --json")


def test_objects_that_are_alike_are_rows_and_one_with_many_keys_has_its_own_table():
    text = show(
        {
            "classes": {"dog": {"ap": 1.0}, "cat": {"ap": 0.5}},
            "counts": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5},
            "best": {"accuracy": 0.5, "threshold": 0.1},
        }
    )

    assert text.split("\n\n") == [
        "best accuracy   0.5\nbest threshold  0.1",
        "classes\n      ap\ndog    1\ncat  0.5",
        "counts\na  1\nb  2\nc  3\nd  4\ne  5",
    ]


def test_records_with_many_keys_are_columns():
    keys = [f"k{number}" for number in range(9)]

    text = show({"runs": [dict.fromkeys(keys, 1), dict.fromkeys(keys, 2)]})

    assert text.splitlines()[:2] == ["runs", "k0  1  2"]


def test_a_hash_is_shortened():
    assert show({"sha256": "a" * 64}) == f"sha256  {'a' * 12}…"
