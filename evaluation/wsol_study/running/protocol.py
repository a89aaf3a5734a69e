"""The protocol of a study: search, choice on train-fullsup, then one pass over test.

Source: Choe et al. 2022, §4.2, §4.3 and §5.6. The choice is written and hashed before anything
reads the truth or an image of test.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from PIL import Image

from evaluation import devices
from evaluation.classifiers.scoremaps import folder as map_folders
from evaluation.classifiers.scoremaps import reading
from evaluation.engines.packing import Arrays, unpacked
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from evaluation.readers.wsol_folders import WsolImage
from evaluation.scoring.wsol.splits import FULL, TEST, WEAK, truth_hash
from evaluation.wsol_study import results
from evaluation.wsol_study.hyperparameters import SPACES, draw
from evaluation.wsol_study.results import CAM, FSL, StudyFolder, Trial
from evaluation.wsol_study.running import attributions
from evaluation.wsol_study.running.config import StudyConfig
from evaluation.wsol_study.running.parts import StudyData, Subset
from evaluation.wsol_study.running.scores import Scores
from evaluation.wsol_study.running.training import TrialPlan
from evaluation.wsol_study.running.trials import (
    MAP,
    TrainedValues,
    center_task,
    sample_names,
    testing_task,
    training_task,
)
from labeling.files import atomic_write, file_sha256
from labeling.json_text import canonical_sha256

Make = Callable[[Sequence[Task], str], Iterable[bytes]]
WHOLE_TEST = "maps"


@dataclass
class Model:
    """A trained model: what was planned, the task that made it, its record.

    subsets: scores on the subsets of its plan.
    """

    plan: TrialPlan
    task: Task
    trial: Trial
    subsets: list[float | None]


@dataclass(frozen=True)
class StudyRun:
    """A run of a study into a folder. make: makes tasks and returns their objects in order.

    device: where models are trained.
    """

    config: StudyConfig
    data: StudyData
    folder: StudyFolder
    store: Store
    make: Make
    device: str
    deterministic: bool = False

    def run(self) -> None:
        """Make what the folder lacks, and write its files."""
        config = self.config
        self.folder.begin(self._study())
        pairs = [(method, backbone) for backbone in config.backbones for method in config.methods]
        plans = [self._search(*pair, number) for pair in pairs for number in range(config.trials)]
        searched = self._train(plans, "search")
        few = self._train(self._few_shot_searches(), "few-shot search")
        chosen = self._choose(searched, few)
        before = [model.trial.to_json() for model in searched]
        choice = results.Choice(chosen=chosen, sha256=canonical_sha256([before, chosen]))
        self.folder.write("trials.jsonl", [model.trial for model in searched])
        self.folder.write("choice.json", choice)
        best = list(_chosen(chosen, [*searched, *few]))
        again = self._train(
            [_again(model.plan) for model in best if not _is_final(model.plan)], "final training"
        )
        finals = [model for model in best if _is_final(model.plan)] + again
        self._test(searched, finals, choice)

    @cached_property
    def _sha256(self) -> str:
        return self.data.sha256(WEAK, FULL)

    @cached_property
    def _weights(self) -> dict[str, tuple[str, str]]:
        """Return backbone → file of weights and its SHA-256."""
        files = self.config.weights.items()
        return {name: (str(file.absolute()), file_sha256(file)) for name, file in files}

    def _study(self) -> results.Study:
        files = {
            name: f"{Path(file).name} {sha256}" for name, (file, sha256) in self._weights.items()
        }
        values = vars(self.config) | {
            "weights": {name: files.get(name, results.SCRATCH) for name in self.config.backbones},
            "classes": self.data.classes,
            "images": self.data.counts(),
        }
        keys = results.StudySettings.__annotations__
        return results.Study(
            settings=results.StudySettings(**{key: values[key] for key in keys}),
            device=self.device,
            deterministic=self.deterministic,
            threads=self.config.threads,
            versions=devices.versions(self.device),
        )

    def _search(self, method: str, backbone: str, number: int) -> TrialPlan:
        """Return the plan of a trial of the search."""
        training, validation = Subset(part=WEAK, share=self.config.proxy), Subset(part=FULL)
        if method == FSL:
            training = Subset(part=FULL, fold="search")
            validation = Subset(part=FULL, fold="validation")
        words = (self.config.seed, method, backbone, number)
        plan = self._plan(method, backbone, number, training, validation, words)
        if method == CAM and backbone == self._shot_backbone:
            shots = [Subset(part=FULL, count=count, sample=sample) for count, sample in self._shots]
            return replace(plan, subsets=shots)
        return plan

    def _plan(
        self,
        method: str,
        backbone: str,
        number: int,
        training: Subset,
        validation: Subset | None,
        words: Sequence[str | int],
    ) -> TrialPlan:
        config = self.config
        return TrialPlan(
            method=method,
            backbone=backbone,
            trial=number,
            hyperparameters=draw(SPACES[method], words),
            seed=config.seed,
            epochs=config.fsl_epochs if method == FSL else config.epochs,
            batch=config.batch,
            decay_every=max(1, round(config.decay_every * config.fsl_epochs / config.epochs))
            if method == FSL
            else config.decay_every,
            best=config.convention == "reference" and validation is not None,
            protocol=config.protocol,
            targets=config.targets,
            training=training,
            validation=validation,
        )

    @property
    def _shots(self) -> list[tuple[int, int]]:
        """Return the numbers of images per class and the samples of Fig 19."""
        counts, samples = self.config.few_shot, range(self.config.few_shot_samples)
        return [(count, sample) for count in counts for sample in samples]

    @property
    def _shot_backbone(self) -> str:
        """Return the backbone of Fig 19: ResNet50, where the study has it."""
        backbones = self.config.backbones
        return "resnet50" if "resnet50" in backbones else backbones[0]

    def _few_shot_searches(self) -> list[TrialPlan]:
        backbone = self._shot_backbone
        return [
            self._plan(
                FSL,
                backbone,
                number,
                Subset(part=FULL, count=count, sample=sample, fold="search"),
                Subset(part=FULL, count=count, sample=sample, fold="validation"),
                (self.config.seed, FSL, backbone, number, count, sample),
            )
            for count, sample in self._shots
            for number in range(self.config.few_shot_trials)
        ]

    def _train(self, plans: Sequence[TrialPlan], purpose: str) -> list[Model]:
        """Train models, or take those that the store has; write the curves of the search."""
        machine = {
            "device": self.device,
            "threads": self.config.threads,
            "deterministic": self.deterministic,
        }
        tasks = [
            training_task(
                plan,
                self.data,
                self._sha256,
                self._weights.get(plan.backbone),
                machine,
                self.folder.path / "checkpoints",
                self.config.checkpoint_seconds,
            )
            for plan in plans
        ]
        models = []
        for plan, task, content in zip(plans, tasks, self.make(tasks, purpose), strict=True):
            Path(task.locations["checkpoint"]).unlink(missing_ok=True)
            values = TrainedValues.from_json(unpacked(content)[1])
            models.append(_model(plan, task, values))
            if purpose == "search":
                self._write_curve(models[-1], values)
        return models

    def _write_curve(self, model: Model, values: TrainedValues) -> None:
        nan = float("nan")
        fullsup = list(values.curve)
        fullsup[-1] = model.trial.fullsup if fullsup[-1] is None else fullsup[-1]
        columns = {
            "epoch": [float(number + 1) for number in range(len(fullsup))],
            "loss": [nan if loss is None else loss for loss in values.losses],
            "fullsup": [nan if value is None else value for value in fullsup],
        }
        name = f"curves/{model.trial.pair}-{model.trial.trial}.csv"
        self.folder.write_columns(name, columns)

    def _choose(self, searched: Sequence[Model], few: Sequence[Model]) -> dict[str, int]:
        """Return the trial of each pair that is best on train-fullsup; of equal ones the first.

        Pairs of Fig 19 are PAIR/COUNT/SAMPLE.
        """
        scores: dict[str, dict[int, float]] = {}

        def add(key: str, model: Model, value: float | None) -> None:
            if value is not None and model.trial.converged:
                scores.setdefault(key, {})[model.trial.trial] = value

        for model in searched:
            add(model.trial.pair, model, model.trial.fullsup)
            for subset, value in zip(model.plan.subsets, model.subsets, strict=True):
                add(_key(model.trial.pair, subset), model, value)
        for model in few:
            add(_key(model.trial.pair, model.plan.training), model, model.trial.fullsup)
        best = {key: max(sorted(values), key=values.__getitem__) for key, values in scores.items()}
        for model in searched:
            model.trial.chosen = best.get(model.trial.pair) == model.trial.trial
            model.trial.analysis = not model.trial.chosen
        return best

    def _test(
        self, searched: Sequence[Model], finals: Sequence[Model], choice: results.Choice
    ) -> None:
        """Score every model on test, and write what that gives."""
        truth = truth_hash(Path(self.data.metadata, TEST))
        passes = self.folder.passes()
        if not any((each.choice, each.truth) == (choice.sha256, truth) for each in passes):
            number, images = len(passes) + 1, self.data.counts()[TEST]
            started = results.TestPass(
                number=number, choice=choice.sha256, truth=truth, images=images
            )
            self.folder.write("test_passes.jsonl", [*passes, started])
        tests, attributed = self._tested([*finals, *searched], len(finals))
        for model in searched:
            if (test := tests.get(model.task.key)) is not None:
                _add_test(model.trial, test)
        few_shot, reported = [], []
        for model in finals:
            final = replace(model.trial, chosen=True, analysis=False)
            if (test := tests.get(model.task.key)) is not None:
                _add_test(final, test)
            subset = model.plan.training
            if subset.count is None:
                reported.append(final)
            else:
                few_shot.append(_few_shot(final, subset))
        by_number = {(model.trial.pair, model.trial.trial): model for model in searched}
        for count, sample in self._shots:
            subset = Subset(part=FULL, count=count, sample=sample)
            pair = f"{CAM}-{self._shot_backbone}"
            if (chosen := choice.chosen.get(_key(pair, subset))) is not None:
                model = by_number[pair, chosen]
                of_subset = model.subsets[model.plan.subsets.index(subset)]
                trial = replace(model.trial, fullsup=of_subset)
                few_shot.append(_few_shot(trial, subset))
        self.folder.write("attribution.jsonl", attributed)
        self.folder.write("center.json", self._center())
        self.folder.write("few_shot.jsonl", few_shot)
        self.folder.write("finals.jsonl", reported)
        self.folder.write("trials.jsonl", [model.trial for model in searched])

    def _tested(
        self, models: Sequence[Model], finals: int
    ) -> tuple[dict[str, Scores], list[results.Attribution]]:
        """Return the scores on test by the key of the trained model, and those of gradients; write
        maps of final models.

        finals: how many models, from the first, are final.
        """
        config, sha256 = self.config, self.data.sha256(TEST)
        tasks: dict[str, tuple[Model, Task]] = {}
        for at, model in enumerate(models):
            if model.trial.converged and model.task.key not in tasks:
                is_final = at < finals and model.plan.training.count is None
                test = testing_task(
                    model.task,
                    self.data,
                    sha256,
                    self.store,
                    config.samples,
                    is_final,
                    config.keep_maps or config.submit_to is not None,
                )
                tasks[model.task.key] = model, test
        made = self.make([task for _, task in tasks.values()], "test")
        scores = {}
        for (key, (model, _)), content in zip(tasks.items(), made, strict=True):
            arrays, values = unpacked(content)
            scores[key] = Scores.from_json(values)
            if columns := scores[key].columns:
                self.folder.write_columns(f"by_threshold/{model.trial.pair}.csv", columns)
                self._write_maps(model.trial.pair, arrays)
        cams = [
            test
            for model, test in list(tasks.values())[:finals]
            if model.plan.method == CAM and config.attribution
        ]
        return scores, self._attributed(cams)

    def _attributed(self, tests: Sequence[Task]) -> list[results.Attribution]:
        """Return the cells of Table IX and Fig 20 for the final CAM models, by their tests."""
        rows = [(test, *cell) for test in tests for cell in attributions.cells()]
        tasks = [
            attributions.attribution_task(test, part, self.data.sha256(part), name, n, sigma)
            for test, part, name, n, sigma in rows
        ]
        return [
            results.Attribution(
                method=name,
                backbone=test.locations["plan"]["backbone"],
                part=part,
                samples=n,
                smooth=sigma,
                value=Scores.from_json(unpacked(content)[1]).value,
            )
            for (test, part, name, n, sigma), content in zip(
                rows, self.make(tasks, "gradients"), strict=True
            )
        ]

    def _write_maps(self, pair: str, arrays: Arrays) -> None:
        part = self.data.part(TEST)
        maps = {key.removeprefix(MAP): arrays[key] for key in arrays if key.startswith(MAP)}
        if len(maps) == len(part.names):
            whole = map_folders.Folder(self.folder.path / WHOLE_TEST / pair)
            for name, scores in maps.items():
                whole.write(name, scores)
        sampled = map_folders.Folder(self.folder.path / "samples" / pair)
        boxes = io.StringIO()
        rows = csv.writer(boxes, lineterminator="\n")
        rows.writerow(["id", "x0", "y0", "x1", "y1"])
        for name in sample_names(part, self.config.samples):
            sampled.write(name, maps[name])
            path = self.folder.path / "samples" / "images" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = reading.pixels_of(Path(self.data.images, name), "upright")
            with atomic_write(path, "wb") as file:
                Image.fromarray(pixels).save(file, "PNG")
            image = part.truth[part.names.index(name)]
            if isinstance(image, WsolImage):
                rows.writerows([name, *map("{:g}".format, box)] for box in image.boxes)
        self.folder.write_text("samples/boxes.csv", boxes.getvalue())

    def _center(self) -> results.Center:
        parts, protocol = (FULL, TEST), self.config.protocol
        tasks = [center_task(part, self.data, self.data.sha256(part), protocol) for part in parts]
        made = [Scores.from_json(unpacked(each)[1]) for each in self.make(tasks, "center baseline")]
        full, test = made
        return results.Center(
            fullsup=full.value,
            test=test.value,
            fullsup_max=full.value_max,
            test_max=test.value_max,
        )


def _chosen(chosen: dict[str, int], models: Sequence[Model]) -> Iterator[Model]:
    """Yield the trained model of each choice, without CAM's of Fig 19."""
    for model in models:
        if chosen.get(_key(model.trial.pair, model.plan.training)) == model.trial.trial:
            yield model


