"""What a probe counts where installed packs patch its targets."""

from __future__ import annotations

import sys

import pytest
from support import packages
from support.packages import World, row

from patchkit.analysis.status.probed import read_probe

pytestmark = pytest.mark.processes

world = packages.world

UP = """
import functools

def plain():
    return "plain"

def made():
    def inner():
        return "made"
    return inner

first = made()
second = made()

@functools.lru_cache
def cached():
    return "cached"

class Engine:
    def __init__(self):
        self.words = []

    def step(self):
        return "step"

class Small(Engine):
    pass

bound = Engine().step
"""
BODY = """
def around(wrapped, instance, args, kwargs):
    return ("around", wrapped(*args, **kwargs))

def noting(target):
    return lambda: ("noting", target())

def instead(*args):
    return "instead"
"""
OTHER = """
from up.mod import Engine

class Other(Engine):
    def __init__(self):
        super().__init__()
        self.words = ["other"]
"""
CALLS = """
import patchkit.auto, up.mod
for _ in range(3):
    result = {call}
print(repr(result))
"""


def probe(
    world: World, target: str, call: str, *changes: str, body: str = BODY
) -> tuple[str, int | None, str]:
    """Call a target three times with patches on it; return the last result, the count, and why."""
    world.module("up.mod", UP)
    world.pack(row("p", "patch_a", *changes), patch_a=body)
    done = world.run("-c", CALLS.format(call=call), PATCHKIT_PROBE=target)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (probed,) = read_probe(str(world.journal), [target], 0).targets
    (seen,) = probed.processes
    statuses = [
        entry["status"]
        for entry in world.entries()
        if entry["event"] == "patch" and entry["name"] == "p"
    ]
    assert statuses[-1] == "applied"
    return done.stdout.strip(), seen.calls, seen.reason


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [
        ("plain", "Wrap('up.mod:plain', by='around')", "('around', 'plain')"),
        ("plain", "Replace('up.mod:plain', by='instead')", "'instead'"),
        ("plain", "Edit('up.mod:plain', old='\"plain\"', new='\"new\"')", "'new'"),
        ("first", "Wrap('up.mod:first', by='around')", "('around', 'made')"),
        ("Engine().step", "Replace('up.mod:Engine.step', by='instead')", "'instead'"),
        (
            "Small().step",
            "Wrap('up.mod:Engine.step', by='around')",
            "('around', 'step')",
        ),
        ("plain", "Decorate('up.mod:plain', by='noting')", "('noting', 'plain')"),
        ("cached", "Wrap('up.mod:cached', by='around')", "('around', 'cached')"),
    ],
)
def test_calls_count_once_whatever_patch_lies_there(
    world: World, target: str, change: str, result: str
) -> None:
    """Not the original's calls, which a patch may make often or never."""
    named = target.replace("()", "")
    found = probe(world, f"up.mod:{named}", f"up.mod.{target}()", change)
    assert found == (result, 3, "")


def test_the_constructor_of_a_class_that_is_put_there_counts(world: World) -> None:
    """It is another function than that of upstream's class."""
    change = "Replace('up.mod:Engine', by='Other')"
    found = probe(world, "up.mod:Engine", "up.mod.Engine().words", change, body=OTHER)
    assert found == ("['other']", 3, "")


def test_two_patches_on_one_target_count_one_call(world: World) -> None:
    """The outermost is what is called."""
    changes = (
        "Wrap('up.mod:plain', by='around')",
        "Replace('up.mod:plain', by='instead')",
    )
    found = probe(world, "up.mod:plain", "up.mod.plain()", *changes)
    assert found == ("('around', 'instead')", 3, "")


def test_a_bound_method_stays_what_it_is(world: World) -> None:
    """Calls of the same method of another instance are none of the target."""
    code = (
        "up.mod.bound(), up.mod.Engine().step(), up.mod.bound is up.mod.bound.__self__"
    )
    change = "Wrap('up.mod:plain', by='around')"
    _, calls, reason = probe(world, "up.mod:bound", code, change)
    assert (calls, reason) == (3, "")


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the interpreter tells of no calls"
)
def test_no_argument_lives_longer_than_without_the_probe(world: World) -> None:
    """The first argument of an inherited method is looked at, and let go."""
    world.module(
        "up.mod",
        """
        import weakref

        class Big:
            pass

        class Engine:
            def step(self, big):
                seen = weakref.ref(big)
                del big
                return seen() is None

        class Small(Engine):
            pass
        """,
    )
    code = "import patchkit.auto, up.mod; print(up.mod.Small().step(up.mod.Big()))"
    done = world.run("-c", code, PATCHKIT_PROBE="up.mod:Small.step")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the interpreter tells of no calls"
)
def test_no_tool_of_the_interpreter_is_taken_before_a_target_is_imported(
    world: World,
) -> None:
    """Another tool of the program may want its number."""
    world.module("up.mod", UP)
    code = (
        "import sys, patchkit.auto\n"
        "before = sys.monitoring.get_tool(3)\n"
        "import up.mod\n"
        "print(before, sys.monitoring.get_tool(3))\n"
    )
    done = world.run("-c", code, PATCHKIT_PROBE="up.mod:plain")
    assert done.stdout == "None patchkit probe\n", done.stderr


