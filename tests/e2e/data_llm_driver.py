"""Batch inference with `ray.data.llm`, in modes that the arguments name after the model's path.

One job runs them all; the last line of output is one JSON object with what each mode saw.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import ray

import patchkit.ray

if TYPE_CHECKING:
    from collections.abc import Callable


def start() -> None:
    """Join the cluster with patchkit in the job's workers."""
    env_vars = {name: os.environ[name] for name in ("PYTHONPATH",)}
    ray.init(
        log_to_driver=False,
        runtime_env=patchkit.ray.runtime_env({"env_vars": env_vars}),
    )


def rows_of_a_generator(_: str) -> dict[str, Any]:
    """List the rows that come out of an asynchronous generator; needs no `ray.data.llm`."""
    options = ray.data.DataContext.get_current().execution_options

    class Each:
        """The first batch is the last that is done."""

        def __init__(self) -> None:
            self.others = 7
            self.done = asyncio.Event()

        async def __call__(self, batch: dict[str, Any]) -> Any:
            if 0 in batch["id"]:
                await self.done.wait()
            for one in batch["id"]:
                yield {"id": [one]}
            self.others -= 1
            if not self.others:
                self.done.set()

    seen = {}
    for order in ("kept", "free"):
        options.preserve_order = order == "kept"
        # Newer Rays keep the options with it.
        data = ray.data.range(32, override_num_blocks=1)
        seen[order] = rows_within(
            30, data.map_batches(Each, batch_size=4, concurrency=1)
        )
    return seen


def cancelled(_: str) -> dict[str, Any]:
    """One of eight batches is cancelled."""

    class Cancelled:
        async def __call__(self, batch: dict[str, Any]) -> Any:
            if 4 in batch["id"]:
                raise asyncio.CancelledError
            yield batch

    data = ray.data.range(32, override_num_blocks=1)
    batches = data.map_batches(Cancelled, batch_size=4, concurrency=1)
    return {"rows": rows_within(30, batches)}


def rows_within(seconds: float, data: Any) -> list[int] | str | None:
    """Return the numbers of a dataset's rows, or the name of an error; None if there is no end."""
    found: list[int] = []
    errors: list[str] = []

    def read() -> None:
        try:
            found.extend(row["id"] for row in data.take_all())
        except Exception as error:
            errors.append(type(error).__name__)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(seconds)
    return None if thread.is_alive() else errors[0] if errors else found


def generated(model: str) -> dict[str, Any]:
    """Ray's example with two engines: 32 rows, each with every column."""
    import data_llm_jobs as jobs

    processor = ray.data.llm.build_llm_processor(
        jobs.config(model, concurrency=2), jobs.ask, jobs.answered
    )
    data = ray.data.range(jobs.ROWS).map(lambda row: {**row, "mine": f"x{row['id']}"})
    rows = processor(data).take_all()
    first = next(row for row in rows if row["id"] == 0)
    return {
        "ids": sorted(row["id"] for row in rows),
        "mine": sorted(row["mine"] for row in rows),
        "stages": processor.list_stage_names(),
        "columns": sorted(first),
        "asked": list(map(int, first["tokenized_prompt"])),
        "tokens": list(map(int, first["generated_tokens"])),
        "text": first["resp"],
        "lengths": sorted({int(row["num_generated_tokens"]) for row in rows}),
        "modules": sorted({row["module"] for row in rows}),
        "driver": os.getpid() in {row["pid"] for row in rows},
        "batches": len({row["batch_uuid"] for row in rows}),
    }


def failed(model: str) -> dict[str, Any]:
    """One row of 32 is refused by the engine, which is the only stage."""
    import data_llm_jobs as jobs

    told = jobs.config(model, **jobs.ALONE)
    processor = ray.data.llm.build_llm_processor(told, jobs.ask_and_fail, jobs.answered)
    try:
        rows = processor(ray.data.range(jobs.ROWS)).take_all()
    except Exception as error:
        return {"error": str(error)}
    return {"error": None, "rows": len(rows)}


def embedded(model: str) -> dict[str, Any]:
    """32 prompts, 32 vectors."""
    import data_llm_jobs as jobs

    told = jobs.config(model, task_type="embed", **{**jobs.ALONE, "tokenize": True})
    build = ray.data.llm.build_llm_processor
    processor = build(told, lambda row: {"prompt": f"fox t{row['id']}"})
    rows = processor(ray.data.range(jobs.ROWS)).take_all()
    return {
        "ids": sorted(row["id"] for row in rows),
        "sizes": sorted({len(row["embeddings"]) for row in rows}),
        "different": len({tuple(row["embeddings"][:4]) for row in rows}),
    }


