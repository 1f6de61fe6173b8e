import json, sys, threading
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import Role
from patchkit.runtime.reach.arming import arm

session = arm(frozenset({Role.MAIN}))
group, pause = session.states["p"].groups[0], threading.Event()


class Slow(SourceFileLoader):  # until the other thread waits for this one
    def exec_module(self, module):
        user.start()
        while not group.loads:
            pause.wait(0.001)
        super().exec_module(module)


class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec


sys.meta_path.insert(0, Slowing())
user = threading.Thread(target=__import__, args=("up.llm",), daemon=True)
import pack.patch_a

user.join(10)
print(
    json.dumps(
        [user.is_alive(), sys.modules["up.llm"].Processor is pack.patch_a.Processor]
    )
)
