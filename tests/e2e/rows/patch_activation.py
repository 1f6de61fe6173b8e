"""A layer registered in place of vLLM's own, as a vendor's platform does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm.model_executor.custom_op import op_registry_oot
from vllm.model_executor.layers import activation

from rows.witness import seen

if TYPE_CHECKING:
    from collections.abc import Callable


class SiluAndMul(activation.SiluAndMul):  # type: ignore[misc, unused-ignore]
    """Tells when a model is built with it."""

    def __init__(self, *, compile_native: bool = True) -> None:
        super().__init__(compile_native=compile_native)
        seen("registered-layer")


def register() -> Callable[[], object]:
    """Make it the one that vLLM builds."""
    assert "SiluAndMul" not in op_registry_oot
    op_registry_oot["SiluAndMul"] = SiluAndMul
    return lambda: op_registry_oot.pop("SiluAndMul")
