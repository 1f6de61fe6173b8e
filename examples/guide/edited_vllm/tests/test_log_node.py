"""What the pack promises, where a process of vLLM's names itself."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from patchkit import applied
with applied("log-names-node"):
    from vllm.config.logging import LoggingConfig
    from vllm.logger import configure_logging, init_logger
    from vllm.utils.system_utils import decorate_logs
    configure_logging(LoggingConfig())
    decorate_logs()
    init_logger("vllm.here").warning("said")
"""


@pytest.mark.vllm(">=0.32")
def test_lines_of_log_name_the_machine() -> None:
    """In a process of its own, since what a line begins with is set once and stays."""
    env = {**os.environ, "LOG_NODE": "node7"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "(MainProcess@node7 pid=" in done.stdout + done.stderr, done.stderr
