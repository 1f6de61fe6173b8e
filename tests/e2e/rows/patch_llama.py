"""A `forward` that torch.compile traces; inside the graph only an operator can leave a line."""

from __future__ import annotations

from typing import Any

import torch
from vllm.model_executor.layers.fusion.fused_act_quant import maybe_fused_act_quant

from rows.witness import seen


@torch.library.custom_op("rows::passed", mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
def passed(x: torch.Tensor, is_compiled: bool) -> torch.Tensor:
    """Leave a line, and pass the tensor on."""
    seen("compiled-forward", is_compiled)
    return x.clone()


@passed.register_fake  # type: ignore[untyped-decorator, unused-ignore]
def _(x: torch.Tensor, is_compiled: bool) -> torch.Tensor:
    return torch.empty_like(x)


def forward(self: Any, x: Any) -> Any:
    """What LlamaMLP does, through the operator."""
    x, _ = self.gate_up_proj(passed(x, torch.compiler.is_compiling()))
    x = maybe_fused_act_quant(self.act_fn, x, self.down_proj)
    x, _ = self.down_proj(x)
    return x
