from pydantic import field_serializer, field_validator, model_validator


def check_name(cls, name):
    return name + "?"


def check_all(self):
    self.hidden = -1
    return self


@field_validator("name", mode="before")
@classmethod
def earlier(cls, name):
    return str(name).upper()


@field_validator("size")
@classmethod
def elsewhere(cls, size):
    return size * 10


def by(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) + "*"


calls = []


def noted(wrapped, instance, args, kwargs):
    calls.append(kwargs)
    return wrapped(*args, **kwargs)


@model_validator(mode="after")
def whole(self):
    self.name = "whole"
    return self


def check_size(cls, size):
    return 100


def show_size(self, size):
    return "shown"


def post_init(self, context, /):
    self.size = -self.size


def post(self):
    self.posted = "body"


SIZE = 5
NUMBERS = [1, 2]


class Stranger: ...
