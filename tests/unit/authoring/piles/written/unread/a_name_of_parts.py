from up import lib


def register():
    for part, value in (("ze", 5), ("ght", 6)):
        setattr(lib.C, "si" + part if part == "ze" else "wei" + part, value)
