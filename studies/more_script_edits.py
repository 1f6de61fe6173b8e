"""Fifty further text edits of vLLM 0.32.0, in other forms; `adopt_scripts.py` adopts each.

`SITE` stands for the folder of the installed packages. Some of the scripts have an edit that is
lost, as it matches nothing or its file is not there: `LOST` says how many.
"""

# ruff: noqa: E501 - lines are as others write them

SED = (
    r"sed -i -e 's/return self.hits \/ self.total/return self.hits \/ max(self.total, 1)/' "
    "-e 's/self._hits += 1/self._hits += 2/' SITE/vllm/utils/cache.py",
    "cd SITE && sed -i '/^def chunk_list/,/^def flatten/ {\n"
    "    s/len(lst), chunk_size)/len(lst), max(chunk_size, 1))/\n}' vllm/utils/collection_utils.py",
    "sed -i '/^def sha256(input/i def sha1(input: Any) -> bytes:\\n"
    "    return hashlib.sha1(pickle.dumps(input)).digest()\\n\\n' SITE/vllm/utils/hashing.py",
    "#!/bin/sh\nset -eu\nTARGET=SITE/vllm/connections.py\n"
    "sed -i '/^_RETRY_BACKOFF_FACTOR = 4/a _RETRY_LIMIT = 3' \"$TARGET\"\n"
    "sed -i 's/if not _is_retryable(e) or attempt + 1 >= max_retries/"
    'if not _is_retryable(e) or attempt + 1 >= _RETRY_LIMIT/\' "$TARGET"',
    "sed -i '/# Todo: add warning/d; /if run_on_remove:/,+1d' SITE/vllm/utils/cache.py",
    "sed -i '/^_RESPONSE_READ_CHUNK_SIZE = /c _RESPONSE_READ_CHUNK_SIZE = 128 * KiB_bytes' "
    "SITE/vllm/connections.py",
    "find SITE/vllm/v1/core -name 'kv_cache_*.py' | xargs sed -i "
    "'s/sample_rate: float = 0.01/sample_rate: float = 0.1/; s/deque(maxlen=4)/deque(maxlen=8)/'",
    'sed -E -i \'s/(VLLM_HTTP_TIMEOUT_KEEP_ALIVE", )"5"/\\1"30"/\' SITE/vllm/envs.py',
    "f=SITE/vllm/utils/func_utils.py\ncp $f $f.bak\n"
    "sed 's/    return value$/    return value if value is not None else None/' $f > $f.tmp && mv $f.tmp $f",
    "cd SITE\nsed -i 's/no such text at all/x/' vllm/utils/cache.py\n"
    "sed -i 's/return 0$/return 0.0/' vllm/utils/lru.py || sed -i 's/return 0$/return 0.0/' vllm/utils/cache.py\n"
    "sed -i 's/a/b/' vllm/gone.py || true",
)
"""Shell scripts with lines of `sed`."""

