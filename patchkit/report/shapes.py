"""
The data that commands hand to reports: the keys of `--format json`, as types.

They are the contract with programs that read them: keys may be added, none renamed.
"""

from __future__ import annotations

from typing import TypedDict


class NewFileShape(TypedDict):
    """A file of a new patch: `what` it is for, `created` or `edited`, and the diff of an edit."""

    what: str
    file: str
    action: str
    text: str
    diff: list[str]


class NewStepShape(TypedDict):
    """What its author does next: `command` is null where it is no command."""

    command: str | None
    words: str


class NewShape(TypedDict):
    """What `patchkit new` answers; `refusal` says why the row is for its author to paste."""

    patch: str
    pack: str
    row: str
    refusal: str | None
    written: bool
    files: list[NewFileShape]
    next: list[NewStepShape]
