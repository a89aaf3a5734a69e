"""Small batches and models for tests of methods."""

import torch

from evaluation.wsol_study.methods import METHODS

CLASSES = 3


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(count=4, seed=0):
    """Return random images for the small network and their labels."""
    generator = seeded(seed)
    images = torch.randn(count, 3, 56, 56, generator=generator)
    return images, torch.arange(count) % CLASSES


def model_of(method, seed=0, **values):
    """Return a model of the method in double precision, so that sums agree to 1e-6."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return METHODS[method].model("small", CLASSES, {"resolution": 14, **values}).double()


def doubles(count=4, seed=0):
    images, labels = batch(count, seed)
    return images.double(), labels


def cross_entropy(logits, labels):
    """Return −mean log softmax, by a plain loop."""
    losses = []
    for row, label in zip(logits, labels.tolist(), strict=True):
        losses.append(-(row[label] - row.exp().sum().log()))
    return sum(losses) / len(losses)