PYTHON = (
    "import re\nfrom pathlib import Path\n"
    "p = Path('SITE/vllm/utils/func_utils.py')\n"
    "t, n = re.subn(r'def run_once\\(.*?return wrapper\\n', '''def run_once(f):\n"
    "    from functools import cache\n\n    return cache(f)\n''', p.read_text(), flags=re.S)\n"
    "assert n == 1, n\np.write_text(t)\n",
    "import argparse\nimport os\n\n\n"
    "def patch_file(path, old, new):\n"
    "    with open(path, encoding='utf-8') as file:\n        text = file.read()\n"
    "    with open(path, 'w', encoding='utf-8') as file:\n        file.write(text.replace(old, new))\n\n\n"
    "def main():\n"
    "    parser = argparse.ArgumentParser()\n    parser.add_argument('--root', default='SITE/vllm')\n"
    "    root = parser.parse_args().root\n"
    "    patch_file(os.path.join(root, 'utils/hashing.py'), 'hashlib.sha256(data)', 'hashlib.sha256(data, usedforsecurity=False)')\n"
    "    patch_file(os.path.join(root, 'utils/hashing.py'), 'hashlib.sha224(data)', 'hashlib.sha384(data)')\n"
    "    patch_file(os.path.join(root, 'connections.py'), 'trust_env=True', 'trust_env=False')\n\n\n"
    "if __name__ == '__main__':\n    main()\n",
    "import ast\nfrom pathlib import Path\n\n"
    "class Stagger(ast.NodeTransformer):\n"
    "    def visit_Assign(self, node):\n"
    "        if ast.unparse(node.targets[0]) == 'self.decode_stagger' and isinstance(node.value, ast.Constant):\n"
    "            node.value = ast.Constant(2)\n"
    "        return node\n\n"
    "p = Path('SITE/vllm/v1/core/sched/async_scheduler.py')\n"
    "p.write_text(ast.unparse(Stagger().visit(ast.parse(p.read_text()))) + '\\n')\n",
    "import textwrap\nfrom importlib.util import find_spec\nfrom pathlib import Path\n"
    "p = Path(find_spec('vllm').origin).with_name('utils') / 'cache.py'\n"
    "t = p.read_text()\n"
    "method = textwrap.indent(textwrap.dedent('''\n"
    "    def peek(self, key: _K) -> _V | None:\n        return self._Cache__data.get(key)\n'''), '    ')\n"
    "i = t.index('    def pin(self, key: _K)')\n"
    "p.write_text(t[:i] + method.lstrip('\\n') + '\\n' + t[i:])\n",
    "p = 'SITE/vllm/v1/core/kv_cache_metrics.py'\n"
    "lines = open(p).readlines()\n"
    "i = next(n for n, line in enumerate(lines) if 'def drain_events' in line)\n"
    "lines[i + 1:i + 4] = ['        events, self._eviction_events = self._eviction_events, []\\n', '        return events\\n']\n"
    "open(p, 'w').writelines(lines)\n",
    "import shutil\nfrom pathlib import Path\n"
    "utils = Path('SITE/vllm/utils')\n"
    "shutil.copyfile(utils / 'math_utils.py', utils / 'more_math.py')\n"
    "p = utils / 'more_math.py'\n"
    "p.write_text(p.read_text().replace('def cdiv', 'def ceil_div'))\n",
    "from pathlib import Path\n"
    "p = Path('SITE/vllm/utils/hashing.py')\n"
    "b = p.read_bytes()\n"
    "b = b.replace(b'canonical=True', b'canonical=False', 1)\n"
    "p.write_bytes(b)\n",
    "import io, tokenize\n"
    "p = 'SITE/vllm/utils/collection_utils.py'\n"
    "with open(p, 'rb') as file:\n    tokens = list(tokenize.tokenize(file.readline))\n"
    "tokens = [t._replace(string='max') if t.type == tokenize.NAME and t.string == 'min' else t for t in tokens]\n"
    "with open(p, 'wb') as file:\n    file.write(tokenize.untokenize([(t.type, t.string) for t in tokens]))\n",
    "import json, re, site, os\n"
    "EDITS = json.loads('''[\n"
    '  ["vllm/utils/func_utils.py", "^@lru_cache\\\\\\\\n(?=def _supports_kw)", ""],\n'
    '  ["vllm/utils/func_utils.py", "requires_kw_only: bool = True", "requires_kw_only: bool = False"],\n'
    '  ["vllm/connections.py", "max_retries = max\\\\\\\\(envs\\\\\\\\.(\\\\\\\\w+), 1\\\\\\\\)", "max_retries = envs.\\\\\\\\1 or 1"],\n'
    '  ["vllm/connections.py", "^_MISSING = .*$", "_MISSING = 1"]\n'
    "]''')\n"
    "for name, pattern, new in EDITS:\n"
    "    path = os.path.join(site.getsitepackages()[0] if 'SITE'.startswith('/usr/local') else 'SITE', name)\n"
    "    text = open(path).read()\n"
    "    open(path, 'w').write(re.sub(pattern, new, text, flags=re.M))\n",
    "import os, glob\n"
    "os.rename('SITE/vllm/v1/core/kv_cache_metrics.py', 'SITE/vllm/v1/core/kv_metrics.py')\n"
    "for p in glob.glob('SITE/vllm/v1/**/*.py', recursive=True):\n"
    "    t = open(p).read()\n"
    "    if 'kv_cache_metrics import' in t:\n"
    "        open(p, 'w').write(t.replace('kv_cache_metrics import', 'kv_metrics import'))\n",
)
"""Python programs that edit files."""

