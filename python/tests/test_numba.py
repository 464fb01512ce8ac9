"""Real Numba: compilations, and its on-disk cache."""

from typing import Any, Callable

from conftest import layer, ns

Cold = Callable[..., dict[str, Any]]

SUM = """
import numba, numpy as np

@numba.njit(cache=True)
def square(x):
    return x * x

@numba.njit(cache=True)
def total(values):
    result = 0.0
    for value in values:
        result += square(value)
    return result

total(np.arange(10.0))
"""


def test_functions_are_listed_with_their_types_and_nested_ones_are_not_summed_twice(
    cold: Cold,
) -> None:
    [sample] = cold(SUM, "--runs", "1")["samples"]
    assert sample["valid"], sample["reasons"]
    programs = {row["function"]: row for row in sample["compiles"]}
    assert set(programs) == {"square", "total"}
    assert programs["total"]["signature"] == "array(float64, 1d, C)"
    assert programs["total"]["cache"] == "miss"
    assert programs["total"]["compile-ns"] > 0 and programs["square"]["compile-ns"] > 0
    # `square` is compiled inside `total`, and counts once.
    both = programs["total"]["compile-ns"] + programs["square"]["compile-ns"]
    assert both <= ns(sample, "compile")
    assert layer(sample, "numba")["after"]["entries"] > 0


def test_a_primed_cache_serves_the_function(cold: Cold) -> None:
    [sample] = cold(SUM, "--runs", "1", "--cache", "primed")["samples"]
    assert sample["valid"], sample["reasons"]
    numba = layer(sample, "numba")
    assert numba["hits"] == numba["requests"] > 0
    assert ns(sample, "cache-read") > 0
    assert ns(sample, "compile") == 0


JITCLASS = """
import numba

@numba.experimental.jitclass([("x", numba.float64)])
class Point:
    def __init__(self):
        self.x = 1.0

@numba.njit
def read(point):
    return point.x

read(Point())
"""


def test_a_jitclass_is_one_program_in_all_processes(cold: Cold) -> None:
    document = cold(JITCLASS, "--runs", "2")
    programs = document["summary"]["programs"]
    assert {row["count"] for row in programs} == {1.0}, programs
    [read] = [row for row in programs if row["function"] == "read"]
    assert read["signature"] == "instance.jitclass.Point<x:float64>"
