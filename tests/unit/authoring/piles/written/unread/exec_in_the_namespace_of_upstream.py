from up import lib


def register():
    exec("def g():\n    return ('new', LIMIT)", vars(lib))