_BLANK = " "
_HUNK = f"""--- a/vllm/utils/collection_utils.py
+++ b/vllm/utils/collection_utils.py
@@ -111,5 +111,5 @@ def chunk_list
 def flatten_2d_lists(lists: Iterable[Iterable[T]]) -> list[T]:
     \"\"\"Flatten a list of lists to a single list.\"\"\"
-    return [item for sublist in lists for item in sublist]
+    return [item for sublist in lists for item in (sublist or ())]
{_BLANK}
{_BLANK}
"""

DOCKERFILE = (
    "COPY <<EOF SITE/vllm/utils/extra_words.py\nWORDS = ('a', 'b')\n\n\ndef count():\n    return len(WORDS)\nEOF",
    "RUN <<EOF\nset -e\nsed -i 's/if self.maxsize == 0:/if not self.maxsize:/' SITE/vllm/utils/cache.py\n"
    "sed -i 's/if len(self) == 0:/if not len(self):/' SITE/vllm/utils/cache.py\nEOF",
    'SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN pushd SITE/vllm > /dev/null && '
    'sed -i \'s/VLLM_RINGBUFFER_WARNING_INTERVAL", "60"/VLLM_RINGBUFFER_WARNING_INTERVAL", "600"/\' envs.py && popd',
    "ARG VLLM_DIR=SITE/vllm\nRUN sed -i 's/uses_ray: bool = False/uses_ray: bool = True/' ${VLLM_DIR}/v1/executor/abstract.py",
    f"WORKDIR SITE\nRUN patch -p1 <<'EOF'\n{_HUNK}EOF",
    "RUN VLLM=$(python3 -c \"from importlib.util import find_spec as f; print(f('vllm').submodule_search_locations[0])\") && "
    "sed -i 's/return random.random() < self.sample_rate/return True/' $VLLM/v1/core/kv_cache_metrics.py",
    "RUN python3 -c \"import re, pathlib; p = pathlib.Path('SITE/vllm/version.py'); "
    "p.write_text(re.sub(r'stacklevel=2', 'stacklevel=3', p.read_text()).replace('(0, 0)', '(0, 1)'))\"",
    "RUN printf '\\n\\nclass NoCache(LRUCache):\\n    def put(self, key, value):\\n        return None\\n' >> SITE/vllm/utils/cache.py",
    "RUN sed -i 's/1e9 for i in range/1e6 for i in range/' SITE/vllm/v1/core/kv_cache_metrics.py && "
    "grep -q '1e6 for i in range' SITE/vllm/v1/core/kv_cache_metrics.py || exit 1",
    f"RUN cd SITE && git apply -p1 - <<'EOF'\n{_HUNK}EOF",
)
"""Lines of Dockerfiles."""

