"""Defaults and constructors of the real SamplingParams and of attrs classes, and flags of torch.

Takes about 1 s.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
import vllm.sampling_params

from patchkit import applied
from patchkit.errors import ApplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Pack = Callable[[str], str]

PARAMS = "vllm.sampling_params:SamplingParams"
BODY = """
import torch
from vllm.sampling_params import SamplingParams

calls, cold, on = [], 0.5, not torch.backends.cuda.matmul.allow_tf32


def around(wrapped, instance, args, kwargs):
    calls.append(instance)
    return wrapped(*args, **kwargs)


class Colder(SamplingParams, kw_only=True):
    temperature: float = 0.5
"""
ATTRS = """
import attrs, torch
from attrs import frozen

@attrs.define
class Slotted:
    x: int = 1

@frozen(slots=False)
class Open:
    x: int = 1

net = torch.nn.Linear(1, 1)
"""
_numbers = itertools.count()


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pack]:
    """Write a pack of one patch with a change, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sampled.py").write_text(ATTRS)

    def written(change: str) -> str:
        name = f"fields_{next(_numbers)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "patch_it.py").write_text(BODY)
        (tmp_path / name / "__init__.py").write_text(
            "from patchkit import Patch, Replace, Role, Wrap\n"
            f"PATCHES = (Patch(name='{name.replace('_', '-')}', body='patch_it', "
            f"requires=('vllm>=0.32,<0.33',), roles={{Role.MAIN}}, changes=({change},)),)\n"
        )
        return name

    yield written
    sys.modules.pop("sampled", None)


def the_patch_of(pack: str) -> Any:
    """Apply it for the time of a block."""
    return applied(pack.replace("_", "-"), packs=pack)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            f"Replace('{PARAMS}.temperature', by='cold')",
            "Replace the class by one that derives",
        ),
        (
            f"Replace('{PARAMS}.stop', by='cold')",
            "each instance reads a value of its own",
        ),
        (
            f"Wrap('{PARAMS}.__post_init__', by='around')",
            "looks for its __post_init__ only once",
        ),
        (f"Wrap('{PARAMS}.__init__', by='around')", "looks for its __init__ only once"),
        (
            "Replace('sampled:Slotted.x', by='cold')",
            "each instance reads a value of its own",
        ),
        ("Replace('sampled:Open.x', by='cold')", "sampled:Open.x is not there"),
    ],
)
def test_what_would_act_on_every_instance_or_on_none_is_refused(
    pack: Pack, change: str, words: str
) -> None:
    """The patch fails with the reason, and requests are made as ever."""
    with pytest.raises(ApplyError, match=words), the_patch_of(pack(change)):
        raise AssertionError
    assert vllm.sampling_params.SamplingParams(temperature=0.9).temperature == 0.9
    assert vllm.sampling_params.SamplingParams().temperature == 1.0


def test_the_default_of_sampling_params_by_a_class(pack: Pack) -> None:
    """What the refusal tells to do gives the default to those who name none, and to nobody else."""
    with the_patch_of(pack(f"Replace('{PARAMS}', by='Colder')")):
        assert vllm.sampling_params.SamplingParams().temperature == 0.5
        assert vllm.sampling_params.SamplingParams(temperature=0.9).temperature == 0.9
    assert vllm.sampling_params.SamplingParams().temperature == 1.0


@pytest.mark.parametrize(
    "name",
    ["backends.cuda.matmul.allow_tf32", "backends.cudnn.benchmark", "net.weight"],
)
def test_a_flag_of_torch_comes_back(pack: Pack, name: str) -> None:
    """What C or a module's table keeps is what it was before."""
    target = f"sampled:{name}" if name == "net.weight" else f"sampled:torch.{name}"

    def value() -> Any:
        found: Any = __import__("sampled") if name == "net.weight" else torch
        for step in name.split("."):
            found = getattr(found, step)
        return found

    before = value()
    change = f"Replace('{target}', by='{'gate' if name == 'net.weight' else 'on'}', unrelated=True)"
    packed = pack(change)
    body = __import__(f"{packed}.patch_it").patch_it
    body.gate = torch.nn.Parameter(torch.ones(1, 1))
    with the_patch_of(packed):
        assert value() is (body.gate if name == "net.weight" else body.on)
    assert value() is before
