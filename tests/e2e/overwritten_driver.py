"""An engine in which somebody overwrites a method of the worker once it has been looked at.

Generates, waits until the journal of the worker tells of it, asks `patchkit status`, and again.
Arguments: the model. The last line of output is one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab.generate import ENGINE, PROMPT

import patchkit.auto  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Do so."""
    from vllm import LLM, SamplingParams

    llm = LLM(sys.argv[1], distributed_executor_backend="mp", **ENGINE)
    sampling = SamplingParams(temperature=0, max_tokens=8)

    def tokens() -> list[int]:
        return list(
            llm.generate([PROMPT], sampling, use_tqdm=False)[0].outputs[0].token_ids
        )

    before = tokens()
    await_failure()
    command = [sys.executable, "-m", "patchkit", "status", "--format", "json"]
    status = subprocess.run(command, capture_output=True, text=True, check=False)
    said = {"before": before, "after": tokens(), "code": status.returncode}
    print(json.dumps({**said, "status": json.loads(status.stdout)}), flush=True)


def await_failure() -> None:
    """Wait until some process tells that a patch has failed.

    Raises:
        TimeoutError: none has.
    """
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if any(entry.get("status") == "failed" for entry in entries()):
            return
        time.sleep(0.1)
    raise TimeoutError("no patch has failed")


def entries() -> Iterator[dict[str, Any]]:
    """What all processes have told."""
    for file in Path(os.environ["PATCHKIT_JOURNAL"]).glob("*.jsonl"):
        yield from (json.loads(line) for line in file.read_text().splitlines())


if __name__ == "__main__":
    main()
