from up import lib


def register():
    for owner in (lib.C, *lib.C.__subclasses__()):
        setattr(owner, "size", len(owner.__name__) + 7)
