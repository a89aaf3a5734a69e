"""Models that the site may name. They are registered only by the command: a model is a program."""

import re
from collections.abc import Sequence

from evaluation.models import RegisteredModel
from labeling.files import BadInput

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def check_name(name: str) -> str:
    """Return the name. Raises BadInput unless it is a word, since it becomes the name of files."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"the model's name is {name[:40]!r}",
            cure="give 1 to 100 letters, digits, -, _ or dots, the first a letter or digit",
        )
    return name


def register(
    name: str,
    spec: str,
    *,
    classes: Sequence[str],
    options: Sequence[str],
    source: dict[str, str],
) -> RegisteredModel:
    """Save the model under its name, replacing the previous one, and return it."""
    made, _ = RegisteredModel.objects.update_or_create(
        name=check_name(name),
        defaults={
            "spec": spec,
            "classes": list(classes),
            "options": list(options),
            "source": source,
        },
    )
    return made


def remove(name: str) -> None:
    """Remove a model; its pools stay. Raises BadInput where no model has the name."""
    deleted, _ = RegisteredModel.objects.filter(name=name).delete()
    if not deleted:
        raise BadInput(f"no model is called {name[:100]!r}", cure="models list shows their names")
