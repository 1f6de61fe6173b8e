from __future__ import annotations

import os
import pickle
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest

from patchkit.core.rows.declaration import Role
from patchkit.runtime.reach.carrier import ActorCarrier, Carrier

if TYPE_CHECKING:
    from pathlib import Path

LOADS = "import pickle, sys; pickle.loads(bytes.fromhex(sys.argv[1])); "
SESSION = "from patchkit.runtime.reach.arming import current; print(current())"


@pytest.mark.processes
@pytest.mark.parametrize("kind", [Carrier, ActorCarrier])
def test_without_patchkit_the_error_names_the_node(kind: type[Carrier]) -> None:
    """A process that cannot import patchkit stops, and says where it is and what it lacks."""
    data = pickle.dumps(kind(Role.WORKER, [])).hex()
    command = [sys.executable, "-I", "-S", "-c", LOADS, data]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert "has no patchkit" in done.stderr.splitlines()[-1]
    assert f"on node {os.uname().nodename} {sys.executable}" in done.stderr


@pytest.mark.processes
def test_an_actors_class_that_comes_back_does_nothing() -> None:
    """Unpickling an actor's class in a process that is no Ray worker does not arm it."""
    data = pickle.dumps(ActorCarrier(Role.WORKER)).hex()
    command = [sys.executable, "-c", LOADS + SESSION, data]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "None\n"


@pytest.mark.processes
def test_in_a_ray_worker_the_process_ends_with_the_reason(tmp_path: Path) -> None:
    """A Ray worker without patchkit raises a SystemExit: after any Exception, Ray would go on."""
    script = tmp_path / "default_worker.py"
    script.write_text(f"try: {LOADS}\nexcept SystemExit as end: print('ends:', end)")
    data = pickle.dumps(ActorCarrier(Role.WORKER, [])).hex()
    command = [sys.executable, "-I", "-S", str(script), data]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=30
    )
    node = os.uname().nodename
    assert done.stdout.startswith(f"ends: (patchkit on node {node}) RuntimeError: ")
    assert "has no patchkit" in done.stdout


def test_a_class_brings_its_carrier_before_its_bases() -> None:
    """`put_before` makes a carrier the first original base, which resolves to no base class."""
    cls = type("One", (pickle.Unpickler,), {})
    ActorCarrier(Role.WORKER).put_before(cls)
    carried, *bases = pickle.loads(pickle.dumps(cls.__dict__["__orig_bases__"]))
    assert not isinstance(carried, type)
    assert types.resolve_bases((carried, *bases)) == (pickle.Unpickler,)
    assert types.resolve_bases(cls.__dict__["__orig_bases__"]) == (pickle.Unpickler,)
