import types

from up import kinds


def register():
    def get(self, name):
        return ("new", name, len(self.items))

    kinds.REGISTRY.get = types.MethodType(get, kinds.REGISTRY)
