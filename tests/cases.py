"""One test for many cases, which share its fixtures."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def for_each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run the test with each case, for cases that leave nothing behind; a failure names its case.

    Names and cases are those of pytest's `parametrize`, which builds the fixtures anew each time.
    """
    keys = (names,) if isinstance(names, str) else names
    rows = [(case,) if isinstance(names, str) else case for case in cases]
    assert rows

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for row in rows:
                case = dict(zip(keys, row, strict=True))
                try:
                    test(*args, **kwargs, **case)
                except BaseException as error:
                    error.add_note(f"in the case {case!r:.500}")
                    raise

        signature = inspect.signature(test)
        fixtures = [value for name, value in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return decorate


def for_seeds(count: int) -> Callable[[Test], Test]:
    return for_each("seed", range(count))
