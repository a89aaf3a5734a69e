"""Pieces of the demonstration, each alone: the competition takes seconds that they do not need."""

from typing import Any

from annotator.demo import build


def ground() -> tuple[Any, ...]:
    """What each piece is loaded with: people by name, the researcher, the photographs."""
    users = build.make_users()
    owner = users[build.RESEARCHER]
    members = {name: users[name] for name in build.ANNOTATORS}
    return members, owner, build.make_dataset(owner)
