"""One test for many seeds."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def for_seeds(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test with each `seed` below `count`; a failure names its seed."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for seed in range(count):
                try:
                    test(*args, seed=seed, **kwargs)
                except BaseException as error:
                    error.add_note(f"with seed {seed}")
                    raise

        signature = inspect.signature(test)
        fixtures = [value for name, value in signature.parameters.items() if name != "seed"]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return decorate