def probed_after(
    world: World, code: str, target: str, *changes: str
) -> list[tuple[int | None, str, str]]:
    """Run code with patches and a probe; return calls, reason and evidence of each process."""
    world.module("up.mod", UP)
    world.pack(row("p", "patch_a", *changes), patch_a=BODY)
    done = world.run("-c", code, PATCHKIT_PROBE=target)
    assert done.returncode == 0, done.stderr
    (probed,) = read_probe(str(world.journal), [target], 0).targets
    return [(seen.calls, seen.reason, seen.evidence) for seen in probed.processes]


def test_a_forked_child_that_a_patch_is_not_for_counts_the_original(
    world: World,
) -> None:
    """The patch is taken back there, as it is for main alone."""
    code = (
        "import multiprocessing, patchkit.auto, up.mod\n"
        "def work():\n"
        "    for _ in range(9): up.mod.plain()\n"
        "context = multiprocessing.get_context('fork')\n"
        "process = context.Process(target=work, name='VllmWorker-0')\n"
        "process.start(), process.join()\n"
    )
    change = "Wrap('up.mod:plain', by='around')"
    found = probed_after(world, code, "up.mod:plain", change)
    assert found == [(0, "", "imported"), (9, "", "called")]


def test_calls_that_cannot_be_told_apart_are_not_counted(world: World) -> None:
    """Two targets have become the same function."""
    code = "import patchkit.auto, up.mod\nfor _ in range(3): up.mod.plain()\n"
    changes = [f"Replace('up.mod:{name}', by='instead')" for name in ("plain", "first")]
    world.module("up.mod", UP)
    world.pack(row("p", "patch_a", *changes), patch_a=BODY)
    targets = ["up.mod:plain", "up.mod:first"]
    done = world.run("-c", code, PATCHKIT_PROBE="\n".join(targets))
    assert done.returncode == 0, done.stderr
    result = read_probe(str(world.journal), targets, 0)
    ((plain,), (first,)) = (target.processes for target in result.targets)
    if sys.version_info < (3, 12):
        assert (plain.calls, first.calls) == (3, 0)
    else:
        assert first.calls is None
        assert "the same code at another target" in first.reason


def test_a_target_that_cannot_be_counted_any_more_was_called(world: World) -> None:
    """Its first call is known."""
    code = (
        "import patchkit.auto, up.mod, math\n"
        "for _ in range(3): up.mod.plain()\n"
        "up.mod.plain = math.sqrt\n"
    )
    change = "Wrap('up.mod:first', by='around')"
    ((_, _, evidence),) = probed_after(world, code, "up.mod:plain", change)
    assert evidence == "called"


def test_a_module_that_is_run_by_its_file_is_said_to_be(world: World) -> None:
    """It has functions of its own, which nobody counts."""
    file = world.module("up.mod", "import patchkit.auto\ndef plain(): ...\nplain()\n")
    done = world.run(str(file), PATCHKIT_PROBE="up.mod:plain")
    assert done.returncode == 0, done.stderr
    (probed,) = read_probe(str(world.journal), ["up.mod:plain"], 0).targets
    (seen,) = probed.processes
    assert seen.calls is None
    assert "it runs as __main__ here" in seen.reason


PROXY = """
class Base:
    def m(self): return "m"
class Sub(Base):
    pass
class Proxy(Base):
    @property
    def __class__(self): raise RuntimeError("code of a proxy")
class Meta(type):
    def make(cls): return cls
class SubMeta(Meta):
    pass
class Made(metaclass=SubMeta):
    pass
class Holder:
    def __init__(self): self.looked = 0
    @property
    def model(self):
        self.looked += 1
        return Base()
held = Holder()
"""


@pytest.mark.parametrize(
    ("target", "code", "calls", "reason"),
    [
        ("Sub.m", "up.Sub().m(), up.Proxy().m()", 1, ""),
        ("SubMeta.make", "up.Made.make(), up.Made.make()", 2, ""),
        (
            "held.model.m",
            "print(up.held.looked)",
            None,
            "model is computed when it is read",
        ),
    ],
)
def test_no_code_of_the_program_runs_for_the_probe(
    world: World, target: str, code: str, calls: int | None, reason: str
) -> None:
    """Neither the `__class__` of a proxy nor a property on the way."""
    world.module("up.mod", PROXY)
    done = world.run(
        "-c",
        f"import patchkit.auto, up.mod as up\n{code}",
        PATCHKIT_PROBE=f"up.mod:{target}",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("", "0")
    (probed,) = read_probe(str(world.journal), [f"up.mod:{target}"], 0).targets
    (seen,) = probed.processes
    assert seen.calls == calls
    assert seen.reason.startswith(reason)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a wrapper holds what it wraps")
def test_what_the_program_deletes_goes(world: World) -> None:
    """The probe keeps neither a function nor an instance alive."""
    source = (
        "import weakref\n"
        "class Engine:\n    def step(self): ...\n"
        "bound = Engine().step\n"
        "def plain(): ...\n"
        "seen = weakref.ref(bound.__self__), weakref.ref(plain)\n"
    )
    world.module("up.mod", source)
    for name, index in (("bound", 0), ("plain", 1)):
        code = (
            f"import patchkit.auto, up.mod, gc\ndel up.mod.{name}\ngc.collect()\n"
            f"print(up.mod.seen[{index}]())\n"
        )
        done = world.run("-c", code, PATCHKIT_PROBE=f"up.mod:{name}")
        assert done.stdout == "None\n", done.stderr
