"""docs/findings.md shows what `patchkit check` really prints; `WRITE_DOCS=1` writes that anew."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from patchkit.analysis.check.codes import CODES
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

PAGE = Path(__file__).parents[4] / "docs" / "findings.md"
NO_WIDER = "80"
CODE = re.compile(r"^  (PK\d+)  ")
BLOCK = r"(^## {code} .*?^\*\*Example\.\*\* .*?^```\n)(.*?)(^```$)"
RANGE = "('vllm>=0.10,<0.13',)"
TEXTS = {"why": "'it fails'", "upstream": "'none: local'", "sunset": "'never'"}
BODY = "def around(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)\n"
SCHED = "vllm/v1/core/sched/scheduler.py"
STEP = "vllm.v1.core.sched.scheduler:Scheduler.step"
WRAP = f"Wrap({STEP!r}, by='around')"
A_STEP = "class Scheduler:\n    def step(self, now):\n        return now\n"
AN_EDIT = "Edit('vllm.net:bind', old={!r}, new={!r})"


def complete_row(*changes: str, name: str = "my-patch", **fields: str) -> str:
    """A row with everything that a row should say."""
    complete = {"requires": RANGE, "roles": "{Role.ENGINE_CORE}", **TEXTS, **fields}
    return row(name, "patch_a", *changes, **complete)


@dataclass(frozen=True)
class Example:
    """What leads to a finding.

    Args:
        rows: sources.
        releases: for each version of vllm its files.
        bodies: the pack's.
        words: of the command line, behind the command.
        command: of patchkit.
        locked: the release that was reviewed, if there is a lock.
    """

    rows: tuple[str, ...]
    releases: dict[str, dict[str, str]]
    bodies: dict[str, str] = field(default_factory=lambda: {"patch_a": BODY})
    words: tuple[str, ...] = ("--releases", "vllm")
    locked: str = ""
    command: str = "check"


def released(path: str, *texts: str) -> dict[str, dict[str, str]]:
    """Releases 0.11.0, 0.12.0, … that differ in complete_row file."""
    return {f"0.{11 + number}.0": {path: text} for number, text in enumerate(texts)}


def edited(old: str, new: str, text: str) -> Example:
    """An Edit of `vllm.net:bind`, and a release in which `vllm/net.py` has this text."""
    return Example(
        (complete_row(AN_EDIT.format(old, new)),), released("vllm/net.py", text)
    )


def replaced(body: str, *texts: str) -> Example:
    """A row that replaces `Scheduler.step`, and releases that differ in it."""
    rows = (complete_row(f"Replace({STEP!r}, by='step')"),)
    return Example(rows, released(SCHED, *texts), {"patch_a": body})


def using(top: str, old: str, new: str, inside: str = "pass") -> Example:
    """A body that uses `vllm.utils` in its first lines or in its function, and two releases."""
    body = f"{top}def around(wrapped, instance, args, kwargs):\n    {inside}\n"
    texts = {"0.11.0": old, "0.12.0": new}
    releases = {
        version: {SCHED: A_STEP, "vllm/utils.py": text}
        for version, text in texts.items()
    }
    return Example((complete_row(WRAP),), releases, {"patch_a": body})


def fitted(text: str, *texts: str) -> Example:
    """A package that uses `vllm.utils`, and releases that differ in it, for `fit`."""
    return Example(
        (complete_row(WRAP),),
        {
            version: {SCHED: A_STEP, **files}
            for version, files in released("vllm/utils.py", *texts).items()
        },
        {"patch_a": f"{text}{BODY}"},
        ("my_pack", "--undecided", "--releases", "vllm"),
        command="fit",
    )


def in_turns(first: str, second: str) -> Example:
    """Two changes of one class, at its old and at its new place, each with a requirement."""
    old, new = "vllm.executor.ray_utils", "vllm.v1.executor.ray_utils"
    changes = (
        f"Wrap('{old}:RayWorkerWrapper.start', by='around', requires=({first!r},))",
        f"Wrap('{new}:RayWorkerWrapper.start', by='around', requires=({second!r},))",
    )
    text = "class RayWorkerWrapper:\n    def start(self): ...\n"
    files = {f"{name.replace('.', '/')}.py": text for name in (old, new)}
    return Example(
        (complete_row(*changes),), dict.fromkeys(("0.10.2", "0.11.0", "0.11.1"), files)
    )


RAY = "class RayWorkerWrapper:\n    def adjust_rank(self, ranks):\n        self.rank = ranks[0]\n"
RAY_LATER = RAY.replace("[0]", "[1]")
CONFIG = "import dataclasses\n\n@dataclasses.dataclass\nclass Config:\n    size: int\n"
WORKER = (
    "class Base:\n    def stop(self): return {}\n\n"
    "class Worker(Base):\n    def start(self): ...\n"
)
CHECK_STOP = "def check_stop(request):\n    return request.stopped\n"

EXAMPLES = {
    "PK101": Example(
        (
            complete_row(
                "Wrap('vllm.executor.ray_utils:RayWorkerWrapper', by='around')"
            ),
        ),
        {
            "0.11.0": {"vllm/executor/ray_utils.py": RAY},
            "0.11.1": {
                "vllm/v1/executor/ray_utils.py": RAY,
                "vllm/executor/__init__.py": "",
            },
        },
    ),
    "PK102": Example(
        (complete_row("Wrap('vllm.config:Config.size', by='around')"),),
        released("vllm/config.py", CONFIG),
    ),
    "PK103": replaced(
        "def step(self, now): ...",
        A_STEP.replace("now):", "now, *, dry=False):"),
    ),
    "PK104": Example(
        (complete_row("Wrap('vllm.ops:norm', by='around')"),),
        released(
            "vllm/ops.py", "for name in kernels():\n    globals()[name] = make(name)\n"
        ),
    ),
    "PK105": Example(
        (complete_row("Replace('vllm.ops:norm', by='norm')"),),
        released("vllm/ops.py", "import apex\n\n@apex.traced\ndef norm(x, eps): ...\n"),
        {"patch_a": "def norm(x): ..."},
    ),
    "PK106": Example(
        (complete_row("Replace('vllm.net:PORT', by='PORT')"),),
        released("vllm/net.py", "PORT = 8000\n"),
        {"patch_a": "PORT = '8000'"},
    ),
    "PK111": edited(
        "zmq.Context(io_threads=2)",
        "zmq.Context(io_threads=1)",
        "import zmq\n\ndef bind(address):\n    context = zmq.Context(io_threads=4)\n"
        "    return context.bind(address)\n",
    ),
    "PK112": edited(
        "return None",
        "return address",
        "def bind(address):\n    if not address:\n        return None\n    return None\n",
    ),
    "PK113": edited(
        "timeout=5", "timeout=5", "def bind(address):\n    run(timeout=5)\n"
    ),
    "PK114": edited(
        "run(address)",
        "run(address)\n        log(address)",
        "def bind(address):\n    if address:\n        run(address)\n",
    ),
    "PK115": edited(
        "return now",
        "return tiem.monotonic()",
        "import time\n\n\ndef bind(now):\n    time.sleep(0)\n    return now\n",
    ),
    "PK121": Example(
        (
            complete_row(
                "Add('vllm.v1.core.sched.scheduler:Scheduler.pause', by='pause')"
            ),
        ),
        released(SCHED, A_STEP + "    def pause(self): ...\n"),
        {"patch_a": "def pause(self): ..."},
    ),
    "PK122": edited(
        "timeout=5", "timeout=60", "def bind(address):\n    run(timeout=60)\n"
    ),
    "PK201": Example(
        (
            complete_row(
                "Wrap('vllm.ray_utils:RayWorkerWrapper.adjust_rank', by='around')"
            ),
        ),
        released("vllm/ray_utils.py", RAY, RAY_LATER),
        locked="0.11.0",
    ),
    "PK202": Example(
        (
            complete_row(WRAP),
            complete_row("Wrap('vllm.net:bind', by='around')", name="new-patch"),
        ),
        {"0.11.0": {SCHED: A_STEP, "vllm/net.py": "def bind(): ...\n"}},
        locked="0.11.0",
    ),
    "PK203": Example(
        (complete_row("Replace('vllm.worker:Worker', by='Worker', unrelated=True)"),),
        released("vllm/worker.py", *map(WORKER.format, (1, 2))),
        {"patch_a": "class Worker: ..."},
    ),
    "PK301": Example(
        (complete_row(WRAP, requires="('vllm>=0.11.7,<0.12',)"),),
        released(SCHED, A_STEP),
    ),
    "PK302": in_turns("vllm<0.11", "vllm>=0.11.1"),
    "PK303": in_turns("vllm<0.11.1", "vllm>=0.11"),
    "PK304": Example(
        (complete_row(WRAP, requires="('vllm>=0.11',)"),), released(SCHED, A_STEP)
    ),
    "PK305": Example(
        (complete_row(WRAP, requires="('vllm>=0.10,<0.12',)"),),
        released(SCHED, A_STEP, A_STEP),
        words=("--releases", "vllm", "--inverse"),
    ),
    "PK306": Example(
        (complete_row(WRAP, requires="('torch_npu<9',)"),), released(SCHED, A_STEP)
    ),
    "PK307": Example(
        (complete_row(WRAP, roles="{Role.MAIN, Role.WORKER}"),), released(SCHED, A_STEP)
    ),
    "PK401": Example(
        (complete_row(WRAP, name="core-loop"), complete_row(WRAP, name="core-trace")),
        released(SCHED, A_STEP),
    ),
    "PK402": Example(
        (complete_row("Wrap('vllm.v1.core.sched.utils:check_stop', by='around')"),),
        {
            "0.11.0": {
                "vllm/v1/core/sched/utils.py": CHECK_STOP,
                "vllm/v1/engine/core.py": "from vllm.v1.core.sched.utils import check_stop\n",
            }
        },
        words=("--wheel", "vllm-0.11.0-py3-none-any.whl"),
    ),
    "PK403": Example(
        (
            complete_row(f"Replace({STEP!r}, by='step')", name="core-fast"),
            complete_row(
                f"Edit({STEP!r}, old='return now', new='return now + 1')",
                name="core-trace",
            ),
        ),
        released(SCHED, A_STEP),
        {"patch_a": "def step(self, now): return now\n"},
    ),
    "PK404": Example(
        (
            complete_row(WRAP, name="core-fast"),
            complete_row(WRAP, name="core-trace", conflicts="('core-fats',)"),
        ),
        released(SCHED, A_STEP),
        {"patch_a": BODY},
    ),
    "PK501": Example(
        (complete_row(WRAP),),
        released(SCHED, A_STEP),
        {"patch_a": BODY, "patch_scheduler": BODY},
    ),
    "PK502": Example(
        (row("my-patch", "patch_sheduler", WRAP, **TEXTS),),
        released(SCHED, A_STEP),
        {"patch_scheduler": BODY},
    ),
    "PK503": replaced("def new_step(self, now): ...", A_STEP),
    "PK504": Example(
        (complete_row(WRAP),),
        released(SCHED, A_STEP),
        {"patch_a": BODY.replace("**kwargs)\n", "**kwargs\n")},
    ),
    "PK511": Example((complete_row(WRAP, why="''"),), released(SCHED, A_STEP)),
    "PK512": Example((complete_row(WRAP, upstream="''"),), released(SCHED, A_STEP)),
    "PK513": Example((complete_row(WRAP, sunset="''"),), released(SCHED, A_STEP)),
    "PK601": using("from vllm.utils import cdiv\n", "def cdiv(a, b): ...\n", ""),
    "PK602": using("", "def cdiv(a, b): ...\n", "", "from vllm.utils import cdiv"),
    "PK603": using(
        "from vllm.utils import cdiv\n",
        "def cdiv(a, b): ...\n",
        "def cdiv(a, b, c): ...\n",
        "return cdiv(4, 2)",
    ),
    "PK604": using(
        "from vllm.utils import Worker\nclass Mine(Worker):\n    def load(self): ...\n",
        "class Worker:\n    def load(self): ...\n",
        "class Worker:\n    def load(self, model): ...\n",
    ),
    "PK605": using(
        "try:\n    from vllm.utils import cdiv\nexcept ImportError:\n    cdiv = None\n",
        "def cdiv(a, b): ...\n",
        "",
    ),
    "PK606": using(
        "from vllm.utils import Worker\nclass Mine(Worker):\n    def load(self): ...\n",
        "class Worker:\n    def load(self): ...\n",
        "class Worker: ...\n",
    ),
    "PK607": fitted(
        "from vllm.utils import cdiv\n",
        "def cdiv(a, b): ...\n",
        "globals().update(more())\n",
    ),
    "PK901": Example(
        (complete_row(WRAP),), {**released(SCHED, A_STEP), "0.12.0": {"": "cut off"}}
    ),
}


def release(folder: Path, version: str, files: dict[str, str]) -> None:
    """Write a wheel of vllm, with the packages around each module; a file without a name is all."""
    wheel = folder / f"vllm-{version}-py3-none-any.whl"
    if "" in files:
        wheel.write_text(files[""])
        return
    written = {
        "vllm/__init__.py": "",
        f"vllm-{version}.dist-info/METADATA": "Name: vllm\n",
    }
    for path in files:
        for outer in list(Path(path).parents)[:-1]:
            written[f"{outer}/__init__.py"] = ""
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**written, **files}.items():
            archive.writestr(path, text)


def printed(text: str, code: str) -> str:
    """What a table says of a code, without the indentation."""
    lines = text.splitlines()
    first = next(
        number for number, line in enumerate(lines) if line.startswith(f"  {code}  ")
    )
    last = first + 1
    while lines[last].startswith("  ") and not CODE.match(lines[last]):
        last += 1
    return "".join(f"{line[2:].rstrip()}\n" for line in lines[first:last])


@pytest.fixture
def folder(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no index but itself."""
    monkeypatch.chdir(world.folder)
    settings = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "COLUMNS": NO_WIDER,
        "PIP_FIND_LINKS": ".",
        "PATCHKIT_PATCHES": "my_pack",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return world.folder


@pytest.mark.parametrize("code", CODES)
def test_a_section_shows_what_is_printed(
    code: str, world: World, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows the finding as `check` prints it for a pack with the fault."""
    example = EXAMPLES[code]
    world.pack(*example.rows, name="my_pack", **example.bodies)
    for version, files in example.releases.items():
        release(folder, version, files)
    if example.locked:
        lock = ["lock", "my-patch", "--releases", f"vllm=={example.locked}"]
        assert main(lock) == 0
    capsys.readouterr()
    severity = CODES[code].severity
    assert main([example.command, *example.words]) == int(severity != "info")
    finding = printed(capsys.readouterr().out, code)
    section = re.compile(BLOCK.format(code=code), re.MULTILINE | re.DOTALL)
    if os.environ.get("WRITE_DOCS") == "1":
        text = PAGE.read_text("utf-8")
        PAGE.write_text(
            section.sub(lambda part: part[1] + finding + part[3], text), "utf-8"
        )
    shown = section.search(PAGE.read_text("utf-8"))
    assert shown is not None
    assert shown[2] == finding
    assert "\n## " not in shown[0]
