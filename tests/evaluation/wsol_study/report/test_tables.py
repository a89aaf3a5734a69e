"""Tables III and V to IX of a study, against numbers worked out by hand."""

import json

import pytest

from evaluation.wsol_study.report import tables
from evaluation.wsol_study.report.content import METHOD_TITLES, StudyContent
from evaluation.wsol_study.report.tables import PAPER_VALUES
from tests.evaluation.wsol_study.report import made_study
from tests.evaluation.wsol_study.report.made_study import trial

PAPER = ["vgg16", "inception_v3", "resnet50"]


def tables_of(study) -> dict[str, tables.PaperTable]:
    return {table.key: table for table in tables.tables(StudyContent(study))}


def values(table: tables.PaperTable) -> dict[str, list[object]]:
    """The columns of the paper, by row."""
    count = len(table.columns)
    return {str(name): cells[:count] for name, *cells in table.content()[1:]}


@pytest.fixture
def made(tmp_path) -> dict[str, tables.PaperTable]:
    return tables_of(made_study.write_whole(tmp_path))


def test_table_iii_has_the_tau_of_each_method_and_its_mean(made):
    rows = values(made["III"])

    assert rows["CAM"] == [1.0, 1.0]
    # Of ACoL's three pairs of trials one is turned around.
    assert rows["ACoL"] == [0.3333, 0.3333]
    assert rows["SPG"] == ["not run", "not run"]
    assert list(rows) == list(METHOD_TITLES.values())


def test_table_v_has_the_best_accuracy_over_the_thresholds(made):
    rows = values(made["V"])

    assert made["V"].columns == ["Top-1 loc small", "MaxBoxAcc small"]
    assert rows["Reproduced CAM"] == [25.0, 50.0]
    assert rows["Reproduced GC-Net"] == ["not built", "not built"]
    assert not [name for name in rows if name.startswith("Reported")]


def test_table_vi_is_relative_to_cam_with_baselines(made):
    assert values(made["VI"]) == {
        "CAM": [51.0, 51.0],
        "HaS": [-6.0, -6.0],
        "ACoL": [-1.0, -1.0],
        "SPG": ["not run", "not run"],
        "ADL": ["not run", "not run"],
        "CutMix": ["not run", "not run"],
        "GC-Net": ["not built", "not built"],
        "Best WSOL": [51.0, 51.0],
        "FSL baseline": [70.0, 70.0],
        "Center baseline": [30.0, 30.0],
    }


def test_a_csv_file_has_the_columns_of_the_paper_then_intervals_and_printed_numbers(made):
    head, cam, *_ = made["VI"].content()

    assert head == [
        "Methods",
        "small",
        "Mean",
        "small low",
        "Mean low",
        "small high",
        "Mean high",
        "small printed",
        "Mean printed",
    ]
    low, high = cam[3], cam[5]
    assert low <= 51.0 <= high
    assert cam[7:] == [None, None]


def test_changes_have_a_sign_on_pages(made):
    rows = dict(made["VI"].page_rows)

    assert rows["CAM"][0][0] == "51.0"
    assert rows["HaS"][0][0] == "-6.0"
    assert rows["HaS"][0][1].startswith("-")
    assert "to +" in rows["HaS"][0][1]


def test_tables_vii_and_viii_have_accuracy_and_scores_under_max_normalization(tmp_path):
    cam = trial("cam", 0, 0.3, 0.4, accuracy=0.8, test_max=0.45)
    has = trial("has", 0, 0.3, 0.4, accuracy=0.7, test_max=0.5)

    made = tables_of(made_study.write(tmp_path, [cam, has], [cam, has]))

    assert values(made["VII"])["HaS"] == [70.0, 70.0]
    assert values(made["VIII"])["CAM"] == [45.0, 45.0]
    assert values(made["VIII"])["HaS"] == [5.0, 5.0]
    assert values(made["VIII"])["Best WSOL"] == [50.0, 50.0]
    assert "GC-Net" not in values(made["VIII"])


def test_table_ix_has_the_saliency_methods_on_test(made):
    rows = values(made["IX"])

    assert list(rows) == ["VB", "GB", "SG-VB", "SG-GB", "IG-VB", "IG-GB", "CAM"]
    assert rows["IG-VB"] == [50.0, 50.0]
    assert rows["CAM"] == values(made["VI"])["CAM"]


