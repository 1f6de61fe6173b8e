import inspect

from up import lib


def register():
    text = inspect.getsource(lib.f).replace('"f"', '"new"')
    namespace = dict(vars(lib))
    exec(text, namespace)
    lib.f = namespace["f"]
