"""From a campaign of parts to a benchmark, and classifiers that come, change and go."""

import csv
import json
import shutil

import pytest

from evaluation.benchmarks import folders as benchmark_folders
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.cds import benchmarks, running
from evaluation.benchmarks.kinds.cds.choosing import CdsChoice
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.models import Benchmark, Submission
from labeling.campaigns import lifecycle
from labeling.disk_full import StorageFull
from labeling.errors import Conflict, NotYours, Refusal
from labeling.files import BadInput
from labeling.releases import freezing
from tests.evaluation.cds import world
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW


def folders():
    """What lies in the benchmarks' folder, hidden or not."""
    root = benchmark_folders.root()
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def test_a_campaign_without_a_release_is_frozen(cats, reveal):
    assert reveal.kind == Benchmark.Kind.CDS
    assert reveal.campaign == cats
    assert reveal.release == cats.releases.get()


def test_the_latest_kept_release_is_revealed(alice, cats):
    first = freezing.freeze(cats, alice)

    assert world.make(alice, cats).release == first
    assert cats.releases.count() == 1


def test_an_interim_release_is_not_stood_on(alice, cats):
    freezing.freeze(cats, alice, interim=True)

    reveal = world.make(alice, cats)

    assert not reveal.release.counts.get("interim")


def test_every_object_with_a_drawn_part_has_a_line_for_each_scheme(reveal):
    lines = benchmarks.lines_of(reveal)

    objects = [("cats/0.png", "cat-1"), ("cats/0.png", "cow-1"), ("cats/1.png", "cat-1")]
    schemes = [("random", content) for content in world.SCHEMES]
    keys = [(line.image, line.object, line.part_scheme, line.content_scheme) for line in lines]
    assert keys == [(*thing, *scheme) for thing in objects for scheme in schemes]
    assert {key: reveal.settings[key] for key in ("objects", "sequences", "left_out")} == {
        "objects": 3,
        "sequences": 6,
        "left_out": 0,
    }
    assert reveal.settings["frames"] == len({frame for line in lines for frame in line.frames})


def test_the_settings_say_what_a_run_needs(reveal):
    stated = reveal.settings

    assert stated["part_schemes"] == ["random"]
    assert sorted(stated["orders"]["random"][CAT]) == ["head", "leg", "tail", "torso"]
    assert stated["mapping"] == {CAT: [CAT], COW: [COW]}
    assert (stated["measure"], stated["convention"], stated["by"]) == ("wup", "clean", "wnid")
    assert json.loads(json.dumps(stated)) == stated


def test_orders_come_as_they_are_uploaded(alice, cats):
    orders = world.orders_of(cats, first=list, last=lambda keys: keys[::-1])

    reveal = world.make(alice, cats, part_schemes=["last", "random", "first"], orders=orders)

    assert list(reveal.settings["orders"]) == ["last", "random", "first"]
    assert reveal.settings["orders"]["last"][COW] == ["horn", "head"]
    assert (
        json.load(kind_of(reveal).open_file(reveal, "orders.json"))["orders"]
        == reveal.settings["orders"]
    )


def test_what_cannot_be_is_refused_beside_its_field(alice, cats):
    for fields, field, message in [
        ({"part_schemes": ["E_U"]}, "part_schemes", "'E_U' is not one of: random"),
        ({"part_schemes": []}, "part_schemes", "at least one"),
        ({"content_schemes": ["sharp"]}, "content_schemes", "'sharp' is not one of: intra-object"),
        ({"content_schemes": ["low", "low"]}, "content_schemes", "once"),
        ({"measure": "res"}, "measure", "'res' is not one of wup"),
        ({"convention": "theirs"}, "convention", "'theirs' is not one of clean, wnsim"),
        ({"by": "heart"}, "by", "'heart' is not one of wnid, word"),
        ({"bootstrap": 10_001}, "bootstrap", "10,000"),
        ({"seed": -1}, "seed", "4294967295"),
        ({"mapping": {CAT: [CAT]}}, "mapping", f"no class for {COW} (cow)"),
        ({"title": " "}, "title", "title"),
        ({"name": "Reveal"}, "name", "cannot be a name"),
        ({"name": "new"}, "name", "cannot be a name"),
    ]:
        with pytest.raises(Refusal) as refusal:
            world.make(alice, cats, **fields)

        assert refusal.value.field == field, fields
        assert message in str(refusal.value), fields
        assert not Benchmark.objects.exists(), fields
        assert folders() == [], fields


def test_orders_that_do_not_fit_the_release_are_refused(alice, cats):
    orders = world.orders_of(cats, mine=lambda keys: [*keys[:-1], "wing"])

    with pytest.raises(BadInput, match="wing"):
        world.make(alice, cats, part_schemes=["mine"], orders=orders)

    assert folders() == []


