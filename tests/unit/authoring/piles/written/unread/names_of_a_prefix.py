from up import lib

for name in [name for name in vars(lib.Call) if name.startswith("ma")]:
    if name != "made":
        setattr(lib.Call, name, lambda *args, name=name: ("new", name))
