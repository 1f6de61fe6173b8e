"""Generates tokens with an engine of SGLang, and prints them: `python engine_driver.py MODEL`.

A second argument has further arguments of the engine, as JSON.

With a journal, it goes on until `patchkit status` says of every row of the pack that it was called:
processes look at what was called every two seconds, and SGLang ends its processes by SIGKILL.
"""

import json
import os
import subprocess
import sys
import time

from sglang_runs import ENGINE, NAMES, PROMPT, SAMPLING

PATIENCE = 60.0


def called(journal: str) -> set[str]:
    """The rows of which `patchkit status` says that a process has called them."""
    command = [sys.executable, "-m", "patchkit", "status", "--format", "json", journal]
    environ = {**os.environ, "PATCHKIT": "0"}
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, env=environ
    )
    names = set()
    for process in json.loads(done.stdout)["processes"]:
        for patch in process["patches"]:
            if patch.get("in_effect") == "yes":
                names.add(patch["name"])
    return names


if __name__ == "__main__":
    import sglang  # type: ignore[import-not-found, unused-ignore]

    further = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    engine = sglang.Engine(model_path=sys.argv[1], **ENGINE, **further)
    outputs = [engine.generate(PROMPT, SAMPLING)["output_ids"]]
    journal = os.environ.get("PATCHKIT_JOURNAL")
    if journal and os.environ.get("PATCHKIT") != "0":
        deadline = time.monotonic() + PATIENCE
        while not called(journal) >= NAMES and time.monotonic() < deadline:
            outputs.append(engine.generate(PROMPT, SAMPLING)["output_ids"])
    print("tokens", json.dumps(outputs), flush=True)
    engine.shutdown()
