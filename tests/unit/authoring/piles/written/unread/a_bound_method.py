from up import lib


class Service:
    def __init__(self):
        self.count = 0

    def g(self):
        self.count += 1
        return ("bound", self.count)


lib.g = Service().g
