"""The law of forks: a forked process ends as a spawned one, or says what it could not reach."""

from __future__ import annotations

import json
import multiprocessing
import re
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import World, row

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

world = packages.world

# For each holder of docs/rebinding.md: the code that fills it from FUNCTION, and how it is called.
HOLDERS = {
    "a name": ("name_N = impl.N", "name_N"),
    "a class attribute": ("class Kept_N:\n    kept = impl.N", "Kept_N.kept"),
    "a nested class": (
        "class Outer_N:\n    class Inner:\n        kept = impl.N",
        "Outer_N.Inner.kept",
    ),
    "a subclass": ("class Sub_N(impl.Base): pass", "Sub_N().method_N"),
    "a key": ("keys_N = {impl.N: 1}", "list(keys_N)[0]"),
    "a default": ("def default_N(f=impl.N): return f()", "default_N"),
    "a keyword": ("def keyword_N(*, f=impl.N): return f()", "keyword_N"),
    "a closure": ("closure_N = (lambda f: lambda: f())(impl.N)", "closure_N"),
    "a table": ("table_N = {'k': impl.N}", "table_N['k']"),
    "a row": ("row_N = [impl.N]", "row_N[0]"),
    "a static method": (
        "class Static_N:\n    kept = staticmethod(impl.N)",
        "Static_N.kept",
    ),
    "a partial": ("partial_N = functools.partial(impl.N)", "partial_N"),
    "a bound method": ("bound_N = impl.Base().method_N", "bound_N"),
    "an object": (
        "object_N = types.SimpleNamespace(kept=impl.N)",
        "object_N.kept",
    ),
    "a cache": ("cache_N = functools.lru_cache(impl.N)", "cache_N"),
}
FUNCTIONS = ("mine", "theirs", "ours")
"""What a patch for main changes, one for an engine core, and one for both."""

IMPL = "class Base: pass\n" + "".join(
    f"def {name}(): return ['{name}']\nBase.method_{name} = lambda self: ['{name}']\n"
    for name in FUNCTIONS
)
BODY = "def by(w, i, a, k): return ['patched', *w(*a, **k)]\n"
ROLES = {
    "mine": "{Role.MAIN}",
    "theirs": "{Role.ENGINE_CORE}",
    "ours": "{Role.MAIN, Role.ENGINE_CORE}",
}
PROGRAM = """
import json, multiprocessing, sys
import patchkit.auto
def child(file):
    import up.holders
    with open(file, "w") as opened:
        json.dump(up.holders.answers(), opened)
if __name__ == "__main__":
    import up.holders
    up.holders.answers()
    context = multiprocessing.get_context(sys.argv[1])
    process = context.Process(target=child, args=(sys.argv[2],), name="EngineCore")
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


def _source() -> str:
    lines = ["import functools, types", "from up import impl"]
    calls: list[str] = []
    for kind, (code, call) in HOLDERS.items():
        for name in FUNCTIONS:
            lines.append(re.sub(r"\bN\b|(?<=_)N\b", name, code))
            called = re.sub(r"(?<=_)N\b", name, call)
            calls.append(f"        {kind + ' of ' + name!r}: {called}(),")
    return "\n".join([*lines, "def answers():", "    return {", *calls, "    }"]) + "\n"


def _answers(world: World, method: str, folder: Path) -> dict[str, Any]:
    """Return what a child process with the role of an engine core calls through each holder."""
    file = folder / f"{method}.json"
    program = folder / "program.py"
    program.write_text(PROGRAM)
    journal = str(folder / f"journal-{method}")
    done = world.run(str(program), method, str(file), PATCHKIT_JOURNAL=journal)
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(file.read_text())
    return answers


def _told(folder: Path, method: str) -> str:
    """Return what the journals name that could not be reached."""
    lines: list[str] = []
    for file in sorted((folder / f"journal-{method}").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            entry = json.loads(line)
            lines += entry.get("out_of_reach", [])
            lines += entry.get("holders", [])
    return "\n".join(lines)


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_forked_process_ends_as_a_spawned_one_does_or_says_what_it_could_not_reach(
    world: World, tmp_path: Path, method: str
) -> None:
    """What is called through each holder is the same, or the holder is in the journal."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.fail(f"no {method} here")
    world.module("up.impl", IMPL)
    world.module("up.holders", _source())
    rows = []
    for name in FUNCTIONS:
        changes = [
            f"Wrap('up.impl:{name}', by='by')",
            f"Wrap('up.impl:Base.method_{name}', by='by')",
        ]
        rows.append(row(name, "patch_all", *changes, roles=ROLES[name]))
    world.pack(*rows, patch_all=BODY)
    spawned = _answers(world, "spawn", tmp_path)
    forked = _answers(world, method, tmp_path)
    told = _told(tmp_path, method)
    assert spawned.keys() == forked.keys()
    untold = []
    for holder, answer in spawned.items():
        kind, _, name = holder.partition(" of ")
        label = re.split(r"[\[.(]", HOLDERS[kind][1].replace("_N", f"_{name}"))[0]
        is_told = label.removeprefix("list") in told or f"keys_{name}" in told
        if answer != forked[holder] and not is_told:
            untold.append((holder, answer, forked[holder]))
    assert untold == []
    assert any(spawned[holder] != forked[holder] for holder in spawned) == (
        method == "fork"
    )


HANGING_IMPL = """
def f(): return ["f"]
class C:
    def m(self): return ["m"]
"""
HANGING_BODY = """
def main(w, i, a, k): return ["main", *w(*a, **k)]
def both(w, i, a, k): return ["both", *w(*a, **k)]
class Other:
    def m(self): return ["other"]
"""
TABLE_OF_A_RE_EXPORT = """
from up import api
HELD = {"f": api.f}
def answers(): return HELD["f"]()
"""
HEIR_OF_A_REPLACEMENT = """
from up import impl
class HELD(impl.C): pass
def answers(): return HELD().m()
"""


@pytest.mark.parametrize(
    ("of_main", "of_both", "holders"),
    [
        (
            "Wrap('up.impl:f', by='main')",
            "Wrap('up.api:f', by='both')",
            TABLE_OF_A_RE_EXPORT,
        ),
        (
            "Replace('up.impl:C', by='Other', unrelated=True)",
            "Wrap('up.impl:f', by='both')",
            HEIR_OF_A_REPLACEMENT,
        ),
    ],
    ids=["table of a re-export", "heir of a replacement"],
)
def test_a_forked_process_says_what_keeps_a_change_that_is_not_its_own(
    world: World, tmp_path: Path, of_main: str, of_both: str, holders: str
) -> None:
    """What is called is the same as in a spawned process, or the journal names the holder."""
    world.module("up.impl", HANGING_IMPL)
    world.module("up.api", "from up.impl import f\n")
    world.module("up.holders", holders)
    world.pack(
        row("main", "patch_all", of_main),
        row("both", "patch_all", of_both, roles=ROLES["ours"]),
        patch_all=HANGING_BODY,
    )
    spawned = _answers(world, "spawn", tmp_path)
    forked = _answers(world, "fork", tmp_path)
    assert spawned == forked or "HELD" in _told(tmp_path, "fork")
