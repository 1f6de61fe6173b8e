"""What a terminal of any width shows of a check can be copied from it."""

from __future__ import annotations

import pytest

from cli.report.reports import finding, screen, shown
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report.check_table import print_check

ITEM = "vllm.model_executor.models.registry:ModelRegistry.models['LlamaForCausalLM']"
SPACED = "vllm.tables:TABLE['two words, and a third one that is longer']"
PATCH = "model-registry-has-our-own-llama-for-causal-lm-in-place-of-upstreams"
FILE = "a/rather/long/folder/with/packs/in/it/our_company_patches/__init__.py"
QUOTED = "    12      context = zmq.Context(io_threads=4); context.set(zmq.MAX_SOCKETS, 1024)"
COMMAND = (
    f"patchkit lock {PATCH} --releases 'vllm==0.33.0' --patches our_company_patches"
)


def report_on(target: str) -> Report:
    """A report in which a target, a patch, a file, a quote and a command are long."""
    told = finding(
        patch=PATCH,
        target=target,
        message=f"there is no {target} in it; moved to vllm.b:{'x' * 90}\n{QUOTED}",
        fix=f"did you mean {target}? Otherwise, accept it:\n  {COMMAND}",
        release="vllm 0.33.0",
        file=FILE,
        line=12,
    )
    states = {"vllm 0.32.0": State.OK, "vllm 0.33.0": State.BROKEN}
    return Report(list(states), [told], {PATCH: states})


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("target", [ITEM, SPACED])
def test_no_name_is_broken(target: str, width: int) -> None:
    """Targets, patches, files, quoted code and commands are each on one line, at any width."""
    console = screen(width)
    print_check(report_on(target), console)
    lines = shown(console).split("\n")
    for name in (PATCH, f"{FILE}:12", f"vllm.b:{'x' * 90}", QUOTED, COMMAND):
        assert [line for line in lines if name in line], name
    assert sum(target in line for line in lines) == 3


@pytest.mark.parametrize("width", [40, 80])
def test_what_can_be_broken_is(width: int) -> None:
    """A line is wider than the terminal only if it is one word, which cannot be broken."""
    console = screen(width)
    print_check(report_on(ITEM), console)
    text = shown(console).replace(QUOTED, "").replace(COMMAND, "")
    for line in text.split("\n"):
        words = line.removeprefix("  error").split()
        assert len(line) <= width or len(words) <= 1 or words[0] == PATCH, line


def test_a_long_name_leaves_room_for_one_column() -> None:
    """Where a name takes the whole line, each run of releases has a table of its own."""
    console = screen(60)
    print_check(report_on(ITEM), console)
    rows = [line for line in shown(console).split("\n") if line.startswith(PATCH)]
    assert [row.removeprefix(PATCH).split() for row in rows] == [
        ["ok"],
        ["broken"],
        [],
    ]