def test_a_mean_needs_every_backbone_and_a_method_that_never_converged_says_so(tmp_path):
    first = trial("cam", 0, 0.3, 0.4)
    second = trial("cam", 0, 0.3, 0.6, backbone="resnet50")
    has = trial("has", 0, 0.3, 0.5)
    failed = trial("acol", 0, None, None)

    made = tables_of(
        made_study.write(
            tmp_path,
            [first, second, has, failed],
            [first, second, has],
            backbones=["small", "resnet50"],
        )
    )

    rows = values(made["VI"])
    assert made["VI"].columns == ["small", "ResNet", "Mean"]
    assert rows["CAM"] == [40.0, 60.0, 50.0]
    assert rows["HaS"] == [10.0, "not measured", "not measured"]
    assert rows["ACoL"] == ["never converged"] * 3
    assert rows["Best WSOL"] == [50.0, 60.0, 50.0]


def test_a_study_before_its_pass_over_test_has_words_instead_of_numbers(tmp_path):
    before = trial("cam", 0, 0.3, None, accuracy=None)

    made = tables_of(made_study.write(tmp_path, [before], [before], methods=["cam"]))

    assert values(made["VI"])["CAM"] == ["not measured"] * 2
    assert values(made["III"])["CAM"] == ["not measured"] * 2


def test_printed_numbers_stand_beside_the_same_data_set_and_metric_alone(tmp_path):
    for at, (dataset, metric, backbones, printed) in enumerate(
        [
            ("imagenet", "maxboxaccv2", PAPER, [60.0, 63.4, 63.7, 62.4]),
            ("imagenet", "maxboxaccv2", ["resnet50"], [63.7, None]),
            ("imagenet", "mpxap", PAPER, [None] * 4),
            ("cub", "mpxap", PAPER, [75.4, 70.4, 66.6, 70.8]),
            ("birds", "mpxap", PAPER, [None] * 4),
        ]
    ):
        changes = {"dataset": dataset, "metric": metric, "backbones": backbones}
        made = tables_of(made_study.write(tmp_path / str(at), [], [], **changes))

        [cam, *_] = made["VI"].rows
        assert [cell.printed for cell in cam.cells] == printed, (dataset, metric)


def test_reported_rows_are_those_of_the_data_set(tmp_path):
    changes = {"dataset": "imagenet", "backbones": PAPER}
    table = tables_of(made_study.write(tmp_path, [], [], **changes))["V"]

    rows = {row.name: [cell.printed for cell in row.cells] for row in table.rows}
    assert rows["Reported CAM"] == [42.8, None, 46.3, None, 62.7, None]
    assert rows["Reproduced CutMix"] == [46.1, 49.2, 51.5, 63.9, 62.2, 65.4]


# These do not agree in the paper either; they are kept as printed.
AS_PRINTED = {
    ("VIII", "imagenet/maxboxaccv2", "Inception"),
    ("VIII", "openimages/mpxap", "ResNet"),
    ("VIII", "openimages/mpxap", "CAM"),
    ("IX", "openimages/mpxap", "SG-VB"),
}


def blocks(*keys: str):
    return [(key, name, block) for key in keys for name, block in PAPER_VALUES[key].items()]


def test_the_best_method_as_printed_is_cam_plus_the_largest_change():
    wrong = set()
    for key, name, block in blocks("VI", "VIII"):
        rows = block["rows"]
        for at, column in enumerate(block["columns"]):
            changes = [rows[method][at] for method in METHOD_TITLES.values() if method != "CAM"]
            if abs(rows["CAM"][at] + max(0, *changes) - rows["Best WSOL"][at]) > 0.11:
                wrong.add((key, name, column))

    assert wrong == {case for case in AS_PRINTED if case[2] in ("Inception", "ResNet")}


def test_printed_means_are_those_of_the_three_backbones():
    wrong = {
        (key, name, method)
        for key, name, block in blocks("III", "VI", "VII", "VIII", "IX")
        for method, row in block["rows"].items()
        if method != "Best WSOL" and abs(row[3] - sum(row[:3]) / 3) > 0.11
    }

    assert wrong == {case for case in AS_PRINTED if case[2] in ("CAM", "SG-VB")}


def test_tables_are_records_that_json_gives_back(made):
    for table in made.values():
        raw = json.loads(json.dumps(table.to_json()))
        assert tables.PaperTable.from_json(raw) == table