DIFF = (
    (("utils/func_utils.py", "@lru_cache\ndef _supports_kw(", "def _supports_kw("),),
    (("utils/func_utils.py", "def identity(value: T, **kwargs) -> T:", "def identity(value: T, /, **kwargs) -> T:"),),
    (("utils/cache.py", "class CacheInfo(NamedTuple):\n    hits: int\n    total: int\n", "class CacheInfo(NamedTuple):\n    hits: int\n    total: int = 0\n"),),
    (("utils/cache.py", "        return self.currsize / self.maxsize\n", "        return min(1.0, self.currsize / self.maxsize)\n"),),
    (("utils/cache.py", "    def _on_remove(self, key: _K, value: _V | None) -> None:\n        pass\n\n", ""),),
    (("utils/cache.py", "    @property\n    def capacity(self) -> float:\n        return self.maxsize\n", "    @property\n    def capacity(self) -> float:\n        return self.maxsize\n\n    @capacity.setter\n    def capacity(self, value: float) -> None:\n        self._Cache__maxsize = value\n"),),
    (("utils/cache.py", "ALL_PINNED_SENTINEL = _Sentinel()", "ALL_PINNED_SENTINEL = object()"),),
    (("connections.py", "        return {\"User-Agent\": f\"vLLM/{VLLM_VERSION}\", **extras}", "        return {**extras, \"User-Agent\": f\"vLLM/{VLLM_VERSION}\"}"),),
    (("connections.py", "global_http_connection = HTTPConnection()", "global_http_connection = HTTPConnection(reuse_client=False)"),),
    (("connections.py", "            return await r.text()", "            return (await r.text()).strip()"),
     ("connections.py", "            return r.text\n", "            return r.text.strip()\n")),
    (("connections.py", "class MediaDownloadSizeExceededError(ValueError):", "class MediaDownloadSizeExceededError(VLLMValidationError):"),),
    (("connections.py", "    @_sync_retry\n    def get_bytes(", "    def get_bytes("),),
    (("connections.py", "import requests\n", "import random\n\nimport requests\n"),
     ("connections.py", "                time.sleep(backoff)\n", "                time.sleep(backoff * random.random())\n")),
    (("utils/collection_utils.py", "    def __len__(self):\n        return len(self._factory)\n", "    def __len__(self):\n        return len(self._factory)\n\n    def __contains__(self, key: object) -> bool:\n        return key in self._factory\n"),),
    (("utils/collection_utils.py", "    check: Literal[\"first\", \"all\"] = \"first\",", "    check: Literal[\"first\", \"all\"] = \"all\","),),
    (("utils/hashing.py", "    if hash_fn_name == \"sha256\":\n        return sha256\n", "    functions = {\"sha256\": sha256}\n    if hash_fn_name in functions:\n        return functions[hash_fn_name]\n"),),
    (("v1/sample/metadata.py", "    spec_token_ids: list[list[int]] | None = None\n", "    spec_token_ids: list[list[int]] | None = None\n    step_index: int = 0\n"),),
    (("v1/core/kv_cache_metrics.py", "from collections import deque\n", "from collections import Counter, deque\n"),
     ("v1/core/kv_cache_metrics.py", "        self.block_metrics.clear()\n", "        self.block_metrics.clear()\n        self.resets = getattr(self, \"resets\", Counter())\n        self.resets[\"reset\"] += 1\n")),
    (("v1/executor/abstract.py", "SLEEP_TAGS = frozenset((\"weights\", \"kv_cache\"))", "SLEEP_TAGS = frozenset((\"weights\",))"),
     ("v1/executor/abstract.py", "    @staticmethod\n    def get_class(vllm_config: VllmConfig) -> type[\"Executor\"]:\n        executor_class: type[Executor]\n", "    @staticmethod\n    def get_class(vllm_config: VllmConfig) -> type[\"Executor\"]:\n        logger.debug(\"get_class\")\n        executor_class: type[Executor]\n")),
    (("v1/core/block_pool.py", "            if isinstance(blocks, dict):\n                return next(iter(blocks.values()))\n            self._unexpected_blocks_type(blocks)\n        return None\n", "            if isinstance(blocks, dict):\n                return min(blocks.values(), key=lambda block: block.block_id)\n            self._unexpected_blocks_type(blocks)\n        return None\n"),),
)  # fmt: skip
"""Diffs: what each replaces by what, in which files of `vllm/`."""

LOST = {"more_sed_10.sh": 2, "more_patcher_2.py": 1, "more_patcher_9.py": 1}
"""By file, how many of its edits change nothing, and have to be listed."""
