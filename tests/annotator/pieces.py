"""Pieces of the demonstration, each alone: the competition takes seconds that they do not need."""

from typing import Any

from annotator import demonstration


def ground() -> tuple[Any, ...]:
    """What each piece is loaded with: people by name, the researcher, the photographs."""
    users = demonstration.make_users()
    owner = users[demonstration.RESEARCHER]
    members = {name: users[name] for name in demonstration.ANNOTATORS}
    return members, owner, demonstration.make_dataset(owner)
