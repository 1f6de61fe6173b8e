"""Operators below `torch.ops`, resolved to the functions that they run."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve

MADE = """
import torch
from .a import direct_register_custom_op
def attend(q, k, out): ...
{}
"""
BY_CALL = "direct_register_custom_op(op_name='attention', op_func=attend, mutates_args=['out'])"


@pytest.mark.parametrize(
    "source",
    [
        MADE.format(BY_CALL),
        MADE.format(f"if torch.cuda:\n    {BY_CALL}"),
        MADE.format("direct_register_custom_op('attention', attend)"),
        "import torch\n@torch.library.custom_op('up::attention')\ndef attend(q, k, out): ...",
    ],
)
def test_an_operator_is_the_function_that_its_module_made_it_of(source: str) -> None:
    """An operator is present, with the name, signature and source of that function."""
    resolution = resolve(source, "torch.ops.up.attention")
    assert resolution.state == "present"
    assert resolution.qualname == "attend"
    assert str(resolution.signature) == "(q, k, out)"
    assert resolution.nodes


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (MADE.format(BY_CALL), "torch.ops.up.other"),
        (MADE.format(BY_CALL), "torch.ops.down.attention"),
        (MADE.format(BY_CALL), "torch.ops.up.attention['CUDA']"),
        (
            MADE.format(BY_CALL.replace(")", ", target_lib=lib)")),
            "torch.ops.up.attention",
        ),
        ("import torch", "torch.ops.up.attention"),
    ],
)
def test_any_other_operator_is_undecided(source: str, name: str) -> None:
    """An operator that its module does not make, and a single kernel of one, are undecidable."""
    assert resolve(source, name).state == "undecidable"