def before_the_engine(model: str) -> dict[str, Any]:
    """Image and chat template of rows with an image each; a row without messages."""
    import data_llm_jobs as jobs
    from PIL import Image

    processor = ray.data.llm.build_llm_processor(
        jobs.config(model, has_image=True), with_image
    )
    names = processor.list_stage_names()
    engine = processor.get_stage_by_name("vLLMEngineStage")
    for name in ("TokenizeStage", "vLLMEngineStage", "DetokenizeStage"):
        del processor.stages[name]
    rows = processor(ray.data.range(jobs.ROWS)).take_all()
    first = rows[0]
    try:
        del processor.stages["ChatTemplateStage"]
        processor.preprocess = ray.data.llm.build_llm_processor(
            jobs.config(model)
        ).preprocess
        processor(ray.data.range(3)).take_all()
        error = None
    except Exception as raised:
        error = str(raised)
    assert isinstance(first["image"][0], Image.Image)
    return {
        "ids": sorted(row["id"] for row in rows),
        "stages": names,
        "placed": dict(engine.map_batches_kwargs),
        "sizes": sorted({tuple(row["image_sizes"][0]) for row in rows}),
        "prompt": first["prompt"],
        "error": error,
    }


def with_image(row: dict[str, Any]) -> dict[str, Any]:
    """A message with an image of 3 by 2 pixels, as an URL with data."""
    import data_llm_jobs as jobs
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (3, 2)).save(file, "PNG")
    url = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    image = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": url}}],
    }
    return {"messages": [image, {"role": "user", "content": jobs.PROMPT}]}


def run_twice(_: str) -> dict[str, Any]:
    """One dataset, run twice, whose replica has a placement group of most of the cluster."""
    from patchkit.data_llm import engine

    workers = int(ray.cluster_resources()["CPU"]) - 1
    given = {"tensor_parallel_size": workers, "distributed_executor_backend": "ray"}

    class Grouped:
        def __call__(self, batch: dict[str, Any]) -> Any:
            group = ray.util.get_current_placement_group()
            assert group.bundle_count == workers
            return batch

    placed = engine.placed(given, None)
    data = ray.data.range(32).map_batches(
        Grouped, batch_size=4, concurrency=1, **placed
    )
    return {"first": rows_within(60, data), "second": rows_within(60, data)}


class Squares(BaseHTTPRequestHandler):
    """Answers a number with its square; 13 has none that is JSON."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        SEEN.append((time.monotonic(), self.headers["X-Mine"], body["n"]))
        answer = (
            b"unlucky"
            if body["n"] == 113
            else json.dumps({"square": body["n"] ** 2}).encode()
        )
        self.send_response(200)
        kind = "text/plain" if answer == b"unlucky" else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words: object) -> None:
        pass


SEEN: list[tuple[float, str, int]] = []


def served() -> str:
    """Start the server; return its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Squares)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def squares(url: str, first: int, count: int, **more: Any) -> list[list[int]]:
    """Square numbers by HTTP, 4 in a batch."""
    from ray.data.llm import HttpRequestProcessorConfig, build_llm_processor

    told = HttpRequestProcessorConfig(
        url=url, headers={"X-Mine": "yes"}, batch_size=4, **more
    )
    processor = build_llm_processor(
        told,
        preprocess=lambda row: {"payload": {"n": row["id"] + first}},
        postprocess=lambda row: {
            "id": row["id"],
            "square": row["http_response"]["square"],
        },
    )
    # The first block becomes an empty one.
    data = ray.data.range(count + 4, override_num_blocks=9).filter(
        lambda row: row["id"] >= 4
    )
    data = data.map(lambda row: {"id": row["id"] - 4})
    return sorted([row["id"], row["square"]] for row in processor(data).take_all())


def posted(_: str) -> dict[str, Any]:
    """The HTTP processor: 32 rows as fast as it goes, then 16 at 20 a second; a failure."""
    url = served()
    plain = squares(url, 0, 32, concurrency=2)
    SEEN.clear()
    paced = squares(url, 0, 16, concurrency=2, qps=20)
    times = sorted(seen[0] for seen in SEEN)
    try:
        squares(url, 100, 32)
        error = None
    except Exception as raised:
        error = str(raised)
    return {
        "squares": plain,
        "paced": len(paced),
        "seconds": times[-1] - times[0],
        "mine": sorted({seen[1] for seen in SEEN}),
        "error": error,
    }


def by_the_old_name(_: str) -> dict[str, Any]:
    """The HTTP processor of a Ray that calls `build_llm_processor` something else."""
    return {"squares": squares(served(), 0, 32), "module": ray.data.llm.__file__}


MODES: dict[str, Callable[[str], dict[str, Any]]] = {
    "rows": rows_of_a_generator,
    "cancelled": cancelled,
    "twice": run_twice,
    "http": posted,
    "old-name": by_the_old_name,
    "generate": generated,
    "fail": failed,
    "embed": embedded,
    "stages": before_the_engine,
}
# The others have nothing of patchkit in their job's workers.
ARMED = {"generate", "fail", "embed", "stages"}


def main(model: str, *modes: str) -> None:
    """Run the modes in one job."""
    if ARMED.issuperset(modes):
        start()
    else:
        ray.init(log_to_driver=False)
    print(
        json.dumps({"said": {mode: MODES[mode](model) for mode in modes}}), flush=True
    )
    if not ARMED.issuperset(modes):
        os._exit(0)  # a thread may wait for ever, and would end in an error


if __name__ == "__main__":
    main(*sys.argv[1:])
