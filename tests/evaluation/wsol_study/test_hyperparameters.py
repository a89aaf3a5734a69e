import numpy as np
import pytest

from evaluation.wsol_study.hyperparameters import SPACES, draw, log_uniform, size_prior
from tests.cases import for_each


def draws(method, count=400):
    return [draw(SPACES[method], [0, method, "small", trial]) for trial in range(count)]


@for_each("method", SPACES)
def test_draws_stay_in_the_ranges_of_table_iv(method):
    for values in draws(method):
        assert list(values) == list(SPACES[method])
        assert 1e-5 <= values["learning_rate"] <= 1
        assert values["resolution"] in (14, 28)
        assert values.get("size_prior", 1) >= 0
        shares = {name: value for name, value in values.items() if name not in UNBOUNDED}
        assert all(0 <= value <= 1 for value in shares.values())
        for branch in ("b1", "b2", "c"):
            assert values.get(f"low_{branch}", 0) <= values.get(f"high_{branch}", 1)


UNBOUNDED = ("learning_rate", "resolution", "size_prior")


def test_the_logarithm_of_the_learning_rate_is_uniform():
    logs = np.log10([values["learning_rate"] for values in draws("cam", 2000)])

    shares = np.histogram(logs, bins=5, range=(-5, 0))[0] / 2000
    assert shares == pytest.approx(0.2, abs=0.04)


def test_the_variance_of_cutmix_shares_is_uniform_up_to_a_quarter():
    betas = np.array([values["size_prior"] for values in draws("cutmix", 2000)])

    variances = 1 / (4 * (2 * betas + 1))
    shares = np.histogram(variances, bins=5, range=(0, 0.25))[0] / 2000
    assert shares == pytest.approx(0.2, abs=0.04)


def test_the_size_prior_of_the_largest_uniform_is_zero():
    class Zero:
        def random(self):
            return 0.0

    assert size_prior(Zero(), {}) == 0


def test_a_draw_depends_on_its_words_alone():
    first = draw(SPACES["spg"], [7, "spg", "vgg16", 3])

    assert draw(SPACES["spg"], [7, "spg", "vgg16", 3]) == first
    for words in ([8, "spg", "vgg16", 3], [7, "spg", "resnet50", 3], [7, "spg", "vgg16", 4]):
        assert draw(SPACES["spg"], words) != first


def test_values_of_a_seed_never_change():
    """A study that is resumed by a later version draws the same trials."""
    values = draw({"rate": log_uniform(1e-5, 1)}, [0, "cam", "small", 0])

    assert values == {"rate": pytest.approx(0.4225725534481892, rel=1e-9)}
