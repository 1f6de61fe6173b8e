"""patchkit: the patch manager for vLLM. This is the whole vocabulary of a pack author."""

from patchkit.bodies import watch_bodies
from patchkit.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Patch,
    Provide,
    Replace,
    Role,
    Wrap,
)

watch_bodies()

__version__ = "0.1.0"

__all__ = [
    "Add",
    "AddField",
    "AfterImport",
    "BeforeImport",
    "Edit",
    "Patch",
    "Provide",
    "Replace",
    "Role",
    "Wrap",
]
