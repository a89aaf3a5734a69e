"""nltk's WordNet, to compare with: it takes seconds to look for the depth of the hierarchy."""

import pytest

from benchmarks.bench_similarity import nltk_reader


@pytest.fixture(scope="session")
def peer(wordnet, tmp_path_factory):
    """nltk's reader over the same files."""
    return nltk_reader(wordnet, tmp_path_factory.mktemp("nltk"))
