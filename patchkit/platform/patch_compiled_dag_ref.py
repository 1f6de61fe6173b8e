"""
Upstream: `CompiledDAG.execute` returns one `CompiledDAGRef` to the list of all outputs up to Ray
2.36, and a list of references, one to each output, since 2.37. vLLM asks for `refs[0]`.
"""

from __future__ import annotations

import inspect
from typing import Any

from ray.experimental.compiled_dag_ref import CompiledDAGRef

OUTPUTS = "patchkit_outputs"


def is_one_reference() -> bool | str:
    """Whether a reference of this Ray is to all outputs; a fork's may be to one of them."""
    if "channel_index" not in inspect.signature(CompiledDAGRef.__init__).parameters:
        return True
    return "a compiled graph of this Ray returns a list of references"


def output_of(self: Any, index: int) -> OutputRef:
    """Make a reference to one of the outputs; the error past the last ends an iteration."""
    if not 0 <= index < len(self._dag_output_channels):
        raise IndexError(
            f"found {index}, expected one of {len(self._dag_output_channels)} outputs"
        )
    return OutputRef(self, index)


class OutputRef(CompiledDAGRef):  # type: ignore[misc, unused-ignore]
    """A reference to one output; `ray.get` knows it by its base."""

    def __init__(self, whole: CompiledDAGRef, index: int) -> None:
        super().__init__(whole._dag, whole._execution_index)  # noqa: SLF001 - as Ray makes one
        self._whole = whole
        self._index = index

    def __del__(self) -> None:
        """Leave what nobody has asked for to the whole, which fetches it when it goes itself."""

    def get(self, timeout: float | None = None) -> Any:
        """Fetch all outputs, once for all references to them, and return this one or the error."""
        state = vars(self._whole)
        if OUTPUTS not in state:
            state[OUTPUTS] = _fetched(self._whole, timeout)
        if isinstance(state[OUTPUTS], Exception):
            raise state[OUTPUTS]
        return state[OUTPUTS][self._index]


def _fetched(whole: CompiledDAGRef, timeout: float | None) -> Any:
    """All outputs, or the error in their place: Ray lets nobody ask it a second time."""
    try:
        return whole.get(timeout)
    except Exception as error:  # noqa: BLE001 - each reference raises it
        return error
