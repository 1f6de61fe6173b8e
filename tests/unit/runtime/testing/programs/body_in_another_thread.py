import json, sys, threading, up.mod
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import applied
from patchkit.runtime.reach import arming

begun, tried = threading.Event(), threading.Event()


class Slow(SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        tried.wait(0.3)  # in vain, as the block waits for this very import
        super().exec_module(module)


class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec


sys.meta_path.insert(0, Slowing())
with applied("llm"):  # so that importing a body does not arm the process
    other = threading.Thread(target=__import__, args=("pack.patch_a",), daemon=True)
    other.start()
    begun.wait(10)
    try:
        with applied("p"):
            seen = up.mod.function()
    except Exception as error:
        seen = str(error)
    tried.set()
    other.join(10)
print(json.dumps([seen, up.mod.function()]))
