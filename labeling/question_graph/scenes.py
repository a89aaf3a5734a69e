"""Chooses the next question of an image among all nodes, by co-occurrence of classes.

After Deng et al., Scalable multi-label annotation (CHI 2014): any node may be asked, co-occurring
labels are inferred, and asking stops when a question is worth less than its price.

The model: images are a mixture of scenes. In a scene, classes occur independently, each with its
own probability. An inner node is "yes" if any class below it occurs. An answer is wrong with a
given probability. The scenes are learned by EM from the answers alone. Pure, no Django.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labeling.question_graph.graph import QuestionGraph

Bools = npt.NDArray[np.bool_]
Answers = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Links = tuple[npt.NDArray[np.int64], ...]

# Codes of questions without a 1 (yes) or 0 (no). UNDECIDED: asked, but nobody could tell.
NOT_ASKED, UNDECIDED = -1, -2
# Share of wrong answers, if it is unknown.
ERROR = 0.02
# Cost of a false label, in missed labels. It is lower: a wrong "no" loses a label for good.
FALSE_COST = 0.15
# Lowest share of wrong answers in the model: with 0, one mistake could make every scene impossible.
MIN_ERROR = 1e-4
# Most scenes.
SCENES = 120
# Steps of EM: over label probabilities (fast), then over the answers.
ROUGH_STEPS, STEPS = 40, 8
# Every MERGE_EVERY steps, scenes are merged if the cosine of their differences from the mean is
# above SAME_COSINE.
SAME_COSINE = 0.5
MERGE_EVERY = 10
# A scene starts as the mean of this many similar images.
IMAGES_PER_START = 5
# Candidates for the fewest images that a scene must explain. Every HELD_OUT-th image is held out to
# choose one of them.
FEWEST_IMAGES = (3.0, 10.0, 30.0)
HELD_OUT = 5
# In a scene most classes are as rare as in other scenes. Some have their own probability, with the
# prior Beta(OWN_RATE_PRIOR). OWN_RATE_SHARE: initial share of these classes.
OWN_RATE_PRIOR = (1.0, 4.0)
OWN_RATE_SHARE, OWN_RATE_SHARE_LIMITS = 0.05, (1e-3, 0.9)
# Pseudo-images with the average class's rate, for the rate of a class outside its scenes.
RARE_IMAGES = 200.0
RATE_STEPS = 12
# The same for a single scene, so that no class gets probability 0.
PRIOR = 5.0
# Probabilities of classes stay in [MIN_PROBABILITY, 1 − MIN_PROBABILITY].
MIN_PROBABILITY = 1e-7


@dataclass(frozen=True)
class Scenes:
    """A mixture of scenes.

    weights: (Z,), share of images. present: (Z, L), probability of each class of `graph.leaves`.
    """

    weights: Floats
    present: Floats


@dataclass(frozen=True)
class Utility:
    """When asking stops: a question must save more than `price` missed labels.

    false_cost: cost of a false label in missed ones. Each class gets the value with the lower
    expected cost.
    """

    price: float
    false_cost: float = FALSE_COST

    @property
    def threshold(self) -> float:
        """Return the probability above which a class is "yes".

        >>> Utility(0.01, false_cost=1).threshold
        0.5
        """
        return self.false_cost / (1 + self.false_cost)


def independent(graph: QuestionGraph, present: float) -> Scenes:
    """Return one scene in which every class is equally likely. present: classes per image."""
    leaves = len(graph.leaves)
    return Scenes(
        np.ones(1),
        np.full((1, leaves), np.clip(present / leaves, MIN_PROBABILITY, 1 - MIN_PROBABILITY)),
    )


def chances(graph: QuestionGraph, scenes: Scenes, answers: Answers, error: float) -> Floats:
    """Return (B, N): probability of each node given the answers to an image.

    answers: (B, N), 1 yes, 0 no, -1 not asked. error: share of wrong answers. Exact if every node
    has one parent; several parents are treated as independent.
    """
    from labeling.question_graph import kernels_scenes as kernels

    chance_rows = np.empty(answers.shape)
    kernels.chances(
        links(graph), scenes.weights, scenes.present, answers, max(error, MIN_ERROR), chance_rows
    )
    return chance_rows


def ask(
    graph: QuestionGraph, scenes: Scenes, replies: Bools, error: float, utility: Utility
) -> tuple[Answers, Floats]:
    """Return (answers, chances) of images that are asked until no question is worth its price.

    replies: (B, N), the answer that each question would get.
    """
    from labeling.question_graph import kernels_scenes as kernels

    answers = np.full(replies.shape, -1, np.int8)
    chance_rows = np.empty(replies.shape)
    kernels.ask(
        links(graph),
        scenes.weights,
        scenes.present,
        replies.astype(np.int8),
        max(error, MIN_ERROR),
        utility.false_cost,
        utility.price,
        answers,
        chance_rows,
    )
    return answers, chance_rows


def next_place(
    graph: QuestionGraph, scenes: Scenes, answers: Answers, error: float, utility: Utility
) -> int:
    """Return the position of an image's next question; -1 if none is worth its price.

    answers: (N,), also with UNDECIDED.
    """
    from labeling.question_graph import kernels_scenes as kernels

    chance_rows = np.empty((1, len(answers)))
    error = max(error, MIN_ERROR)
    tree = links(graph)
    kernels.chances(tree, scenes.weights, scenes.present, answers[None], error, chance_rows)
    below = np.empty(len(answers))
    cost = utility.false_cost, utility.price
    return int(kernels.pick(tree, chance_rows[0], answers, error, *cost, below))


def saved(likely: float, error: float, utility: Utility) -> float:
    """Return what asking for a class itself would save, in missed labels. likely: its
    probability.
    """
    from labeling.question_graph import kernels_scenes as kernels

    return float(kernels.saved(likely, max(error, MIN_ERROR), utility.false_cost))


def learn(
    graph: QuestionGraph, answers: Answers, error: float, seed: int = 0, most: int = SCENES
) -> Scenes:
    """Return the scenes that explain the answers to images, by EM.

    answers: (B, N), 1 yes, 0 no, -1 not asked. The choice of questions may depend on earlier
    answers.
    """
    plain = independent(graph, 1.0)
    for _ in range(STEPS):
        plain = _step(graph, plain, answers, error, plain.present[0])
    mean = plain.present[0]
    leaf_places = [graph.index[leaf] for leaf in graph.leaves]
    likely = chances(graph, plain, answers, error)[:, leaf_places]
    scenes = _rough(
        likely, mean, min(most, len(answers) // IMAGES_PER_START), np.random.default_rng(seed)
    )
    for _ in range(STEPS):
        scenes = _step(graph, scenes, answers, error, mean)
    return scenes


def _rough(likely: Floats, mean: Floats, most: int, chance: np.random.Generator) -> Scenes:
    """Return the scenes of images with label probabilities (B, L) from a single scene.

    A scene of few images may be an accident. The minimum is the one with which the other images
    explain the held-out images best. If a single scene explains them best, it is returned.
    """
    held = np.arange(len(likely)) % HELD_OUT == 0
    groups = _groups(likely[~held] > 0.5, most, chance)
    tried = [_fit(likely[~held], groups, mean, fewest) for fewest in FEWEST_IMAGES if len(groups)]
    alone = Scenes(np.ones(1), mean[None])
    scores = [_log_likelihood(likely[held], scenes).sum() for scenes in (alone, *tried)]
    best = int(np.argmax(scores))
    return alone if best == 0 else _fit(likely, groups, mean, FEWEST_IMAGES[best - 1])


def _fit(likely: Floats, groups: Floats, mean: Floats, fewest: float) -> Scenes:
    """Return the scenes after EM over label probabilities, started from these groups."""
    present = np.vstack([mean, (groups + mean) / 2])
    scenes = Scenes(
        np.full(len(present), 1 / len(present)),
        np.clip(present, MIN_PROBABILITY, 1 - MIN_PROBABILITY),
    )
    for step in range(1, ROUGH_STEPS + 1):
        share = _joint(likely, scenes)
        share = np.exp(share - share.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        images, yes = share.sum(axis=0), share.T @ likely
        if step % MERGE_EVERY == 0:
            images, yes = _merged(images, yes, mean)
        scenes = _scenes(images, yes, mean, fewest)
    return scenes


def _joint(likely: Floats, scenes: Scenes) -> Floats:
    """Return (B, Z): log probability of an image's labels with each scene."""
    odds = np.log(scenes.present) - np.log1p(-scenes.present)
    alone = np.log1p(-scenes.present).sum(axis=1) + np.log(scenes.weights)
    return np.asarray(likely @ odds.T + alone)


