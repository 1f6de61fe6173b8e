"""Generate with an engine that lives in a Ray actor; the last line of output is one JSON object.

The arguments are `generate.py`'s, but it is the actor that begins as they say, not this driver.
With `--runtime-env` the driver gives its job `patchkit.ray.runtime_env()`.
"""

from __future__ import annotations

import json
import sys

from patchkit_lab import job


def main(words: list[str]) -> None:
    """Create, call, report."""
    import ray

    ray.init(runtime_env=job.runtime_env(words))
    actor = ray.remote(job.Engine).options(num_cpus=0)
    engine = actor.remote(job.of_generate(words), job.handed(words))
    print(json.dumps(ray.get(engine.generate.remote(), timeout=600)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
