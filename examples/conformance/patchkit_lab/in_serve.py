"""Generate with an engine that lives in a Ray Serve deployment, asked over HTTP.

As `in_actor.py`; the last argument is the port that Ray Serve may take.
"""

from __future__ import annotations

import sys
import urllib.request
from typing import Any

from patchkit_lab import job


class Deployment(job.Engine):
    """The engine behind HTTP."""

    async def __call__(self, _request: object) -> dict[str, Any]:
        return self.generate()


def main(words: list[str], port: int) -> None:
    """Deploy, ask, report."""
    import ray
    from ray import serve

    ray.init(runtime_env=job.runtime_env(words))
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    deployment = serve.deployment(Deployment).options(ray_actor_options={"num_cpus": 0})
    try:
        serve.run(deployment.bind(job.of_generate(words), job.handed(words)))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=600) as answer:
            print(answer.read().decode(), flush=True)
    finally:
        serve.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:-1], int(sys.argv[-1]))