def test_a_category_without_an_order_is_refused(alice, cats):
    orders = {"mine": {CAT: world.orders_of(cats, mine=list)["mine"][CAT]}}

    with pytest.raises(BadInput, match=f"mine orders no parts of {COW}"):
        world.make(alice, cats, part_schemes=["mine"], orders=orders)

    assert folders() == []


def test_another_kind_of_campaign_is_refused(alice, coots):
    with pytest.raises(Refusal, match="asks for no parts") as refusal:
        world.make(alice, coots)

    assert refusal.value.field == "campaign"


def test_a_campaign_where_nothing_is_settled_is_refused_and_not_frozen(alice, dataset):
    campaign = part_releases.campaign_of(alice, dataset)

    with pytest.raises(Refusal, match="No object of Cats is settled yet"):
        world.make(alice, campaign)

    assert not campaign.releases.exists()


def test_a_release_without_a_drawn_part_is_refused(alice, cats, monkeypatch):
    monkeypatch.setattr("evaluation.sequences.sequencing.lines_of", lambda *_: iter(()))

    with pytest.raises(Refusal, match="Release 1 has no object with a drawn part"):
        world.make(alice, cats)


def test_a_taken_name_is_refused(alice, cats, reveal):
    with pytest.raises(Conflict, match="already called 'reveal'"):
        world.make(alice, cats, seed=5)

    assert folders() == [str(reveal.pk)]


def test_the_same_again_is_the_same_benchmark(alice, cats, reveal):
    assert world.make(alice, cats) == reveal
    assert folders() == [str(reveal.pk)]


def test_a_crash_before_the_row_is_there_leaves_no_half_benchmark(alice, cats, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(benchmarks.os, "replace", fail)
        with pytest.raises(StorageFull, match="The disk is full"):
            world.make(alice, cats)

    assert not Benchmark.objects.exists()
    assert folders() == []
    assert world.make(alice, cats).pk


def test_an_orphaned_folder_harms_nobody(alice, cats, reveal):
    orphan = benchmark_folders.root() / str(reveal.pk + 1)
    (orphan / "frames" / "0").mkdir(parents=True)
    (orphan / "sequences.jsonl").write_text("stale\n")

    made = world.make(alice, cats, name="again")

    assert benchmark_folders.folder_of(made) == orphan
    assert not (orphan / "frames").exists()
    assert benchmarks.lines_of(made) == benchmarks.lines_of(reveal)


def test_a_plan_counts_and_makes_nothing(alice, cats):
    release = freezing.freeze(cats, alice)

    plan = benchmarks.plan(cats, CdsChoice(content_schemes=("low",)))

    assert plan is not None
    assert (plan.release, plan.objects, plan.sequences, plan.left_out) == (release.number, 3, 3, 0)
    assert plan.categories == {CAT: "cat", COW: "cow"}
    assert folders() == []


def test_a_plan_without_a_release_freezes_none(cats):
    assert benchmarks.plan(cats, CdsChoice()) is None
    assert not cats.releases.exists()


def test_a_benchmark_keeps_its_release_from_being_pruned(alice, cats, reveal):
    reveal.release.counts["interim"] = True
    reveal.release.save(update_fields=["counts"])
    lifecycle.change(cats, alice, title="Cats again")
    keep = freezing.freeze(cats, alice)

    assert freezing.prune(cats, keep) == 0
    Benchmark.objects.all().delete()
    assert freezing.prune(cats, keep) == 1


def test_one_file_brings_several_classifiers(wordnet, alice, reveal, tmp_path):
    joined = world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.right_at_last)

    assert joined == ["alpha", "beta"]
    rows = list(reveal.submissions.all())
    assert [(row.name, row.position, row.submitted_by) for row in rows] == [
        ("alpha", 0, alice),
        ("beta", 1, alice),
    ]
    for row in rows:
        path = benchmarks.predictions_path(row)
        assert benchmarks.file_sha256(path) == row.sha256
        assert {line.split(",")[1] for line in path.read_text().splitlines()[1:]} == {row.name}


def predictions_of(benchmark):
    return running.predictions_of(SequenceHistory.of(benchmark), 1)


def test_predictions_are_read_back_as_they_came(wordnet, alice, reveal, tmp_path):
    world.add(reveal, alice, tmp_path, beta=world.right_at_last, alpha=world.always_right)

    predictions = predictions_of(reveal)

    assert predictions is not None
    assert predictions.classifiers == ("beta", "alpha")
    whole = [line.frames[-1] for line in benchmarks.lines_of(reveal)]
    wnids = [
        predictions.classes[predictions.wnids["beta"][predictions.frames[frame]]] for frame in whole
    ]
    assert wnids == [CAT, CAT, COW, COW, CAT, CAT]
    assert predictions_of(world.make(alice, reveal.campaign, name="empty")) is None


