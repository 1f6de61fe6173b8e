"""Fifty text edits of vLLM 0.32.0, as people publish them; `adopt_scripts.py` adopts each.

`SITE` stands for the folder of the installed packages.
"""

# ruff: noqa: E501 - lines are as others write them

SED = (
    "sed -i 's/HANDSHAKE_TIMEOUT_MINS = 5/HANDSHAKE_TIMEOUT_MINS = 30/' "
    "SITE/vllm/v1/engine/core.py",
    "sed -i 's/time.sleep(0.001)/time.sleep(0.0001)/' SITE/vllm/v1/engine/core.py",
    "sed -i 's/self.output_thread.join(timeout=5.0)/self.output_thread.join(timeout=30.0)/' "
    "SITE/vllm/v1/engine/core.py",
    "cd SITE/vllm\nsed -i 's|_DATE_FORMAT = .*|_DATE_FORMAT = \"%Y-%m-%d %H:%M:%S\"|' logger.py",
    "sed -i '/^def cdiv/,/^def next/ s|return -(a // -b)|return (a + b - 1) // b|' "
    "vllm/utils/math_utils.py",
    'sed -i "s/if self.n > 1:/if self.n > 8:/; s/n must be 1 when/n must be 8 when/" '
    "SITE/vllm/sampling_params.py",
    "F=$(python3 -c \"import importlib.util as u; print(u.find_spec('vllm').origin)\")\n"
    'sed -i \'s/"8.8.8.8", 80/"1.1.1.1", 53/\' "$(dirname "$F")/utils/network_utils.py"',
    'sed -i \'s/return "Engine {:03d}: "/return "E{:02d} "/g\' SITE/vllm/v1/metrics/loggers.py',
    "set -e\ngrep -q 'STARTUP_POLL_PERIOD_MS = 10000' SITE/vllm/v1/engine/utils.py\n"
    "sed -i 's/STARTUP_POLL_PERIOD_MS = 10000/STARTUP_POLL_PERIOD_MS = 60000/' "
    "SITE/vllm/v1/engine/utils.py",
    "for f in counter math_utils; do\n"
    "    sed -i 's/self.counter += 1/self.counter += 2/; s/return n & (-n)/return n \\& -n/' "
    "SITE/vllm/utils/$f.py\ndone",
)
"""Shell scripts with lines of `sed`."""

