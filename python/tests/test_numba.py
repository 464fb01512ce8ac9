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
    assert programs["total"]["compile-ns"] > programs["square"]["compile-ns"] > 0
    # `square` is compiled inside `total`.
    assert ns(sample, "compile") <= programs["total"]["compile-ns"]
    assert layer(sample, "numba")["after"]["entries"] > 0


def test_a_primed_cache_serves_the_function(cold: Cold) -> None:
    [sample] = cold(SUM, "--runs", "1", "--cache", "primed")["samples"]
    assert sample["valid"], sample["reasons"]
    numba = layer(sample, "numba")
    assert numba["hits"] == numba["requests"] > 0
    assert ns(sample, "cache-read") > 0
    assert ns(sample, "compile") == 0
