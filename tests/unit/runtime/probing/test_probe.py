"""What a process observes by itself, where `PATCHKIT_PROBE` names targets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.analysis.status.probed import ProbedProcess, read_probe

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Python = Callable[..., subprocess.CompletedProcess[str]]
    Observe = Callable[..., dict[str, ProbedProcess]]

pytestmark = pytest.mark.processes

UP = """
import functools

def f():
    return 1

class Base:
    @classmethod
    def kind(cls):
        return cls.__name__

    def __init__(self, *args):
        pass

class Left(Base):
    pass

class Right(Base):
    pass
"""


@pytest.fixture
def observe(python: Python, tmp_path: Path) -> Observe:
    """Run code in an armed process; return what was seen of each target."""
    (tmp_path / "up.py").write_text(UP)

    def run(code: str, *targets: str) -> dict[str, ProbedProcess]:
        journal = str(tmp_path / "journal")
        environ = {"PATCHKIT_JOURNAL": journal, "PATCHKIT_PROBE": "\n".join(targets)}
        child = python("-c", f"import patchkit.auto\n{code}", **environ)
        assert child.returncode == 0, child.stderr
        assert child.stderr == ""
        result = read_probe(journal, targets, 0)
        seen: dict[str, ProbedProcess] = {}
        for target in result.targets:
            (seen[target.target],) = target.processes
        return seen

    return run


def calls(seen: dict[str, ProbedProcess]) -> dict[str, Any]:
    return {target: process.calls for target, process in seen.items()}


def test_a_module_that_is_reloaded_counts_on(observe: Observe) -> None:
    """Its new functions count with the old ones, and none twice."""
    code = "import importlib, up\nup.f()\nimportlib.reload(up)\nup.f()\nup.f()\n"
    assert calls(observe(code, "up:f")) == {"up:f": 3}


def test_a_class_that_inherits_counts_its_own_instances(observe: Observe) -> None:
    """The function is its base's, and other classes call it too."""
    code = (
        "import up\nup.Left()\nup.Left(1)\nup.Right()\nup.Left.kind()\nup.Base.kind()\n"
    )
    seen = observe(code, "up:Left", "up:Right", "up:Base", "up:Left.kind")
    assert calls(seen) == {"up:Left": 2, "up:Right": 1, "up:Base": 3, "up:Left.kind": 1}


def test_what_was_loaded_before_patchkit_is_counted_from_then_on(
    observe: Observe,
) -> None:
    """A module of Python itself is there before."""
    code = "import textwrap\ntextwrap.dedent('a')\ntextwrap.dedent('b')\n"
    seen = observe(code, "textwrap:dedent", "html.parser:HTMLParser")
    assert calls(seen) == {"textwrap:dedent": 2, "html.parser:HTMLParser": 0}
    assert not seen["html.parser:HTMLParser"].probe.is_imported


def test_a_name_that_a_module_serves_is_not_imported_for_the_probe(
    observe: Observe, tmp_path: Path
) -> None:
    """It would change the order of imports; the reason says what is missing."""
    (tmp_path / "lazy.py").write_text(
        "def __getattr__(name):\n    import up\n    return getattr(up, name)\n"
    )
    seen = observe("import lazy, sys\nassert 'up' not in sys.modules\n", "lazy:f")
    assert seen["lazy:f"].reason.startswith("lazy does not hold f once it is imported")


def test_what_was_copied_in_a_circle_is_counted(
    observe: Observe, tmp_path: Path
) -> None:
    """Another module has bound the function before its own was complete."""
    ring = tmp_path / "ring"
    ring.mkdir()
    (ring / "__init__.py").touch()
    (ring / "first.py").write_text("def f(): pass\nimport ring.second\n")
    (ring / "second.py").write_text("from ring.first import f\n")
    code = "import ring.first\nring.second.f()\n"
    assert calls(observe(code, "ring.first:f")) == {"ring.first:f": 1}


def test_functions_stay_what_they_are(observe: Observe) -> None:
    """Name, signature and pickle are the same, and code runs as without the probe."""
    code = (
        "import inspect, pickle, up\n"
        "assert pickle.loads(pickle.dumps(up.f)) is up.f\n"
        "assert str(inspect.signature(up.f)) == '()'\n"
        "assert up.f.__name__ == 'f' and up.f.__module__ == 'up'\n"
        "assert up.f() == 1\n"
    )
    assert calls(observe(code, "up:f")) == {"up:f": 1}


def test_an_error_is_the_program_s_own(observe: Observe) -> None:
    """A call that raises is counted, and raises what it raises."""
    code = (
        "import up\n"
        "try:\n    up.Base.kind.no\n"
        "except AttributeError:\n    pass\n"
        "try:\n    up.f(1)\n"
        "except TypeError:\n    pass\n"
    )
    # Where the interpreter tells, a call with wrong arguments never begins.
    expected = 0 if sys.version_info >= (3, 12) else 1
    assert calls(observe(code, "up:f")) == {"up:f": expected}


def test_errors_of_signal_handlers_reach_the_program(observe: Observe) -> None:
    """A handler may run while a call is being counted: what it raises is the program's."""
    code = (
        "import signal, up\n"
        "handled = caught = 0\n"
        "def handle(*_):\n"
        "    global handled\n"
        "    handled += 1\n"
        "    raise TimeoutError\n"
        "signal.signal(signal.SIGALRM, handle)\n"
        "up.f()\n"
        # Python 3.13.0 lets an error out of a loop that stands in a `try` itself.
        "def call_until(count):\n"
        "    while handled < count:\n"
        "        up.f()\n"
        "for _ in range(40):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.002)\n"
        "        call_until(handled + 1)\n"
        "    except TimeoutError:\n"
        "        caught += 1\n"
        "assert caught == handled == 40, (caught, handled)\n"
    )
    seen = observe(code, "up:f")
    assert seen["up:f"].calls


def test_a_malformed_target_is_an_error_of_the_variable(
    python: Python, tmp_path: Path
) -> None:
    """It says what was found, and what was expected."""
    environ = {"PATCHKIT_JOURNAL": str(tmp_path / "j"), "PATCHKIT_PROBE": "no target"}
    child = python("-c", "import patchkit.auto", **environ)
    assert "PATCHKIT_PROBE: found 'no target', expected targets" in child.stderr