PYTHON = (
    "from pathlib import Path\n"
    "import importlib.util\n"
    'root = Path(importlib.util.find_spec("vllm").origin).parent\n'
    'path = root / "utils" / "counter.py"\n'
    "text = path.read_text()\n"
    'old = "    def reset(self) -> None:\\n        self.counter = 0\\n"\n'
    "assert text.count(old) == 1\n"
    'path.write_text(text.replace(old, old + "\\n    def peek(self) -> int:\\n'
    '        return self.counter\\n"))\n',
    "import re\n"
    'path = "SITE/vllm/v1/core/sched/utils.py"\n'
    "with open(path) as f:\n"
    "    source = f.read()\n"
    'source = re.sub(r"request.num_tokens >= max_model_len\\b", '
    '"request.num_tokens > max_model_len", source)\n'
    "with open(path, 'w') as f:\n"
    "    f.write(source)\n",
    "import glob\n"
    'for path in glob.glob("SITE/vllm/v1/engine/exceptions.py"):\n'
    "    lines = open(path).read().split('\\n')\n"
    "    lines = [line.replace('EngineCore encountered an issue.', 'The engine has died.') "
    "for line in lines]\n"
    "    open(path, 'w').write('\\n'.join(lines))\n",
    "import importlib.metadata as m\n"
    "from pathlib import Path\n"
    "assert m.version('vllm').startswith('0.32')\n"
    "path = Path(m.distribution('vllm').locate_file('vllm/v1/request.py'))\n"
    "text = path.read_text()\n"
    "new = text.replace('return self.num_encoder_inputs > 0', "
    "'return bool(self.mm_features)')\n"
    "assert new != text\n"
    "path.write_text(new)\n",
    "import fileinput, sys\n"
    "for line in fileinput.input('SITE/vllm/utils/math_utils.py', inplace=True):\n"
    "    if line.strip() == 'return (x // y) * y':\n"
    "        line = '    return x - x % y\\n'\n"
    "    sys.stdout.write(line)\n",
    "import ast\n"
    'path = "SITE/vllm/v1/worker/utils.py"\n'
    "source = open(path).read()\n"
    "node = next(n for n in ast.parse(source).body "
    "if getattr(n, 'name', '') == 'raise_if_nan_logits')\n"
    "lines = source.splitlines(keepends=True)\n"
    "lines[node.body[0].lineno - 1:node.end_lineno] = ['    return\\n']\n"
    "open(path, 'w').write(''.join(lines))\n",
    "PATCHES = [\n"
    "    ('vllm/v1/metrics/loggers.py', 'if delta_time <= 0.0:', 'if delta_time <= 1e-6:'),\n"
    "    ('vllm/sampling_params.py', 'STRUCTURAL_TAG_WRAPPER_NESTING = 16', "
    "'STRUCTURAL_TAG_WRAPPER_NESTING = 32'),\n"
    "    ('vllm/tracing/utils.py', 'return any(h in headers for h in TRACE_HEADERS)', "
    "'return any(h.lower() in headers for h in TRACE_HEADERS)'),\n"
    "]\n"
    "import os\n"
    "for name, old, new in PATCHES:\n"
    "    path = os.path.join('SITE', name)\n"
    "    text = open(path).read()\n"
    "    assert old in text, name\n"
    "    open(path, 'w').write(text.replace(old, new, 1))\n",
    "from pathlib import Path\n"
    "site = Path('SITE')\n"
    "(site / 'vllm' / 'utils' / 'stall_log.py').write_text('''import time\n\n\n"
    "def since(began: float) -> float:\n"
    "    return time.monotonic() - began\n''')\n"
    "path = site / 'vllm' / 'v1' / 'core' / 'sched' / 'request_queue.py'\n"
    "text = path.read_text()\n"
    "text = text.replace('import heapq\\n', 'import heapq\\nimport logging\\n')\n"
    "text = text.replace('raise IndexError(\"peek from an empty queue\")', "
    '\'logging.getLogger("vllm").error("empty")\\n'
    '            raise IndexError("peek from an empty queue")\', 1)\n'
    "path.write_text(text)\n",
    "import subprocess, sys\n"
    "subprocess.check_call(['sed', '-i', 's/class EngineGenerateError(VLLMServerError)/"
    "class EngineGenerateError(RuntimeError)/', 'SITE/vllm/v1/engine/exceptions.py'])\n",
    "import sysconfig\n"
    "from pathlib import Path\n"
    "path = Path('SITE/vllm/utils/system_utils.py')\n"
    "text = path.read_text()\n"
    "marker = '@contextlib.contextmanager\\ndef set_env_var('\n"
    "assert marker in text\n"
    "path.write_text(text.replace(marker, "
    "'def has_env_var(key: str) -> bool:\\n    return key in os.environ\\n\\n\\n' + marker))\n",
)
"""Python programs that edit files."""

DOCKERFILE = (
    "RUN sed -i 's/timeout=10)/timeout=60)/' SITE/vllm/v1/engine/core.py",
    "RUN apt-get update && \\\n"
    "    apt-get install -y --no-install-recommends patch && \\\n"
    "    sed -i 's/max_n = envs.VLLM_MAX_N_SEQUENCES/max_n = 64/' SITE/vllm/sampling_params.py && \\\n"
    "    rm -rf /var/lib/apt/lists/*",
    "RUN perl -0pi -e 's/with self\\._lock:\\n            self\\._value -= num/"
    "with self._lock:\\n            self._value = max(0, self._value - num)/' "
    "SITE/vllm/utils/counter.py",
    "WORKDIR SITE\nRUN echo '\\n\\ndef ceil_to(x: int, y: int) -> int:\\n"
    "    return cdiv(x, y) * y' >> vllm/utils/math_utils.py",
    'RUN cd SITE && sed -i \'s/return "0.0.0.0"/return "127.0.0.1"/\' vllm/utils/network_utils.py'
    ' && python3 -c "import compileall"',
    "RUN python3 - <<'PY'\n"
    "from pathlib import Path\n"
    "path = Path('SITE/vllm/v1/metrics/loggers.py')\n"
    "text = path.read_text()\n"
    "path.write_text(text.replace('self.num_preemptions: int = 0', "
    "'self.num_preemptions: int = 0\\n        self.resets = getattr(self, \"resets\", 0) + 1', 1))\n"
    "PY",
    "ENV PACKAGES=SITE\nRUN if grep -q 'i += 1' $PACKAGES/vllm/utils/system_utils.py; then \\\n"
    "        sed -i 's/i += 1/i += 2/' $PACKAGES/vllm/utils/system_utils.py; \\\n    fi",
    'RUN ["sed", "-i", "s/return host_ip$/return host_ip.strip()/", '
    '"SITE/vllm/utils/network_utils.py"]',
    "RUN set -eux; for f in SITE/vllm/v1/engine/exceptions.py; do \\\n"
    "      sed -i 's/suppress_context: bool = False/suppress_context: bool = True/' $f; done",
    'RUN awk \'{ sub(/b % self.modulus/, "b"); '
    'sub(/return self.sampling_params.skip_reading_prefix_cache$/, "return False"); print }\' '
    "SITE/vllm/v1/request.py > /tmp/request-edited.py && \\\n"
    "    mv /tmp/request-edited.py SITE/vllm/v1/request.py",
)
"""Lines of Dockerfiles."""

