from up import kinds


def register():
    class Quiet(type(kinds.REGISTRY)):
        def get(self, name):
            return "quiet"

    kinds.REGISTRY.__class__ = Quiet
