"""Generate with the pack `rows`; the last line of output is one JSON object.

`separate` has an engine core and a worker in processes of their own, compiles the model, and is
armed before vLLM is imported. `single` has all in one process, imports the targets before it is
armed, and takes everything back while the engine lives: its lines in the witness's file come in
rounds.
"""

from __future__ import annotations

import sys

# A spawned child imports this file again under another name, and must not profit from that.
if __name__ == "__main__" and sys.argv[1] == "separate":
    import patchkit.auto  # noqa: F401

import asyncio
import importlib
import json
import os
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit_lab.generate import ENGINE, PROMPT
from rows import PATCHES
from rows.witness import seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CODE = ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__doc__")


def sampling() -> Any:
    """Eight greedy tokens."""
    from vllm import SamplingParams

    return SamplingParams(temperature=0, max_tokens=8)


def said(output: Any) -> dict[str, Any]:
    """What one request gave."""
    (one,) = output.outputs
    return {"tokens": list(one.token_ids), "reason": one.finish_reason}


# -- processes of their own --------------------------------------------------------------------


async def separate(model: str) -> dict[str, Any]:
    """Generate once, as a server does."""
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    options = {**ENGINE, "enforce_eager": False, "distributed_executor_backend": "mp"}
    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=model, **options))
    try:
        outputs = [
            output async for output in engine.generate(PROMPT, sampling(), "one")
        ]
    finally:
        engine.shutdown()
    return {"process": os.getpid(), **said(outputs[-1])}


# -- one process -------------------------------------------------------------------------------


class Snapshot:
    """Which objects vLLM consists of.

    Of the modules: functions and classes, and what rows name there; of classes: everything, and
    what their own dicts and lists hold; of functions: what an edit may change; of containers: the
    entries that rows name by key.
    """

    def __init__(self) -> None:
        self._modules = [
            name for name in sys.modules if name.partition(".")[0] == "vllm"
        ]
        self._state = dict(self._look())

    def differences(self) -> list[str]:
        """The names of what is another object now, is new or is gone."""
        now = dict(self._look())
        names = self._state.keys() | now.keys()
        absent = object()
        return sorted(
            name
            for name in names
            if self._state.get(name, absent) is not now.get(name, absent)
        )

    def __len__(self) -> int:
        return len(self._state)

    def _look(self) -> Iterator[tuple[str, object]]:
        for name in self._modules:
            for key, value in list(vars(sys.modules[name]).items()):
                if isinstance(value, (FunctionType, type)):
                    yield f"{name}:{key}", value
                if getattr(value, "__module__", None) == name:
                    yield from _inside(f"{name}:{key}", value)
        for place in (change.place for patch in PATCHES for change in patch.changes):
            module = vars(sys.modules.get(place.module, object))
            if "[" in place.qualname:
                container = place.qualname.rpartition("[")[0]
                yield from _entries(
                    f"{place.module}:{container}", eval(container, dict(module))
                )
            elif place.qualname in module:
                yield str(place), module[place.qualname]


def _inside(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, type):
        for key, inner in list(vars(value).items()):
            yield f"{name}.{key}", inner
            yield from _entries(f"{name}.{key}", inner)
            yield from _inside(f"{name}.{key}", getattr(inner, "__func__", inner))
    if isinstance(value, FunctionType):
        yield from ((f"{name}.{key}", getattr(value, key)) for key in CODE)
    if (
        (wrapped := vars(value).get("__wrapped__"))
        if hasattr(value, "__dict__")
        else None
    ):
        yield from _inside(f"{name}.__wrapped__", wrapped)


def _entries(name: str, container: object) -> Iterator[tuple[str, object]]:
    if isinstance(container, dict):
        keyed = (
            (key, entry)
            for key, entry in container.items()
            if isinstance(key, (str, int))
        )
        yield from ((f"{name}[{key!r}]", entry) for key, entry in keyed)
    elif isinstance(container, list):
        yield from ((f"{name}[{at}]", entry) for at, entry in enumerate(container))


def single(model: str) -> dict[str, Any]:
    """Generate patched, not patched and patched again, with one engine."""
    import vllm.entrypoints.llm

    for patch in PATCHES:
        for change in patch.changes:
            if change.kind not in {"BeforeImport", "Provide"}:
                importlib.import_module(change.place.module)
    before = Snapshot()
    import patchkit.auto

    session = patchkit.auto.session
    assert session is not None
    llm = vllm.entrypoints.llm.LLM(model, distributed_executor_backend="uni", **ENGINE)
    names = [
        name for name, state in session.states.items() if state.status == "applied"
    ]
    # What comes before an import cannot come again.
    again = [name for name in names if name != "before-import"]

    def turn(name: str, *steps: Callable[[], object]) -> dict[str, Any]:
        seen(f"-- {name}")
        for step in steps:
            step()
        output = said(llm.generate([PROMPT], sampling(), use_tqdm=False)[0])
        return {
            **output,
            "differences": before.differences(),
            "copies": copies_of_cdiv(),
        }

    turns = {
        "patched": turn("patched"),
        "undone": turn("undone", lambda: session.become(())),
        "again": turn("again", lambda: session.blocks.hold(again)),
        "disarmed": turn(
            "disarmed", lambda: session.blocks.let_go(again), session.stand_down
        ),
    }
    provided = "vllm.v1.core.row_counter" in sys.modules
    facts = {"applied": names, "objects": len(before), "provided": provided}
    return {"process": os.getpid(), **facts, **turns}


def copies_of_cdiv() -> list[str]:
    """Modules of vLLM that have the function of `ten-importers` by name."""
    modules = [
        module for module in sys.modules.values() if isinstance(module, ModuleType)
    ]
    return sorted(
        module.__name__
        for module in modules
        if getattr(vars(module).get("cdiv"), "__module__", None)
        == "rows.patch_observers"
        and module.__name__.startswith("vllm.")
    )


if __name__ == "__main__":
    kind, path = sys.argv[1:]
    result = asyncio.run(separate(path)) if kind == "separate" else single(path)
    print(json.dumps(result), flush=True)
