from up import kinds


def register():
    for name in "bc":
        kinds.NAMES += [name]
        kinds.KINDS.add(name)
        kinds.HOOKS.append(lambda name=name: name)