def _log_likelihood(likely: Floats, scenes: Scenes) -> Floats:
    """Return (B,): log probability of each image's labels."""
    joint = _joint(likely, scenes)
    top = joint.max(axis=1)
    return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))


def _merged(images: Floats, yes: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the expected counts with equal scenes merged, the largest first."""
    order = np.argsort(-images, kind="stable")
    images, yes = images[order].copy(), yes[order].copy()
    offsets = yes / np.maximum(images, MIN_PROBABILITY)[:, None] - mean
    offsets /= np.maximum(np.sqrt((offsets**2).sum(axis=1, keepdims=True)), MIN_PROBABILITY)
    similarity = offsets @ offsets.T > SAME_COSINE
    is_kept = np.ones(len(images), bool)
    for first in range(len(images)):
        if is_kept[first]:
            same = np.flatnonzero(similarity[first] & is_kept)
            same = same[same > first]
            images[first] += images[same].sum()
            yes[first] += yes[same].sum(axis=0)
            is_kept[same] = False
    return images[is_kept], yes[is_kept]


def _step(
    graph: QuestionGraph, scenes: Scenes, answers: Answers, error: float, mean: Floats
) -> Scenes:
    """Run one step of EM; scenes that explain too few images are dropped."""
    from labeling.question_graph import kernels_scenes as kernels

    images, yes = np.zeros(len(scenes.weights)), np.zeros(scenes.present.shape)
    kernels.expect(
        links(graph), scenes.weights, scenes.present, answers, max(error, MIN_ERROR), images, yes
    )
    return _scenes(images, yes, mean, FEWEST_IMAGES[0])


def _scenes(images: Floats, yes: Floats, mean: Floats, fewest: float) -> Scenes:
    """Return the scenes of expected counts. images: (Z,). yes: (Z, L), those with each class."""
    is_kept = images >= min(fewest, images.max())
    images, yes = images[is_kept], yes[is_kept]
    if len(images) > 1:
        present = _rates(images, yes, mean)
    else:
        present = (yes + PRIOR * mean.mean()) / (images + PRIOR)[:, None]
    return Scenes(images / images.sum(), np.clip(present, MIN_PROBABILITY, 1 - MIN_PROBABILITY))


def _rates(images: Floats, yes: Floats, mean: Floats) -> Floats:
    """Return (Z, L): probability of each class in each scene, by empirical Bayes.

    It is a mean of the class's rate outside its scenes and the scene's own rate, weighted by how
    well each explains the counts. So a class that is seen once in a hundred images of a scene
    counts as a stray or a wrong answer. Otherwise every scene would seem to have thirty such
    classes, each worth a question.
    """
    from scipy.special import betaln, expit

    n = images[:, None]
    k = np.minimum(yes, n)
    alpha, beta = OWN_RATE_PRIOR
    own_evidence = betaln(k + alpha, n - k + beta) - betaln(alpha, beta)
    rare, share = np.clip(mean, MIN_PROBABILITY, 0.5), OWN_RATE_SHARE
    for _ in range(RATE_STEPS):
        stray = k * np.log(rare) + (n - k) * np.log1p(-rare)
        is_own = expit(own_evidence - stray + np.log(share) - np.log1p(-share))
        strays, among = ((1 - is_own) * k).sum(axis=0), ((1 - is_own) * n).sum(axis=0)
        average = strays.sum() / max(among.sum(), 1.0)
        rare = (strays + RARE_IMAGES * average) / (among + RARE_IMAGES)
        rare = np.clip(rare, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        share = float(np.clip(is_own.mean(), *OWN_RATE_SHARE_LIMITS))
    return np.asarray(is_own * (k + alpha) / (n + alpha + beta) + (1 - is_own) * rare)


def _groups(likely: Bools, most: int, chance: np.random.Generator) -> Floats:
    """Return (Z, L): mean labels of groups of similar images, initialized as in k-means++."""
    rows = likely[likely.sum(axis=1) >= 2].astype(np.float64)
    if len(rows) < IMAGES_PER_START or most < 1:
        return np.empty((0, likely.shape[1]))
    units = rows / np.sqrt(rows.sum(axis=1, keepdims=True))
    far = np.ones(len(rows))
    groups: list[Floats] = []
    while len(groups) < most and far.sum() > 0:
        similarity = units @ units[chance.choice(len(rows), p=far / far.sum())]
        groups.append(rows[np.argsort(-similarity, kind="stable")[:IMAGES_PER_START]].mean(axis=0))
        far = np.minimum(far, np.where(similarity > 1 - 1e-9, 0, (1 - similarity) ** 2))
    return np.array(groups)


def links(graph: QuestionGraph) -> Links:
    """Return the graph for kernels_scenes.py."""
    leaf = np.full(len(graph.nodes), -1)
    leaf[[graph.index[name] for name in graph.leaves]] = np.arange(len(graph.leaves))
    return (*_flat(graph.child_positions), *_flat(graph.parent_positions), leaf)


def _flat(rows: tuple[tuple[int, ...], ...]) -> tuple[npt.NDArray[np.int64], ...]:
    starts = np.cumsum([0, *map(len, rows)])
    return starts, np.array([column for row in rows for column in row], np.int64)