def test_the_same_file_again_changes_nothing(wordnet, alice, reveal, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.always_right)
    before = list(reveal.submissions.values())

    assert world.add(reveal, alice, tmp_path, alpha=world.always_right) == []
    assert list(reveal.submissions.values()) == before


def test_another_file_under_a_taken_name_replaces_it_and_leaves_the_others(
    wordnet, alice, reveal, tmp_path, django_capture_on_commit_callbacks
):
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.right_at_last)
    alpha, beta = reveal.submissions.all()
    old = benchmarks.predictions_path(alpha)

    with django_capture_on_commit_callbacks(execute=True):
        changed = world.add(reveal, alice, tmp_path, alpha=world.right_at_last)

    assert changed == ["alpha"]
    again = reveal.submissions.get(name="alpha")
    assert (again.pk, again.position) == (alpha.pk, 0)
    assert again.sha256 != alpha.sha256
    assert benchmarks.predictions_path(again).is_file()
    assert not old.exists()
    assert reveal.submissions.get(name="beta").sha256 == beta.sha256


def test_further_columns_are_kept(wordnet, alice, reveal, tmp_path):
    rows = [[*row, "0.5", "x, y"] for row in world.rows_of(reveal, alpha=world.always_right)]
    path = tmp_path / "p.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["frame", "classifier", "wnid", "confidence", "note"], *rows])

    benchmarks.add_predictions(reveal, alice, path)

    kept = benchmarks.predictions_path(reveal.submissions.get()).read_text()
    assert kept.splitlines()[0] == "frame,classifier,wnid,confidence,note"
    assert '0.5,"x, y"' in kept


def faulty(rows, fault):
    """The rows with one fault, and the line that it is in."""
    if fault == "unknown frame":
        rows[1][0] = "nowhere/01"
    elif fault == "twice":
        rows.insert(1, rows[0])
    elif fault == "no known frame":
        rows[:] = [["nowhere/01", "alpha", rows[0][2]]]
    elif fault == "not in WordNet":
        rows[1][2] = "n00000001"
    return rows


def test_bad_predictions_are_named_and_change_nothing(wordnet, alice, reveal, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.right_at_last)
    before = list(reveal.submissions.values())
    files = sorted(benchmark_folders.folder_of(reveal).rglob("*"))
    for fault, message in [
        ("unknown frame", "mine.csv, line 3: no sequence has the frame 'nowhere/01'; "),
        ("twice", "mine.csv, line 3: frame "),
        ("no known frame", "mine.csv, line 2: no sequence has the frame 'nowhere/01'; "),
        ("not in WordNet", "mine.csv, line 3: 'n00000001' is not a noun of WordNet 3.0; "),
    ]:
        rows = faulty(world.rows_of(reveal, alpha=world.always_right), fault)

        with pytest.raises(BadInput) as bad:
            benchmarks.add_predictions(
                reveal, alice, world.write(tmp_path / "p.csv", rows), "mine.csv"
            )

        assert str(bad.value).startswith(message), fault
        assert list(reveal.submissions.values()) == before, fault
        assert sorted(benchmark_folders.folder_of(reveal).rglob("*")) == files, fault
        assert folders() == [str(reveal.pk)], fault


def test_the_people_s_name_is_kept_for_them(wordnet, alice, reveal, tmp_path):
    for name in ["people", "People", " people "]:
        rows = [[a, name, c] for a, _, c in world.rows_of(reveal, x=world.always_right)]

        with pytest.raises(Refusal, match="is reserved for the people"):
            benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "p.csv", rows))

        assert not reveal.submissions.exists(), name


def test_long_names_and_too_many_classifiers_are_refused(
    wordnet, alice, reveal, tmp_path, monkeypatch
):
    with pytest.raises(Refusal, match="at most 100"):
        world.add(reveal, alice, tmp_path, **{"x" * 101: world.always_right})
    monkeypatch.setattr(benchmarks, "MAX_CLASSIFIERS", 1)
    with pytest.raises(Refusal, match="These would be 2 classifiers"):
        world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.always_right)

    assert not reveal.submissions.exists()


def test_a_classifier_leaves_with_its_file_and_the_next_gets_a_place_of_its_own(
    wordnet, alice, reveal, tmp_path, django_capture_on_commit_callbacks
):
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.right_at_last)
    path = benchmarks.predictions_path(reveal.submissions.get(name="alpha"))

    with django_capture_on_commit_callbacks(execute=True):
        assert kind_of(reveal).remove(reveal, 0) == "alpha"
    world.add(reveal, alice, tmp_path, gamma=world.always_right)

    assert not path.exists()
    assert list(reveal.submissions.values_list("name", "position")) == [("beta", 1), ("gamma", 2)]


