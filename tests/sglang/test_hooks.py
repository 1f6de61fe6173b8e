"""A plugin of SGLang that hooks by its registry, and the rows that are made of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes
from sglang_runs import HAS_PLUGINS, SECONDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not HAS_PLUGINS, reason="SGLang 0.5.10 has no registry of hooks"
)

PLUGIN = '''\
"""Hooks of each type."""

from sglang.srt.managers.detokenizer_manager import LimitedCapacityDict
from sglang.srt.plugins.hook_registry import HookRegistry, HookType, plugin_hook

UTILS = "sglang.srt.utils.common"
MANAGER = "sglang.srt.managers.detokenizer_manager"


def more(x, y):
    return (x + 10,), {"y": y}


@plugin_hook("sglang.srt.utils.common.human_readable_int")
def doubled(result, *args, **kwargs):
    return 2 * result


@plugin_hook("sglang.srt.managers.detokenizer_manager.LimitedCapacityDict", type=HookType.REPLACE)
class Loud(LimitedCapacityDict):
    word = "loud"


def register():
    HookRegistry.register(f"{UTILS}.ceil_div", more, HookType.BEFORE)

    def counted(original, ids, vocab_size):
        return [*original(ids, vocab_size), -1]

    HookRegistry.register(
        f"{MANAGER}.DetokenizerManager._clamp_decode_ids", counted, HookType.AROUND
    )
    HookRegistry.register(
        f"{MANAGER}.DetokenizerManager.handle_freeze_gc_req",
        lambda self, request: ("replaced", request),
        hook_type=HookType.REPLACE,
    )
'''
PROBE = """\
import json
import sys
from sglang.srt.managers import detokenizer_manager as manager
from sglang.srt.utils import ceil_div as copied, common
from sglang.srt.plugins import load_plugins

load_plugins()
one = manager.DetokenizerManager.__new__(manager.DetokenizerManager)
told = [common.ceil_div(5, 5), copied(5, 5), common.human_readable_int("3k")]
told += [manager.LimitedCapacityDict.__name__, manager.LimitedCapacityDict(2).word]
told += [one._clamp_decode_ids([1, 9], 4), one.handle_freeze_gc_req(7)]
told += [manager.DetokenizerManager.handle_freeze_gc_req.__name__ != ""]
print("told", json.dumps(told))
"""
EXPECTED = [3, 3, 6000, "Loud", "loud", [1, 0, -1], ["replaced", 7], True]


def told(folder: Path, *command: str, **variables: str) -> list[object]:
    """What the probe has printed in a run with the plugin on the path."""
    own = {"PYTHONPATH": str(folder), "SGLANG_USE_CPU_ENGINE": "1"}
    environ = processes.environment(own, variables)
    probe = (sys.executable, "-c", PROBE)
    done = processes.run((*command, *probe), environ, SECONDS, folder / "log")
    assert done.status == 0, done.tail()
    (line,) = [line for line in done.output.splitlines() if line.startswith("told ")]
    values: list[object] = json.loads(line.removeprefix("told "))
    return values


def make_plugin(folder: Path) -> None:
    """A package with an entry point of SGLang's, as if it was installed."""
    package = folder / "hooking"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "hooks.py").write_text(PLUGIN)
    metadata = folder / "hooking-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hooking\nVersion: 0.1\n"
    )
    entry = "[sglang.srt.plugins]\nhooking = hooking.hooks:register\n"
    (metadata / "entry_points.txt").write_text(entry)


def test_rows_do_what_the_registry_does(tmp_path: Path) -> None:
    """Each type of hook: on a function, a method and a class; copies are repointed."""
    make_plugin(tmp_path)
    patchkit = (sys.executable, "-m", "patchkit")
    adopt = ("adopt", "hooking", "--of", "sglang", "--no-observe", "--into", "mine")
    environ = processes.environment({"PYTHONPATH": str(tmp_path), "PATCHKIT": "0"})
    done = processes.run(
        (*patchkit, *adopt), environ, SECONDS, tmp_path / "log", folder=tmp_path
    )
    assert done.status == 0, done.tail()
    assert told(tmp_path, PATCHKIT="0") == EXPECTED
    rows = told(tmp_path, *patchkit, "run", "--", PATCHKIT_PATCHES="mine")
    assert rows == EXPECTED
