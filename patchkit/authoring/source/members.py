"""Says what is written into a module, and how: the terms of additions and replacements."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from patchkit.authoring.source.definitions import PARTS_OF_PROPERTY

ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
"""The statements that set a value."""


class Member(NamedTuple):
    """What is written into a module, or into a class of it.

    Args:
        qualname: its qualified name there.
        by: the qualified name of its definition in the body.
        new_names: what is called otherwise in the module, by its name in the body.
        keeps_kind: whether a plain function becomes what upstream has there: a static method, a
            property, a cache.
        is_merged: whether it is the member of a class that is merged into upstream's.
        is_new: whether it is added, as upstream has nothing of that name.
        unrelated: whether the row allows another thing in the place of what is there, as its
            `unrelated=True` says.
    """

    qualname: str
    by: str
    new_names: Mapping[str, str]
    keeps_kind: bool = False
    is_merged: bool = False
    is_new: bool = False
    unrelated: bool = False

    @property
    def owner(self) -> str:
        """The qualified name of the class; '' for a name of the module."""
        return self._without_part.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Its name in the class or the module; for a setter or deleter, that of its property."""
        return self._without_part.rpartition(".")[2]

    @property
    def _without_part(self) -> str:
        qualname = self.qualname
        for part in PARTS_OF_PROPERTY.values():
            qualname = qualname.removesuffix(part)
        return qualname
