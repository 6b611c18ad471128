"""Railway's pipeline and a few of its accepted tasks, made once for all tests of the synthesis."""

from functools import cache
from itertools import islice

from orchestra_lib.synthesis.pipeline import Accepted, pipeline_of


@cache
def pipeline(name="railway"):
    return pipeline_of(name, seed=7)


@cache
def accepted(n=12, name="railway"):
    found = (one for one in pipeline(name).candidates() if isinstance(one, Accepted))
    return tuple(islice(found, n))


def tasks(n=12, name="railway"):
    return [one.assignment for one in accepted(n, name)]


def place(task):
    """The workplace of a task: its world, its filters, its solver."""
    return pipeline(task.domain).place(task.parameters)
