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
    """Answer the row's `when`: True if this Ray returns one reference to all outputs."""
    # A reference to one output is told the index of that output's channel.
    if "channel_index" not in inspect.signature(CompiledDAGRef.__init__).parameters:
        return True
    return "a compiled graph of this Ray returns a list of references"


def output_of(self: Any, index: int) -> OutputRef:
    """Be `CompiledDAGRef.__getitem__`: return a reference to one output; `self` refers to all.

    Python calls it for `refs[index]`, and for each item of a loop over `refs`.

    Raises:
        IndexError: There is no such output; Python ends a loop over `refs` by this error.
    """
    if not 0 <= index < len(self._dag_output_channels):
        raise IndexError(
            f"found {index}, expected one of {len(self._dag_output_channels)} outputs"
        )
    return OutputRef(self, index)


class OutputRef(CompiledDAGRef):  # type: ignore[misc, unused-ignore]
    """A reference to one output, made of the reference to all; `ray.get` accepts this subclass."""

    def __init__(self, whole: CompiledDAGRef, index: int) -> None:
        super().__init__(whole._dag, whole._execution_index)  # noqa: SLF001 - as Ray makes one
        self._whole = whole
        self._index = index

    def __del__(self) -> None:
        """Do nothing: the base class fetches here what nobody fetched, which `_whole` does, too."""

    def get(self, timeout: float | None = None) -> Any:
        """Return this output, or raise the error; only the first of all references fetches them."""
        # The outputs are kept in `_whole`, which all references to one output share.
        state = vars(self._whole)
        if OUTPUTS not in state:
            state[OUTPUTS] = _fetched(self._whole, timeout)
        if isinstance(state[OUTPUTS], Exception):
            raise state[OUTPUTS]
        return state[OUTPUTS][self._index]


def _fetched(whole: CompiledDAGRef, timeout: float | None) -> Any:
    """Fetch all outputs; an error is returned, to be kept in their place, as Ray answers once."""
    try:
        return whole.get(timeout)
    except Exception as error:  # noqa: BLE001 - each reference raises it
        return error
