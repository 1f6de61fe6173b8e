#!/usr/bin/env python3
"""List every place where releases start a process, and the role that patchkit gives each.

`python studies/process_starts.py` reads vLLM and vllm-omni on the index; `--releases SPEC` other
releases, `--path DIR --package NAME` a source tree. Nothing is imported or run. It ends with 1 if a
place has neither a role nor a stated reason for none. `--write FILE` puts the table between the
marks in a page.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.upstream.reading.tree import open_tree
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.engines.entry_points import own_processes
from patchkit.core.rows.processes import ProcessTable
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.analysis.upstream.reading.files import ReleaseSource
    from patchkit.core.rows.processes import ProcessRow

RELEASES = ("vllm==0.33.0", "vllm-omni==0.30.0")
MARKS = "<!-- process starts -->", "<!-- end of process starts -->"

_WAYS = ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
_SPAWN = [f"os.{kind}{way}" for kind in ("exec", "spawn") for way in _WAYS]
_RUN = (
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "Popen",
)
COMMANDS = {
    *(f"subprocess.{name}" for name in _RUN),
    *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
    *(*_SPAWN, "os.system", "os.popen", "os.posix_spawn", "os.posix_spawnp"),
}
FORKS = {"os.fork", "os.forkpty", "pty.fork"}
LIBRARIES = {"multiprocessing", "multiprocess", "torch.multiprocessing"}
STARTED = {  # by what they are called in those libraries, or what comes of their `get_context`
    "Pool": "multiprocessing.pool:worker",
    "Manager": "multiprocessing.managers:BaseManager._run_server",
    "ProcessPoolExecutor": "concurrent.futures.process:_process_worker",
}
STATED = {
    "fork server": ("", "its children have targets of their own"),
    "vllm.benchmarks.sweep.server:ServerProcess.start": ("main", "`vllm serve`"),
    "vllm.benchmarks.sweep.server:ServerProcess.run_subcommand": (
        "",
        "a command of the user's",
    ),
    "vllm.benchmarks.sweep.startup:run_benchmark": ("main", "`vllm bench startup`"),
    "vllm.collect_env:run": ("", "programs that describe the machine"),
    "vllm.entrypoints.cli.benchmark.main:maybe_exec_rust_bench": (
        "",
        "no Python process",
    ),
    "vllm.snapshot.runtime:LocalSnapshotTools._run": (
        "",
        "criu and tools of the driver",
    ),
    "vllm.third_party.fmha_sm100.cute.test_q8_indexer"
    ":test_vendored_package_layout_loads_csrc_modules": ("", "a test"),
    "vllm.third_party.fmha_sm100.decode_q8kv4._build_utils:_nvcc_version": ("", "nvcc"),
    "vllm.third_party.fmha_sm100.decode_q8kv4._build_utils:_probe_qmul4": ("", "nvcc"),
    "vllm.third_party.tml_fa4.cute_dsl_ptxas:_compile_ptx": ("", "ptxas"),
    "vllm.vllm_flash_attn.cute.cute_dsl_ptxas:_compile_ptx": ("", "ptxas"),
    "vllm_omni.benchmarks.omniinteract:_run_media_command": ("", "ffmpeg"),
}
"""Role, or why there is none, of commands that the source does not name, by who runs them."""


class Start(NamedTuple):
    """A place where a process is started."""

    place: str  # the function, `module:qualname`
    by: str  # a way to know a process
    what: str  # the target, the actor's class, the command
    names: tuple[str, ...]  # what a row may have


class Scope(NamedTuple):
    """What names stand for around a place."""

    module: str
    is_package: bool
    qualname: str
    values: dict[str, list[ast.expr | str]]  # an expression, or a dotted name

    def inner(self, node: ast.AST, name: str) -> Scope:
        """Make the scope of a function or class."""
        values = {key: list(found) for key, found in self.values.items()}
        for argument in ast.walk(node.args) if isinstance(node, FUNCTIONS) else ():
            if isinstance(argument, ast.arg):
                values[argument.arg] = []
        return Scope(
            self.module, self.is_package, f"{self.qualname}.{name}".strip("."), values
        )

    @property
    def place(self) -> str:
        """Name the function."""
        return f"{self.module}:{self.qualname or '(module)'}"


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def starts(
    module: str, tree: ast.Module, *, is_package: bool = False
) -> Iterator[Start]:
    """Yield the starts in one module."""
    yield from _in(tree, Scope(module, is_package, "", {}))


def _in(node: ast.AST, scope: Scope) -> Iterator[Start]:
    for child in _own(node):
        _bind(child, scope)
    for child in _own(node):
        if isinstance(child, ast.Call):
            yield from _started(child, scope)
        elif isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            for decorator in child.decorator_list:
                called = (
                    decorator.func if isinstance(decorator, ast.Call) else decorator
                )
                if "ray.remote" in _dotted(called, scope):
                    yield _actor(child.name, scope)
            yield from _in(child, scope.inner(child, child.name))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what belongs to a function or module, without the insides of those in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield from _own(child)
        else:
            for decorator in child.decorator_list:
                yield from ast.walk(decorator)


def _bind(node: ast.AST, scope: Scope) -> None:
    if isinstance(node, ast.Import):
        for one in node.names:
            name = one.name if one.asname else one.name.partition(".")[0]
            scope.values[one.asname or name] = [name]
    elif isinstance(node, ast.ImportFrom):
        above = scope.module.split(".")
        above = (
            above[: len(above) - node.level + scope.is_package] if node.level else []
        )
        base = ".".join([*above, *filter(None, [node.module])])
        for one in node.names:
            scope.values[one.asname or one.name] = [f"{base}.{one.name}"]
    elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        inner = f"{scope.qualname}." if scope.qualname else ""
        scope.values[node.name] = [f"{scope.module}.{inner}{node.name}"]
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.values.setdefault(target.id, []).append(node.value)
    elif (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.value
    ):
        scope.values.setdefault(node.target.id, []).append(node.value)


def _dotted(node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
    """Name what an expression may be, by dotted names."""
    if isinstance(node, ast.Attribute):
        return [f"{name}.{node.attr}" for name in _dotted(node.value, scope, depth)]
    if isinstance(node, ast.IfExp):
        return [*_dotted(node.body, scope, depth), *_dotted(node.orelse, scope, depth)]
    if isinstance(node, ast.BoolOp):
        return [name for value in node.values for name in _dotted(value, scope, depth)]
    if isinstance(node, ast.Call):
        return [f"{name}()" for name in _dotted(node.func, scope, depth)]
    if not isinstance(node, ast.Name) or depth > 3:
        return []
    known = scope.values.get(node.id, [])
    return [
        name
        for value in known
        for name in (
            [value] if isinstance(value, str) else _dotted(value, scope, depth + 1)
        )
    ]


def _started(call: ast.Call, scope: Scope) -> Iterator[Start]:
    names = _dotted(call.func, scope)
    last = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else getattr(call.func, "id", "")
    )
    tops = {name.rpartition(".")[0] for name in names}
    keywords = {one.arg: one.value for one in call.keywords}
    if last == "Process" and "target" in keywords:
        targets = keywords["target"]
        several = targets.values if isinstance(targets, ast.BoolOp) else [targets]
        yield from (
            _named("target", one, scope) for one in several if _is_known(one, scope)
        )
        if not any(_is_known(one, scope) for one in several):
            yield Start(scope.place, "target", ast.unparse(targets), ())
    elif last in STARTED and (
        tops & LIBRARIES or any("get_context()" in top for top in tops)
    ):
        yield Start(scope.place, "target", STARTED[last], (STARTED[last],))
    elif "concurrent.futures.ProcessPoolExecutor" in {
        n.replace(".process.", ".") for n in names
    }:
        worker = STARTED["ProcessPoolExecutor"]
        yield Start(scope.place, "target", worker, (worker,))
    elif "ray.remote" in names and call.args:
        yield _named("actor", call.args[0], scope)
    elif any(name.endswith("forkserver.ensure_running") for name in names):
        yield Start(scope.place, "command", "fork server", ())
    elif FORKS & set(names):
        yield Start(scope.place, "target", "a fork", ())
    elif COMMANDS & set(names):
        yield _command(call, scope)


def _is_known(node: ast.expr, scope: Scope) -> bool:
    return bool(_dotted(node, scope))


def _named(by: str, node: ast.expr, scope: Scope) -> Start:
    return Start(
        scope.place, by, ast.unparse(node), tuple(dict.fromkeys(_dotted(node, scope)))
    )


def _actor(name: str, scope: Scope) -> Start:
    inner = f"{scope.qualname}.<locals>." if scope.qualname else ""
    return Start(scope.place, "actor", name, (f"{scope.module}:{inner}{name}",))


# -- commands -------------------------------------------------------------------------------------


def _command(call: ast.Call, scope: Scope) -> Start:
    at = (
        1
        if any(name.startswith("os.spawn") for name in _dotted(call.func, scope))
        else 0
    )
    given = call.args[at] if len(call.args) > at else None
    words = _words(given, scope) if given is not None else []
    program = _program(words, scope)
    return Start(
        scope.place, "command", program or ast.unparse(given or call), (program,)
    )


def _words(node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
    """Read the first words of a command; `?` for one that the source does not tell."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split()[:3]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_word(one, scope) for one in node.elts[:5]]
    if isinstance(node, ast.Name) and depth < 3:
        for value in scope.values.get(node.id, []):
            if isinstance(value, ast.expr) and (
                words := _words(value, scope, depth + 1)
            ):
                return words
    return []


