"""A driver of Ray's with an actor of a user's, in a script; prints what the actor has, as JSON.

The class is pickled by value. It refers to a function of upstream, also as a method of its own, and
derives from a class of upstream.
"""

from __future__ import annotations

import json
import os

import ray
from up.mod import Base, function  # type: ignore[import-not-found]

import patchkit.ray


class Actor(Base):  # type: ignore[misc]
    """Holds what the class was made of."""

    own = staticmethod(function)

    def seen(self) -> list[object]:
        """What the names of the class are, in the actor's process."""
        return [function(), self.own(), self.inherited(), Base.inherited(self)]


def main() -> None:
    """Run the actor, and a task for comparison."""
    env_vars = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(
        log_to_driver=False,
        runtime_env=patchkit.ray.runtime_env({"env_vars": env_vars}),
    )
    actor = ray.remote(num_cpus=0)(Actor).remote()
    found = ray.get(actor.seen.remote(), timeout=600)
    direct = ray.get(actor.inherited.remote(), timeout=600)
    task = ray.get(ray.remote(num_cpus=0)(function).remote(), timeout=600)
    print(json.dumps({"actor": found, "direct": direct, "task": task}), flush=True)


if __name__ == "__main__":
    main()
