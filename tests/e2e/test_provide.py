"""A module that the real Ray lacks, provided by a pack: in the driver, a task and an actor.

Takes about 5 s.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from patchkit_lab.cluster import Cluster

DRIVER = Path(__file__).with_name("provide_driver.py")

PACK = """
from patchkit import Patch, Provide, Role

PATCHES = (
    Patch(
        name="backport", body="patch_backport", requires=("ray>=2",), roles=set(Role),
        changes=(Provide({module!r}),),
    ),
)
"""

BODY = """
import ray

__all__ = ["Counter", "nodes"]

class Counter:
    count = 0
    def add(self):
        self.count += 1
        return self.count

def nodes():
    return len(ray.nodes())
"""

USER = """
import os, sys
import ray.util.acme_backport
from ray.util.acme_backport import Counter, nodes

def work(counter):
    import ray.util.acme_backport as module
    from ray import util
    return {
        "pid": os.getpid(),
        "count": counter.add(),
        "same": type(counter) is module.Counter is util.acme_backport.Counter,
        "nodes": nodes() if "driver" in sys.argv[0] else None,
    }

class Actor:
    def work(self, counter):
        return work(counter)
"""


def driven(
    python: Path, ray: Cluster, directory: Path, **more: str
) -> processes.Outcome:
    """Run the driver with the pack."""
    package = directory / "acme_backports"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(PACK.format(module="ray.util.acme_backport"))
    (package / "patch_backport.py").write_text(BODY)
    (directory / "uses_backport.py").write_text(USER)
    told = {"PATCHKIT_PATCHES": "acme_backports", "PYTHONPATH": str(directory), **more}
    env = processes.environment(scenario.MACHINE, ray.environment, told)
    command = [str(python), "-m", "patchkit", "run", "--", str(python), str(DRIVER)]
    return processes.run(command, env, 600, directory / "driver.log")


def test_a_driver_a_task_and_an_actor_share_it(
    python: Path, ray: Cluster, tmp_path: Path
) -> None:
    """Three processes; an object of the module's class goes from one to the other and counts."""
    outcome = driven(python, ray, tmp_path)
    assert outcome.status == 0, outcome.tail()
    seen: dict[str, dict[str, Any]] | None = outcome.said("driver")
    assert seen, outcome.tail()
    assert len({one["pid"] for one in seen.values()} - {os.getpid()}) == 3
    assert {name: one["count"] for name, one in seen.items()} == {
        "driver": 1,
        "task": 2,
        "actor": 2,
    }
    assert all(one["same"] for one in seen.values())
    assert seen["driver"]["nodes"] >= 1


def test_without_the_patch_ray_says_what_it_says(
    python: Path, ray: Cluster, tmp_path: Path
) -> None:
    """Left out, the module is not there."""
    outcome = driven(python, ray, tmp_path, PATCHKIT_DISABLE="backport")
    assert outcome.status == 1
    assert (
        "ModuleNotFoundError: No module named 'ray.util.acme_backport'"
        in outcome.output
    )


def test_a_module_that_ray_has_is_refused(python: Path, tmp_path: Path) -> None:
    """The patch fails where Ray brings the module itself, and names Ray's file."""
    package = tmp_path / "acme_backports"
    package.mkdir()
    (package / "__init__.py").write_text(PACK.format(module="ray.util.queue"))
    (package / "patch_backport.py").write_text(BODY)
    told = {"PATCHKIT_PATCHES": "acme_backports", "PYTHONPATH": str(tmp_path)}
    command = [str(python), "-c", "import patchkit.auto, ray.util.queue"]
    env = processes.environment(scenario.MACHINE, told)
    outcome = processes.run(command, env, 200, tmp_path / "refused.log")
    assert outcome.status == 1
    assert "upstream has this module already" in outcome.output
    assert "ray/util/queue.py" in outcome.output
