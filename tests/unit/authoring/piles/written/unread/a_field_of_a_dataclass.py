from up import kinds


def register():
    for name, value in {"size": 4, "name": "new"}.items():
        setattr(kinds.Config, name, value)
