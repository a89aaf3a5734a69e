"""The kinds of question (base.py), and how votes become a verdict (deciding.py) under a campaign's
policy (policies.py). Pure; imports estimators, geometry, parts and question_graph.

For majority votes, deciding.judge calls the kind's `settle`; for fixed words that is
votes.plurality. The setting ASSAY_QUESTION_KINDS lists the kinds; labeling/apps.py passes it on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from labeling.kinds.base import DrawingContext, Kind, load
from labeling.kinds.votes import Verdict

__all__ = ["KINDS", "DrawingContext", "Kind", "Verdict"]


class Kinds(Mapping[str, Kind]):
    """The kinds by name, in the order of the settings; reloaded when the list changes."""

    def __init__(self) -> None:
        self._paths: Callable[[], Iterable[str]] = tuple
        self._loaded: tuple[tuple[str, ...], dict[str, Kind]] = ((), {})

    def read_from(self, paths: Callable[[], Iterable[str]]) -> None:
        """Set the source of the kinds' dotted paths, which are imported on first use."""
        self._paths = paths

    def _kinds(self) -> dict[str, Kind]:
        """Return the kinds by name. Raises TypeError for an incomplete kind and for a duplicate
        name.
        """
        paths = tuple(self._paths())
        if paths != self._loaded[0]:
            kinds: dict[str, Kind] = {}
            for kind in map(load, paths):
                if kind.name in kinds:
                    raise TypeError(f"Two question kinds are named {kind.name!r}: {paths}.")
                kinds[kind.name] = kind
            self._loaded = paths, kinds
        return self._loaded[1]

    def __getitem__(self, name: str) -> Kind:
        return self._kinds()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds())

    def __len__(self) -> int:
        return len(self._kinds())


KINDS = Kinds()