DIFF = (
    (("utils/math_utils.py", "1 if n < 1 else 1 << (n - 1).bit_length()", "1 << max(n - 1, 0).bit_length()"),),
    (("utils/math_utils.py", "RCP_LN2 = 1.4426950216", "RCP_LN2 = 1.4426950408889634"),),
    (("utils/math_utils.py", "def round_down(", "def is_power_of_2(n: int) -> bool:\n    return n > 0 and n & (n - 1) == 0\n\n\ndef round_down("),),
    (("utils/counter.py", "        i = self.counter\n        self.counter += 1\n        return i", "        self.counter += 1\n        return self.counter - 1"),),
    (("utils/counter.py", "class AtomicCounter:", "class StepCounter(Counter):\n    def step(self) -> int:\n        return next(self)\n\n\nclass AtomicCounter:"),),
    (("v1/core/sched/utils.py", "    if len(items_to_remove) == 1:", "    if len(items_to_remove) < 2:"),
     ("v1/core/sched/utils.py", "    assert sampling_params is not None\n\n    last_token_id", "    if sampling_params is None:\n        return False\n\n    last_token_id")),
    (("v1/core/sched/request_queue.py", "        if not self:\n            raise IndexError(\"peek from an empty queue\")\n        return self[0]", "        return self[0]"),),
    (("v1/core/sched/request_queue.py", "        self.appendleft(request)", "        if request not in self:\n            self.appendleft(request)"),),
    (("v1/request.py", "        if not self.events:\n            return None\n        events, self.events = self.events, []\n        return events", "        events, self.events = self.events, []\n        return events or None"),),
    (("v1/request.py", "    @property\n    def num_tokens(self) -> int:", "    @property\n    def has_output(self) -> bool:\n        return bool(self._output_token_ids)\n\n    @property\n    def num_tokens(self) -> int:"),),
    (("v1/metrics/loggers.py", "        self.num_preemptions += iteration_stats.num_preempted_reqs", "        self.num_preemptions += iteration_stats.num_preempted_reqs\n        self.iterations = getattr(self, \"iterations\", 0) + 1"),),
    (("v1/metrics/loggers.py", "            raise TypeError(\n                f\"Stat logger", "            raise ValueError(\n                f\"Stat logger"),),
    (("v1/engine/core.py", "            while not ready_event.wait(timeout=10):", "            while not ready_event.wait(timeout=30):"),
     ("v1/engine/core.py", "            time.sleep(0.001)\n\n        return model_executed", "            time.sleep(0)\n\n        return model_executed")),
    (("v1/engine/utils.py", "    return process_timeout\n\n\nclass CoreEngineState", "    return process_timeout or None\n\n\nclass CoreEngineState"),),
    (("v1/engine/exceptions.py", "    def __init__(self, *args, suppress_context: bool = False, **kwargs):", "    def __init__(self, *args, suppress_context=True, **kwargs):"),),
    (("sampling_params.py", "    if value < 1:\n", "    if value <= 0:\n"),
     ("utils/counter.py", "            self._value += num\n", "            self._value += int(num)\n")),
    (("utils/network_utils.py", "        s.close()\n        return True\n    except OSError:", "        s.close()\n        return True\n    except (OSError, OverflowError):"),),
    (("tracing/utils.py", "TRACE_HEADERS = [\"traceparent\", \"tracestate\"]", "TRACE_HEADERS = [\"traceparent\", \"tracestate\", \"baggage\"]"),),
    (("config/cache.py", "    gpu_memory_utilization: float = Field(default=0.92, gt=0, le=1)", "    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)"),
     ("config/cache.py", "        self.gpu_memory_utilization = value", "        self.gpu_memory_utilization = float(value)")),
    (("logger.py", "    if skip_if_set and _vllm_process_info is not None and _vllm_process_info[1] == pid:\n        return\n", ""),),
)  # fmt: skip
"""Diffs: what each replaces by what, in which files of `vllm/`."""
