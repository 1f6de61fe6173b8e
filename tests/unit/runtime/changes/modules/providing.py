"""An upstream package that lacks a module, and a patch that provides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.one_patch import MAIN
from support.packages import World, row

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session


BODY = """
'''What a later release brings.'''
__all__ = ["Processor", "build"]
LOADS = []
class Processor:
    def run(self): return 'run'
def build(): return Processor()
def hidden(): ...
class Namespace:
    '''A class.'''
    VALUE = 3
    _private = 4
    def free(): return 'free'
    @staticmethod
    def static(): return 'static'
def fill(module):
    module.filled = module.__name__
def fill_and_take_back(module):
    LOADS.append('made')
    return lambda: LOADS.append('taken back')
NUMBER = 7
MIXED = ["build", 7]
WRONG = ["build", "biuld"]
"""
PROVIDE = "Provide('up.llm')"


def a_world(world: World, *changes: str, body: str = "", **fields: str) -> World:
    """A package `up` without `llm`, and a patch that provides it."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("p", "patch_a", *(changes or (PROVIDE,)), **fields), patch_a=BODY + body
    )
    return world


def armed(world: World, *changes: str, **fields: str) -> Session:
    """A session of such a world that is armed for the main process."""
    session = a_world(world, *changes, **fields).session()
    session.arm(MAIN)
    return session
