"""``%load_ext firstlight``: the cell magics ``%%cold`` and ``%%warm``.

``%%cold`` runs the cell as a script in fresh processes, through the program ``firstlight``.
``%%warm`` calls the cell repeatedly in the notebook's own process.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import sys
import tempfile

from . import _binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Options of `firstlight cold` that this module sets itself.
OWN_OPTIONS = ("--format", "--export-json", "--arm")
WARM_OPTIONS = {"--calls": "calls", "--warm-up": "warm_up", "--within": "within"}
CELL = "<cell>"


class Shown:
    """A result as HTML in a notebook and as text in a terminal."""

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class CellError(Exception):
    """An error in a magic's line or cell, which a notebook shows without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["error: %s" % self]


def load(shell: Any) -> None:
    """Register the magics with a running IPython."""

    def cold_cell(line: str, cell: str) -> Shown:
        """Shows where the time of this cell goes, in fresh processes: %%cold [--runs 10] [...]"""
        return cold(line, cell)

    def warm_cell(line: str, cell: str) -> Shown:
        """Measures warm calls of this cell: %%warm [--calls N] [--warm-up N] [--within TIME]"""
        return warm(line, cell, shell.user_ns)

    shell.register_magic_function(cold_cell, magic_kind="cell", magic_name="cold")
    shell.register_magic_function(warm_cell, magic_kind="cell", magic_name="warm")


def cold(line: str, cell: str) -> Shown:
    """Run the cell with ``firstlight cold``; the line holds options of that command."""
    options = shlex.split(line)
    arguments: list[str] = []
    if "--" in options:
        place = options.index("--")
        options, arguments = options[:place], options[place + 1 :]
    for option in options:
        if option.partition("=")[0] in OWN_OPTIONS:
            raise CellError("%%cold does not accept " + option.partition("=")[0])
    _parsed(cell, "%%cold")
    here = os.getcwd()
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory(prefix="firstlight-") as folder:
        script = os.path.join(folder, "cell.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(cell)
        exported = os.path.join(folder, "cold.json")
        command = ["cold", *options, "--export-json", exported, "--"]
        try:
            finished = _binary.run(
                [*command, sys.executable, script, *arguments], variables={"PYTHONPATH": path}
            )
        except _binary.BinaryError as error:
            raise CellError(str(error)) from None
        with open(exported, encoding="utf-8") as file:
            document = json.load(file)
    from . import _notebook_html

    return Shown(_notebook_html.cold(document), finished.stdout.rstrip())


def _parsed(cell: str, magic: str) -> ast.Module:
    try:
        return ast.parse(cell, CELL)
    except SyntaxError as error:
        raise CellError(
            "line %s of the %s cell: %s; the cell must be plain Python, without magics"
            % (error.lineno, magic, error.msg)
        ) from None


def warm(line: str, cell: str, namespace: dict[str, Any]) -> Shown:
    """Measure calls of the cell as the body of a function; the result of its last expression is
    waited for.
    """
    from . import _measure, _notebook_html

    try:
        options = _measure.Options(**_options(line))
    except ValueError as error:
        raise CellError(str(error)) from None
    measured = _measure.measure(function(cell, namespace), (), {}, options)
    return Shown(_notebook_html.warm(measured), _notebook_html.warm_text(measured))


def _options(line: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    words = [part for word in shlex.split(line) for part in word.split("=", 1)]
    while words:
        name = words.pop(0)
        if name not in WARM_OPTIONS or not words:
            known = ", ".join(WARM_OPTIONS)
            raise CellError("%%%%warm expects a value after one of %s, got `%s`" % (known, name))
        found[WARM_OPTIONS[name]] = words.pop(0)
    return found


def function(cell: str, namespace: dict[str, Any]) -> Callable[[], Any]:
    """Convert the cell to a function without arguments that returns the value of its last
    expression.

    Names that the cell assigns are local to the function, as in a cell of ``%%timeit``.
    """
    parsed = _parsed(cell, "%%warm")
    if not parsed.body:
        raise CellError("the %%warm cell is empty")
    last = parsed.body[-1]
    if isinstance(last, ast.Expr):
        parsed.body[-1] = ast.copy_location(ast.Return(last.value), last)
    shell: Any = ast.parse("def cell():\n    pass", CELL)
    shell.body[0].body = parsed.body
    local: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(shell), CELL, "exec"), namespace, local)
    made: Callable[[], Any] = local["cell"]
    return made
