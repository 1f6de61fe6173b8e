"""patchkit: the patch manager for vLLM. This is the whole vocabulary of a pack author."""

from patchkit.declaration import (
    AfterImport,
    BeforeImport,
    Patch,
    Replace,
    Role,
    Wrap,
)

__version__ = "0.1.0"

__all__ = [
    "AfterImport",
    "BeforeImport",
    "Patch",
    "Replace",
    "Role",
    "Wrap",
]
