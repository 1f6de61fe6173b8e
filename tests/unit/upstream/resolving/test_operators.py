"""Operators of torch, which no change replaces."""

from __future__ import annotations

import pytest

from upstream.memory import resolve

MADE = """
import torch
from .a import direct_register_custom_op
def attend(q, k, out): ...
direct_register_custom_op(op_name='attention', op_func=attend, mutates_args=['out'])
"""


@pytest.mark.parametrize("name", ["torch.ops.up.attention", "torch.ops.down.attention"])
def test_of_an_operator_nothing_is_said(name: str) -> None:
    """Only torch can tell what it runs."""
    assert resolve(MADE, name).state == "undecidable"
