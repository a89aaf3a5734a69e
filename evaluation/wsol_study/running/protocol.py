"""The protocol of a study: search, choice on train-fullsup, then one pass over test.

Source: Choe et al. 2022, §4.2, §4.3 and §5.6. The choice is written and hashed before anything
reads the truth or an image of test.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from evaluation import devices
from evaluation.classifiers.scoremaps import folder as map_folders
from evaluation.classifiers.scoremaps import reading
from evaluation.engines.packing import unpack_arrays
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from evaluation.readers.wsol_folders import WsolImage
from evaluation.scoring.wsol.splits import FULL, TEST, WEAK, truth_hash
from evaluation.wsol_study import results
from evaluation.wsol_study.hyperparameters import SPACES, draw
from evaluation.wsol_study.results import CAM, FSL, Attribution, StudyFolder, Trial
from evaluation.wsol_study.running import attributions
from evaluation.wsol_study.running.config import StudyConfig
from evaluation.wsol_study.running.parts import StudyData, Subset
from evaluation.wsol_study.running.scores import Maps, Scores
from evaluation.wsol_study.running.training import TrialPlan
from evaluation.wsol_study.running.trials import (
    MAP,
    StudySite,
    TrainedValues,
    center_task,
    sample_names,
    testing_task,
    training_task,
)
from labeling.files import file_sha256
from labeling.json_text import canonical_sha256

Make = Callable[[Sequence[Task], str], Iterable[bytes]]
WHOLE_TEST = "maps"
ALL = Subset(part=FULL)


@dataclass
class Model:
    """A trained model: its plan, the task that made it and its record.

    scores: train-fullsup scores by key of a choice (_key): of the search and, for CAM, of the
    points of Fig 19.
    """

    plan: TrialPlan
    task: Task
    trial: Trial
    scores: Mapping[str, float | None]

    @property
    def key(self) -> str:
        return _key(self.trial.pair, self.plan.training)


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
        """Run the study; results that the folder or the store has are not computed again."""
        config, backbone = self.config, self._shot_backbone
        self.folder.begin(self._study())
        pairs = [(method, backbone) for backbone in config.backbones for method in config.methods]
        plans = [self._plan(*pair, number) for pair in pairs for number in range(config.trials)]
        searched = self._train(plans, "search")
        numbers = range(config.few_shot_trials)
        plans = [self._plan(FSL, backbone, n, shot) for shot in self._shots for n in numbers]
        best = _best([*searched, *self._train(plans, "few-shot search")])
        choice = self._write_choice(searched, best)
        winners = [model for key, model in best.items() if key == model.key]
        ready = [model for model in winners if _is_final(model.plan)]
        plans = [_final_plan(model.plan) for model in winners if not _is_final(model.plan)]
        finals = ready + self._train(plans, "final training")
        self._count_pass(choice)
        attributed = self._test(finals, searched)
        self._write(searched, finals, best)
        self.folder.write("attribution.jsonl", attributed)
        self.folder.write("center.json", self._center())

    @cached_property
    def _sha256(self) -> str:
        return self.data.sha256(WEAK, FULL)

    @cached_property
    def _weights(self) -> dict[str, tuple[str, str]]:
        """Return backbone → file of weights and its SHA-256."""
        files = self.config.weights.items()
        return {name: (str(file.absolute()), file_sha256(file)) for name, file in files}

    @cached_property
    def _site(self) -> StudySite:
        return StudySite(
            data=self.data,
            device=self.device,
            threads=self.config.threads,
            deterministic=self.deterministic,
            store=self.store.address,
            checkpoints=str(self.folder.path / "checkpoints"),
            seconds=self.config.checkpoint_seconds,
        )

    def _study(self) -> results.Study:
        files = {name: f"{Path(file).name} {sha}" for name, (file, sha) in self._weights.items()}
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

    def _plan(self, method: str, backbone: str, number: int, images: Subset = ALL) -> TrialPlan:
        """Return the plan of a trial. images: train-fullsup images on which it is chosen."""
        config, is_fsl = self.config, method == FSL
        words: list[str | int] = [config.seed, method, backbone, number]
        if images.count is not None:
            words += [images.count, images.sample]
        decay = config.decay_every
        if is_fsl:
            decay = max(1, round(decay * config.fsl_epochs / config.epochs))
        weak = Subset(part=WEAK, share=config.proxy)
        is_shot = method == CAM and backbone == self._shot_backbone
        return TrialPlan(
            method=method,
            backbone=backbone,
            trial=number,
            hyperparameters=draw(SPACES[method], words),
            seed=config.seed,
            epochs=config.fsl_epochs if is_fsl else config.epochs,
            batch=config.batch,
            decay_every=decay,
            best=config.convention == "reference",
            protocol=config.protocol,
            targets=config.targets,
            training=replace(images, fold="search") if is_fsl else weak,
            validation=replace(images, fold="validation") if is_fsl else images,
            subsets=self._shots if is_shot else [],
        )

    @property
    def _shots(self) -> list[Subset]:
        """Return the images of train-fullsup for each point of Fig 19."""
        samples = range(self.config.few_shot_samples)
        return [
            Subset(part=FULL, count=count, sample=sample)
            for count in self.config.few_shot
            for sample in samples
        ]

    @property
    def _shot_backbone(self) -> str:
        """Return the backbone of Fig 19: ResNet50, where the study has it."""
        backbones = self.config.backbones
        return "resnet50" if "resnet50" in backbones else backbones[0]

    def _train(self, plans: Sequence[TrialPlan], purpose: str) -> list[Model]:
        """Train models, or take those that the store has; write the curves of the search."""
        tasks = [
            training_task(plan, self._sha256, self._weights.get(plan.backbone), self._site)
            for plan in plans
        ]
        models = []
        for plan, task, content in zip(plans, tasks, self.make(tasks, purpose), strict=True):
            Path(task.locations["checkpoint"]).unlink(missing_ok=True)
            values = TrainedValues.from_json(unpack_arrays(content)[1])
            models.append(_model(plan, task, values))
            if purpose == "search":
                self._write_curve(models[-1].trial, values)
        return models

    def _write_curve(self, trial: Trial, values: TrainedValues) -> None:
        *earlier, last = values.curve
        columns: dict[str, Sequence[float | None]] = {
            "epoch": range(1, len(values.curve) + 1),
            "loss": values.losses,
            "fullsup": [*earlier, trial.fullsup if last is None else last],
        }
        self.folder.write_columns(f"curves/{trial.pair}-{trial.trial}.csv", columns)

    def _write_choice(self, searched: Sequence[Model], best: Mapping[str, Model]) -> results.Choice:
        for model in searched:
            model.trial.chosen = best.get(model.key) is model
            model.trial.analysis = not model.trial.chosen
        trials = [model.trial for model in searched]
        chosen = {key: model.trial.trial for key, model in best.items()}
        hashed = canonical_sha256([[trial.to_json() for trial in trials], chosen])
        choice = results.Choice(chosen=chosen, sha256=hashed)
        self.folder.write("trials.jsonl", trials)
        self.folder.write("choice.json", choice)
        return choice

    def _count_pass(self, choice: results.Choice) -> None:
        """Record a pass over test, unless it continues one of the same choice and truth."""
        truth, passes = truth_hash(Path(self.data.metadata, TEST)), self.folder.passes()
        if any((each.choice, each.truth) == (choice.sha256, truth) for each in passes):
            return
        number, images = len(passes) + 1, self.data.counts()[TEST]
        started = results.TestPass(number=number, choice=choice.sha256, truth=truth, images=images)
        self.folder.write("test_passes.jsonl", [*passes, started])

    def _test(self, finals: Sequence[Model], searched: Sequence[Model]) -> list[Attribution]:
        """Score models on test, write maps of the final ones; return the scores of gradients."""
        config, sha256 = self.config, self.data.sha256(TEST)
        keep_maps = config.keep_maps or config.submit_to is not None
        whole = {model.task.key: model for model in finals if model.plan.training.count is None}
        tasks = {
            model.task.key: testing_task(
                model.task, sha256, self._site, config.samples, model.task.key in whole, keep_maps
            )
            for model in [*finals, *searched]
            if model.trial.converged
        }
        scores = {}
        for key, content in zip(tasks, self.make(list(tasks.values()), "test"), strict=True):
            arrays, values = unpack_arrays(content)
            scores[key] = Scores.from_json(values)
            if columns := scores[key].columns:
                pair = whole[key].trial.pair
                self.folder.write_columns(f"by_threshold/{pair}.csv", columns)
                maps = {n[len(MAP) :]: arrays[n] for n in arrays if n.startswith(MAP)}
                self._write_maps(pair, maps)
        for model in [*finals, *searched]:
            if model.task.key in scores:
                _add_test(model.trial, scores[model.task.key])
        cams = [model for key, model in whole.items() if model.plan.method == CAM and key in tasks]
        return self._attributed({cam.plan.backbone: tasks[cam.task.key] for cam in cams})

    def _attributed(self, tests: Mapping[str, Task]) -> list[Attribution]:
        """Return the cells of Table IX and Fig 20 for tests of CAM models by backbone."""
        if not self.config.attribution:
            return []
        sha256 = {part: self.data.sha256(part) for part in (FULL, TEST)}
        cells = [cell for backbone in tests for cell in attributions.cells(backbone)]
        tasks = [
            attributions.attribution_task(tests[cell.backbone], cell, sha256[cell.part])
            for cell in cells
        ]
        for cell, scores in zip(cells, self._scores(tasks, "gradients"), strict=True):
            cell.value = scores.value
        return cells

    def _write(
        self, searched: Sequence[Model], finals: Sequence[Model], best: Mapping[str, Model]
    ) -> None:
        """Write the trials, the final models and the points of Fig 19."""
        shots = [(model, model.plan.training, model.trial.fullsup) for model in finals]
        pair = f"{CAM}-{self._shot_backbone}"
        for shot in self._shots:
            if (model := best.get(key := _key(pair, shot))) is not None:
                shots.append((model, shot, model.scores[key]))
        few_shot = [
            results.FewShot(
                method=model.plan.method,
                backbone=model.plan.backbone,
                per_class=shot.count,
                sample=shot.sample,
                trial=model.plan.trial,
                fullsup=fullsup,
                test=model.trial.test,
            )
            for model, shot, fullsup in shots
            if shot.count is not None
        ]
        reported = [model.trial for model in finals if model.plan.training.count is None]
        self.folder.write("few_shot.jsonl", few_shot)
        self.folder.write(
            "finals.jsonl", [replace(trial, chosen=True, analysis=False) for trial in reported]
        )
        self.folder.write("trials.jsonl", [model.trial for model in searched])

    def _write_maps(self, pair: str, maps: Maps) -> None:
        part, folder = self.data.part(TEST), self.folder.path
        if len(maps) == len(part.names):
            whole = map_folders.Folder(folder / WHOLE_TEST / pair)
            for name, scores in maps.items():
                whole.write(name, scores)
        sampled, boxes = map_folders.Folder(folder / "samples" / pair), []
        for name in sample_names(part.names, self.config.samples):
            sampled.write(name, maps[name])
            path = folder / "samples" / "images" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(reading.pixels_of(Path(self.data.images, name), "upright")).save(path)
            image = part.truth[part.names.index(name)]
            if isinstance(image, WsolImage):
                boxes += [[name, *map("{:g}".format, box)] for box in image.boxes]
        self.folder.write_rows("samples/boxes.csv", [["id", "x0", "y0", "x1", "y1"], *boxes])

    def _scores(self, tasks: Sequence[Task], purpose: str) -> list[Scores]:
        return [Scores.from_json(unpack_arrays(made)[1]) for made in self.make(tasks, purpose)]

    def _center(self) -> results.Center:
        protocol = self.config.protocol
        tasks = [
            center_task(part, self.data.sha256(part), protocol, self._site) for part in (FULL, TEST)
        ]
        full, test = self._scores(tasks, "center baseline")
        return results.Center(
            fullsup=full.value, test=test.value, fullsup_max=full.value_max, test_max=test.value_max
        )


def _best(models: Sequence[Model]) -> dict[str, Model]:
    """Return the model of each key that is best on train-fullsup; of equal ones the first."""
    best: dict[str, Model] = {}
    scores: dict[str, float] = {}
    for model in models:
        for key, score in model.scores.items():
            if model.trial.converged and score is not None and score > scores.get(key, -np.inf):
                best[key], scores[key] = model, score
    return best


def _is_final(plan: TrialPlan) -> bool:
    """Return whether the plan trains on all images, so that no final training is needed."""
    return plan.training.share == 1 and plan.training.fold is None


def _final_plan(plan: TrialPlan) -> TrialPlan:
    """Return the plan of the final model of a chosen trial."""
    training = replace(plan.training, share=1.0, fold=None)
    validation = None if plan.method == FSL else plan.validation
    best = plan.best and validation is not None
    return replace(plan, training=training, validation=validation, best=best, subsets=[])


def _key(pair: str, subset: Subset) -> str:
    """Return the key of a choice: PAIR, or PAIR/COUNT/SAMPLE in Fig 19."""
    return pair if subset.count is None else f"{pair}/{subset.count}/{subset.sample}"


def _model(plan: TrialPlan, task: Task, values: TrainedValues) -> Model:
    none = Scores(value=None, value_max=None, threshold=None, area=None)
    main = values.scores[0] if values.scores else none
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
    keys = [_key(trial.pair, subset) for subset in (plan.training, *plan.subsets)]
    scores = zip(keys, [each.value for each in values.scores], strict=False)
    return Model(plan, task, trial, dict(scores))


def _add_test(trial: Trial, test: Scores) -> None:
    trial.test, trial.test_max, trial.threshold_test = test.value, test.value_max, test.threshold
    trial.accuracy, trial.area, trial.boxes_at = test.accuracy, test.area, test.boxes_at
    trial.top1 = test.top1
