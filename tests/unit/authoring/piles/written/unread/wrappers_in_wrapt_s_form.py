from up import lib


def wrap_function_wrapper(module, name, wrapper):
    owner = module
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    wrapped = getattr(owner, last)

    def inner(*args, **words):
        return wrapper(wrapped, None, args, words)

    setattr(owner, last, inner)


def around(wrapped, instance, args, kwargs):
    return ("around", wrapped(*args, **kwargs))


def register():
    wrap_function_wrapper(lib, "C.m", around)
    wrap_function_wrapper(lib, "f", around)
