"""What `check` reads of SGLang's releases, beside what Python finds in the installed one."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes
from sglang_runs import SECONDS

if TYPE_CHECKING:
    from pathlib import Path

OLDEST, NEWEST = "0.5.10", "0.5.23"
MANAGERS = "sglang.srt.managers"
# Each was there in the oldest release; what became of it in the newest is asked below.
TARGETS = {
    "batch": f"{MANAGERS}.scheduler:Scheduler.run_batch",
    "tokenize": f"{MANAGERS}.tokenizer_manager:TokenizerManager._tokenize_one_request",
    "detokenize": f"{MANAGERS}.detokenizer_manager:DetokenizerManager.handle_batch_token_id_out",
    "forward": "sglang.srt.model_executor.model_runner:ModelRunner.forward",
    "dummy": "sglang.srt.model_executor.model_runner:ModelRunner._dummy_run",
    "decode": "sglang.srt.model_executor.model_runner:ModelRunner.forward_decode",
    "wait": f"{MANAGERS}.tokenizer_manager:TokenizerManager._wait_one_response",
    "session": f"{MANAGERS}.session_controller:SessionController",
    "chunks": "sglang.srt.mem_cache.chunk_cache:ChunkCache",
    "modality": f"{MANAGERS}.schedule_batch:Modality",
}
MOVED = "sglang.srt.session.session_controller:SessionController"
ROWS = """\
from patchkit import Decorate, Patch, Role

PATCHES = tuple(
    Patch(
        name=name,
        body="patch_nothing",
        requires=("sglang>=0.5.10",),
        roles={{Role.MAIN}},
        changes=(Decorate(target, by="by"),),
        why="A test asks for its target.",
        upstream="none: a test",
        sunset="never: a test",
    )
    for name, target in {targets!r}.items()
)
"""
BODY = """\
def by(original):
    return original
"""
IMPORTS = """\
import importlib
import json
import operator
import sys

found = {}
for target in json.loads(sys.argv[1]):
    module, _, name = target.partition(":")
    try:
        operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        found[target] = False
    else:
        found[target] = True
print("found", json.dumps(found))
"""


def checked(folder: Path) -> dict[str, Any]:
    """What `check` says of the rows in all releases from the oldest to the newest."""
    pack = folder / "ten_rows"
    pack.mkdir()
    (pack / "__init__.py").write_text(ROWS.format(targets=TARGETS))
    (pack / "patch_nothing.py").write_text(BODY)
    command = (sys.executable, "-m", "patchkit", "check", "--patches", "ten_rows")
    releases = ("--releases", f"sglang>={OLDEST},<={NEWEST}")
    environ = processes.environment({"PYTHONPATH": str(folder), "PATCHKIT": "0"})
    done = processes.run(
        (*command, *releases, "--format", "json"), environ, SECONDS, folder / "log"
    )
    _, brace, answer = done.output.partition("{")
    said: dict[str, Any] = json.loads(brace + answer)
    return said


def found(folder: Path, targets: list[str]) -> dict[str, bool]:
    """Which targets Python finds in the installed release."""
    command = (sys.executable, "-c", IMPORTS, json.dumps(targets))
    environ = processes.environment({"SGLANG_USE_CPU_ENGINE": "1", "PATCHKIT": "0"})
    done = processes.run(command, environ, SECONDS, folder / "imports.log")
    assert done.status == 0, done.tail()
    (line,) = [line for line in done.output.splitlines() if line.startswith("found ")]
    answers: dict[str, bool] = json.loads(line.removeprefix("found "))
    return answers


def test_ten_rows_are_where_source_says(tmp_path: Path) -> None:
    """Present, absent, moved: `check` reads in wheels what importing the installed one shows."""
    said = checked(tmp_path)
    grid = said["grid"]
    installed = version("sglang")
    assert {grid[name][f"sglang {OLDEST}"] for name in TARGETS} == {"ok"}
    there = found(tmp_path, [*TARGETS.values(), MOVED])
    for name, target in TARGETS.items():
        expected = "ok" if there[target] else "broken"
        assert grid[name][f"sglang {installed}"] == expected, target
    assert list(there.values()).count(False) == {OLDEST: 1, NEWEST: 4}[installed]
    assert there[MOVED] == (installed == NEWEST)
    (missing,) = [
        finding["message"]
        for finding in said["findings"]
        if finding["code"] == "PK101"
        and finding["patch"] == "session"
        and finding["release"] == f"sglang {NEWEST}"
    ]
    assert f"moved to {MOVED}" in missing