def _word(node: ast.expr, scope: Scope) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name) and node.id == "__file__":
        return "__file__"
    if "sys.executable" in _dotted(node, scope):
        return "python"
    if (
        isinstance(node, ast.Call)
        and node.args
        and ast.unparse(node.func) in {"str", "which"}
    ):
        return _word(node.args[0], scope)
    values = scope.values.get(node.id, []) if isinstance(node, ast.Name) else []
    texts = [one for one in values if isinstance(one, (ast.Constant, ast.Call))]
    return _word(texts[0], scope) if len(texts) == 1 else "?"


def _program(words: Sequence[str], scope: Scope) -> str:
    """Name the program of a command, or the module or script that it has Python run."""
    if not words or words[0] == "?":
        return ""
    if words[0] != "python":
        return words[0].rpartition("/")[2]
    rest = [word for word in words[1:] if word not in {"-I", "-u"}]
    if rest[:1] == ["-m"]:
        return "".join(rest[1:2])
    script = f"{scope.module.rpartition('.')[2]}.py"
    return script if rest[:1] == ["__file__"] else "python " + " ".join(rest[:1])


# -- releases -------------------------------------------------------------------------------------


class Listed(NamedTuple):
    """A start with its role; without one, why. Neither where nobody knows it."""

    start: Start
    role: str
    why: str


