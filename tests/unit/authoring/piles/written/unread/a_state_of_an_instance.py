from up import kinds


def register():
    kinds.REGISTRY.mode = "new"
    kinds.REGISTRY.items["one"] = 1
    kinds.REGISTRY.fresh = 2