def _is_final(plan: TrialPlan) -> bool:
    """Return whether the plan trains on all images, so that no final training is needed."""
    return plan.training.share == 1 and plan.training.fold is None


def _again(plan: TrialPlan) -> TrialPlan:
    """Return the plan of the final model of a chosen trial."""
    training = replace(plan.training, share=1.0, fold=None)
    validation = None if plan.method == FSL else plan.validation
    best = plan.best and validation is not None
    return replace(plan, training=training, validation=validation, best=best, subsets=[])


def _key(pair: str, subset: Subset) -> str:
    """Return the key of a choice: PAIR, or PAIR/COUNT/SAMPLE in Fig 19."""
    return pair if subset.count is None else f"{pair}/{subset.count}/{subset.sample}"


def _model(plan: TrialPlan, task: Task, values: TrainedValues) -> Model:
    scores = values.scores
    none = Scores(value=None, value_max=None, threshold=None, area=None)
    main = scores[0] if scores else none
    trial = Trial(
        method=plan.method,
        backbone=plan.backbone,
        trial=plan.trial,
        hyperparameters=plan.hyperparameters,
        converged=values.converged,
        fullsup=main.value,
        test=None,
        fullsup_max=main.value_max,
        test_max=None,
        accuracy=None,
        area=None,
        threshold_fullsup=main.threshold,
        threshold_test=None,
        boxes_at=None,
        loss=values.losses[-1],
        epoch=values.epoch,
        epochs=plan.epochs,
        chosen=False,
        analysis=False,
    )
    subsets = [each.value for each in scores[1:]] or [None] * len(plan.subsets)
    return Model(plan, task, trial, subsets)


def _add_test(trial: Trial, test: Scores) -> None:
    trial.test, trial.test_max, trial.threshold_test = test.value, test.value_max, test.threshold
    trial.accuracy, trial.area, trial.boxes_at = test.accuracy, test.area, test.boxes_at
    trial.top1 = test.top1


def _few_shot(trial: Trial, subset: Subset) -> results.FewShot:
    assert subset.count is not None
    return results.FewShot(
        method=trial.method,
        backbone=trial.backbone,
        per_class=subset.count,
        sample=subset.sample,
        trial=trial.trial,
        fullsup=trial.fullsup,
        test=trial.test,
    )