def listed(source: ReleaseSource, table: ProcessTable) -> Iterator[Listed]:
    """List the starts of one release."""
    paths = sorted(path for path in source.paths() if path.endswith(".py"))
    source.prefetch(paths)
    resolver = Resolver(source)
    for path in paths:
        text = source.read(path) or b""
        if b"rocess" in text or b"os." in text or b"remote" in text:
            name = path.removesuffix(".py").replace("/", ".")
            is_package = name.endswith(".__init__")
            module = name.removesuffix(".__init__")
            for start in starts(module, ast.parse(text), is_package=is_package):
                yield judged(start, table, resolver)


def judged(start: Start, table: ProcessTable, resolver: Resolver) -> Listed:
    """Find the row of a start."""
    rows = (_row(start.by, name, table, resolver) for name in start.names)
    if row := next(filter(None, (*rows, table.known("call", start.place))), None):
        return Listed(start, str(row.role or ""), row.why)
    for stated in (start.place, start.what):
        if stated in STATED:
            return Listed(start, *STATED[stated])
    is_program = start.by == "command" and any(start.names)
    is_python = start.what.startswith(("python", "vllm"))
    if is_program and not is_python and not start.what.endswith(".py"):
        return Listed(start, "", "another program")
    return Listed(start, "", "")


def _row(
    by: str, name: str, table: ProcessTable, resolver: Resolver
) -> ProcessRow | None:
    if by == "command" or ":" in name:
        return table.known(by, name)
    words = name.split(".")
    for at in range(len(words) - 1, 0, -1):
        found = resolver.resolve(
            Target.parse(f"{'.'.join(words[:at])}:{'.'.join(words[at:])}")
        )
        if found.state == "present":
            places = [f"{found.module}:{found.qualname}"]
            places += (
                [f"{one.module}:{one.qualname}" for one in found.bases]
                if by == "actor"
                else []
            )
            return next(
                filter(None, (table.known(by, place) for place in places)), None
            )
    return None


def as_table(every: Sequence[Listed]) -> str:
    """Write a Markdown table; commands that are other programs share a line."""
    lines = ["| where | starts | role |", "|---|---|---|"]
    programs = sorted({one.start.what for one in every if one.why == "another program"})
    for one in every:
        if one.why != "another program":
            role = one.role or (f"none: {one.why}" if one.why else "**unknown**")
            role += f": {one.why}" if one.role and one.why else ""
            lines.append(f"| `{one.start.place}` | `{one.start.what}` | {role} |")
    if programs:
        named = ", ".join(f"`{name}`" for name in programs)
        lines.append(f"| anywhere | {named} | none: other programs |")
    return "\n".join(dict.fromkeys(lines))


def write(page: Path, text: str) -> None:
    """Put the table between the marks of a page."""
    before, _, rest = page.read_text("utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of each release."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0].strip()
    )
    parser.add_argument("--releases", action="append", metavar="SPEC")
    parser.add_argument("--path", type=Path, metavar="DIR")
    parser.add_argument("--package", default="vllm")
    parser.add_argument("--write", type=Path, metavar="FILE")
    asked = parser.parse_args(argv)
    table, texts, unknown = ProcessTable(own_processes()), [], 0
    with Library() as library:
        if asked.path:
            opened = [(str(asked.path), open_tree(asked.path, asked.package))]
        else:
            specs = asked.releases or RELEASES
            several = [find_releases(spec, library)[-1] for spec in specs]
            opened = [(one.name, one.source) for one in several]
        for name, source in opened:
            every = list(listed(source, table))
            texts.append(f"{name}:\n\n{as_table(every)}")
            unknown += sum(not (one.role or one.why) for one in every)
    text = "\n\n".join(texts)
    if asked.write:
        write(asked.write, text)
    else:
        print(text)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