def test_who_is_not_there_and_people_cannot_be_removed(alice, reveal):
    Submission.objects.create(
        benchmark=reveal, name="people", position=0, is_people=True, submitted_by=alice
    )

    with pytest.raises(NotYours):
        kind_of(reveal).remove(reveal, 7)
    with pytest.raises(Refusal, match="their own campaign"):
        kind_of(reveal).remove(reveal, 0)

    assert reveal.submissions.get().is_people


def test_predictions_that_are_gone_say_so(wordnet, alice, reveal, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.always_right)
    shutil.rmtree(benchmark_folders.folder_of(reveal) / "predictions")

    with pytest.raises(BadInput, match="upload the classifier's predictions again"):
        predictions_of(reveal)


def test_the_first_line_is_read_alone(reveal):
    assert benchmarks.first_line_of(reveal) == benchmarks.lines_of(reveal)[0]


def test_lines_that_are_gone_say_so(reveal):
    shutil.rmtree(benchmark_folders.folder_of(reveal))

    with pytest.raises(Refusal, match="not on this server any more"):
        benchmarks.first_line_of(reveal)


def test_a_crash_while_predictions_come_in_changes_nothing(
    wordnet, alice, reveal, tmp_path, monkeypatch
):
    world.add(reveal, alice, tmp_path, alpha=world.always_right)
    before = list(reveal.submissions.values())
    moved = []

    def fail_at_the_second(*paths):
        moved.append(paths)
        if len(moved) > 1:
            raise OSError(28, "No space left on device")
        shutil.move(*paths)

    with monkeypatch.context() as broken:
        broken.setattr(benchmarks.os, "replace", fail_at_the_second)
        with pytest.raises(StorageFull, match="The disk is full"):
            world.add(reveal, alice, tmp_path, alpha=world.right_at_last, beta=world.always_right)

    assert list(reveal.submissions.values()) == before
    assert predictions_of(reveal).classifiers == ("alpha",)
    assert folders() == [str(reveal.pk)]


def test_predictions_that_are_replaced_while_they_are_read_are_read_again(
    wordnet, alice, reveal, tmp_path, monkeypatch, django_capture_on_commit_callbacks
):
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.always_right)
    read, readings = running.read_predictions, []

    def replaced_at_first(path, *rest, **options):
        readings.append(path)
        if len(readings) == 1:
            monkeypatch.setattr(running, "read_predictions", read)
            with django_capture_on_commit_callbacks(execute=True):
                world.add(reveal, alice, tmp_path, beta=world.right_at_last)
                kind_of(reveal).remove(reveal, 0)
        return read(path, *rest, **options)

    monkeypatch.setattr(running, "read_predictions", replaced_at_first)
    predictions = predictions_of(reveal)

    assert predictions is not None
    assert predictions.classifiers == ("beta",)
    first = benchmarks.first_line_of(reveal).frames[0]
    assert predictions.classes[predictions.wnids["beta"][predictions.frames[first]]] == world.DOG


def test_more_classifiers_than_a_benchmark_takes_are_refused_before_they_fill_the_memory(
    wordnet, alice, reveal, tmp_path
):
    first = benchmarks.first_line_of(reveal).frames[0]
    rows = [[first, f"c{number}", world.DOG] for number in range(5000)]

    with pytest.raises(Refusal, match="These would be 101 classifiers"):
        benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "p.csv", rows))


def test_names_that_cannot_be_told_apart_are_refused(wordnet, alice, reveal, tmp_path):
    for name in [" alpha", "alpha ", "al\npha", "al\x1b[31mpha", "a\u202elpha", "\u200b"]:
        with pytest.raises(Refusal, match="characters that cannot be seen"):
            world.add(reveal, alice, tmp_path, **{name: world.always_right})

        assert not reveal.submissions.exists(), name


@pytest.mark.parametrize("name", ["../../x", "a/b", "=1+1", "日本", "."])
def test_any_other_name_is_no_file_name_and_harms_nobody(wordnet, alice, reveal, tmp_path, name):
    world.add(reveal, alice, tmp_path, **{name: world.always_right})

    row = reveal.submissions.get()
    assert row.name == name
    folder = benchmark_folders.folder_of(reveal)
    assert benchmarks.predictions_path(row).parent == folder / "predictions"
    assert predictions_of(reveal).classifiers == (name,)


def test_a_long_frame_id_does_not_fill_the_page(wordnet, alice, reveal, tmp_path):
    rows = [["x" * 100_000, "alpha", world.DOG]]

    with pytest.raises(BadInput) as bad:
        benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "p.csv", rows))

    assert len(str(bad.value)) < 500
