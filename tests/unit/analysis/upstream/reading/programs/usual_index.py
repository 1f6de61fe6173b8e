import sys
from patchkit.analysis.upstream.reading.settings import usual_index
from importlib.machinery import PathFinder


class Deaf(PathFinder):
    find_spec = classmethod(lambda cls, name, *_: 1 / 0 if name == "pip" else None)


sys.meta_path.insert(0, Deaf)
print(usual_index(), [name for name in sys.modules if name.partition(".")[0] == "pip"])
