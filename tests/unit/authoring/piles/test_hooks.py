"""Piles that register hooks as plugins of SGLang do, and the rows that are made of them."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    ROWS,
    World,
    adopt,
    here,
    kinds,
    observed,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

REGISTRY = '''\
"""A registry of hooks that has the names of SGLang's, and does what it says of itself."""

import enum
import functools
import importlib
import sys


class HookType(enum.Enum):
    BEFORE = 1
    AFTER = 2
    AROUND = 3
    REPLACE = 4


class HookRegistry:
    hooks = {}

    @classmethod
    def register(cls, target, hook, hook_type=HookType.AFTER, *, source=None):
        cls.hooks.setdefault(target, []).append((hook_type, hook))

    @classmethod
    def apply_hooks(cls):
        def has_class(target):
            return any(isinstance(hook, type) for _, hook in cls.hooks[target])

        for target in sorted(cls.hooks, key=lambda target: not has_class(target)):
            put(target, cls.hooks[target])


def put(target, hooks):
    *owners, name = target.removeprefix("up.lib.").split(".")
    owner = importlib.import_module("up.lib")
    for part in owners:
        owner = getattr(owner, part)
    original = new = getattr(owner, name)
    kind = type(vars(owner).get(name))
    for hook_type, hook in sorted(hooks, key=lambda pair: pair[0] is not HookType.REPLACE):
        new = hook if isinstance(hook, type) else around(new, hook, hook_type)
    setattr(owner, name, kind(new) if kind is staticmethod else new)
    for module in list(sys.modules.values()):
        for key, value in list(vars(module).items()):
            if value is original:
                setattr(module, key, new)


def around(below, hook, hook_type):
    @functools.wraps(below)
    def call(*args, **kwargs):
        if hook_type is HookType.REPLACE:
            return hook(*args, **kwargs)
        if hook_type is HookType.AROUND:
            return hook(below, *args, **kwargs)
        if hook_type is HookType.BEFORE:
            args, kwargs = hook(*args, **kwargs) or (args, kwargs)
            return below(*args, **kwargs)
        result = below(*args, **kwargs)
        changed = hook(result, *args, **kwargs)
        return result if changed is None else changed

    return call


def plugin_hook(target, type=HookType.AFTER):
    def register(hook):
        HookRegistry.register(target, hook, type)
        return hook

    return register
'''
IMPORTS = "from pile.registry import HookRegistry, HookType, plugin_hook\n"
APPLY = "from pile.registry import HookRegistry\nHookRegistry.apply_hooks()\n"
HOOKS = """
def doubled(self, a, b=0):
    return (self, a * 2), {"b": b + 1}

def unchanged(*args, **kwargs):
    return None

def marked(result, *args, **kwargs):
    return ("after", result, args[-1:], kwargs)

def timed(original, *args, **kwargs):
    return ("around", original(*args, **kwargs))

def other(*args, **kwargs):
    return ("other", args[-1:], kwargs)
"""
PLUGINS = {
    "every type": """
        HookRegistry.register("up.lib.C.m", doubled, HookType.BEFORE)
        HookRegistry.register("up.lib.f", marked)
        HookRegistry.register("up.lib.g", hook=timed, hook_type=HookType.AROUND)
        HookRegistry.register("up.lib.C.s", other, HookType.REPLACE)
        """,
    "hooks that change nothing": """
        HookRegistry.register("up.lib.f", unchanged, HookType.BEFORE)
        HookRegistry.register("up.lib.C.m", unchanged, HookType.AFTER)
        HookRegistry.register("up.lib.g", timed, HookType.AROUND)
        """,
    "decorators": """
        @plugin_hook("up.lib.f", type=HookType.AROUND)
        @plugin_hook("up.lib.g")
        def both(first, *args, **kwargs):
            return ("both", callable(first), args, kwargs)

        @plugin_hook("up.lib.C.m", HookType.REPLACE)
        def m(self, a, b=0):
            return ("replaced", a, b)
        """,
    "several of one target": """
        HookRegistry.register("up.lib.f", marked, HookType.AFTER)
        HookRegistry.register("up.lib.f", timed, HookType.AROUND)
        HookRegistry.register("up.lib.f", marked, HookType.AFTER)
        HookRegistry.register("up.lib.f", other, HookType.REPLACE)
        """,
    "decorators of one target": """
        @plugin_hook("up.lib.f", type=HookType.AROUND)
        @plugin_hook("up.lib.f")
        def both(first, *args, **kwargs):
            return ("both", callable(first), args, kwargs)
        """,
    "in place of a function that others have imported": """
        HookRegistry.register("up.lib.g", lambda: "new", HookType.REPLACE)
        """,
    "a class": """
        from up.lib import C

        HookRegistry.register("up.lib.C.m", marked)

        @plugin_hook("up.lib.C", type=HookType.REPLACE)
        class New(C):
            def m(self, a, b=0):
                return ("new", a, b)
        """,
    "no names": """
        HookRegistry.register("up.lib.g", lambda result: ("lambda", result))
        for name in ("f", "C.m"):
            HookRegistry.register(f"up.lib.{name}", marked)
        """,
    "a function of the plugin": """
        def register():
            HookRegistry.register("up.lib.f", marked)
            HookRegistry.register("up.lib.C.m", timed, HookType.AROUND)
        """,
    "a function of the plugin that may return early": """
        import os

        def register():
            if os.environ.get("NO_HOOKS"):
                return
            HookRegistry.register("up.lib.f", marked)
        """,
    "conditions in a function of the plugin": """
        import os

        def one(target):
            HookRegistry.register("up.lib.C.s", marked)

        def register():
            if os.environ.get("NO_HOOKS"):
                return

            def local(original, *args, **kwargs):
                return ("local", original(*args, **kwargs))

            HookRegistry.register("up.lib.f", local, HookType.AROUND)
            if os.environ.get("NEVER"):
                HookRegistry.register("up.lib.g", marked)
            one("s")
        """,
}


def modules_of(plugin: str) -> dict[str, str]:
    """The pile of a plugin; its function is called, if it has one, by nobody in it."""
    return {"patches": IMPORTS + HOOKS + dedent(plugin), "registry": REGISTRY}


def both(here: World) -> tuple[Any, Any]:
    """What upstream does with the plugin's hooks, and with the rows in their place."""
    load = "import pile.patches\ngetattr(pile.patches, 'register', int)()\n"
    first = "import up.user\n"  # which has copies of the targets
    theirs = here.answer(f"{first}{load}{APPLY}{PROBE}", PATCHKIT="0")
    ours = here.answer(f"{first}{ROWS}{load}{APPLY}{PROBE}")
    return theirs, ours


@pytest.mark.processes
@pytest.mark.parametrize("form", PLUGINS)
def test_rows_do_what_the_registry_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The plugin itself registers nothing any more."""
    report = adopt(here, capsys, modules_of(PLUGINS[form]), "--only", "pile.patches")
    assert report["left"] == []
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


def rows_of(
    here: World, capsys: pytest.CaptureFixture[str], plugin: str
) -> Mapping[str, Any]:
    """The report of a plugin that is adopted."""
    return adopt(here, capsys, modules_of(dedent(plugin)), "--only", "pile.patches")


def test_each_hook_is_a_row(here: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A hook in place of its target is a Replace, any other a Decorate."""
    report = rows_of(here, capsys, PLUGINS["every type"])
    assert kinds(report) == {
        "patches-c-m-before": [("Decorate", "up.lib:C.m")],
        "patches-lib-f-after": [("Decorate", "up.lib:f")],
        "patches-lib-g-around": [("Decorate", "up.lib:g")],
        "patches-c-s-replace": [("Replace", "up.lib:C.s")],
    }


LEFT = {
    "HookRegistry.register(str(f), marked)": "its target is no text",
    "HookRegistry.register('up.lib.f', marked, HookType(int()))": "hook type is none",
    "HookRegistry.register('up.lib.gone', marked)": "the release has no up.lib:gone",
    "HookRegistry.register('up.lib.C', marked)": "hooks no class but by REPLACE",
    "@plugin_hook('up.lib.C')\nclass New: pass": "hook of the type REPLACE only",
}


@pytest.mark.parametrize("statement", LEFT)
def test_what_the_registry_refuses_or_nobody_can_read_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    """The reason says what it is; the registry logs such a fault, or nothing, and goes on."""
    report = rows_of(here, capsys, f"from up.lib import f\n{statement}\n")
    assert [LEFT[statement] in place["reason"] for place in report["left"]] == [True]


@pytest.mark.processes
def test_what_the_registry_keeps_is_no_change(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A child that calls the plugin sees hooks in the registry's table, and rows have them."""
    here.module("up.hook_registry", REGISTRY)
    imports = IMPORTS.replace("pile.registry", "up.hook_registry")
    text = imports + HOOKS + dedent(PLUGINS["a function of the plugin"])
    report = observed(here, capsys, {"start": text})
    assert report["left"] == []
    assert kinds(report) == {
        "start-lib-f-after": [("Decorate", "up.lib:f")],
        "start-c-m-around": [("Decorate", "up.lib:C.m")],
    }
