"""Find and run the program ``firstlight``, for measurements that need other processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "firstlight"
HINT = "hint: install its wheel into this environment, or put it on PATH"


class BinaryError(RuntimeError):
    """The program is missing, or it failed."""


def find() -> str:
    """Return the program beside this interpreter, otherwise the first one on the path."""
    import sysconfig

    folders = [os.path.dirname(sys.executable or ""), sysconfig.get_path("scripts") or ""]
    for folder in folders:
        path = os.path.join(folder, NAME)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which(NAME)
    if found is None:
        searched = " and ".join(dict.fromkeys(folder for folder in folders if folder))
        raise BinaryError(
            "cannot find the program `%s` in %s or on PATH\n\n%s" % (NAME, searched, HINT)
        )
    return found


def run(
    arguments: Sequence[str],
    codes: Sequence[int] = (0,),
    folder: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the program; an exit code that is not in ``codes`` is an error with its stderr."""
    command = [find(), "--color", "never", "--quiet", *arguments]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        cwd=folder,
        env={**os.environ, **(variables or {})},
    )
    try:
        output, errors = process.communicate()
    except KeyboardInterrupt:
        # It keeps its measurements, and kills the process that it measures.
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    if process.returncode not in codes:
        message = errors.strip()
        if message.startswith("error: "):
            raise BinaryError("firstlight %s: %s" % (arguments[0], message[len("error: ") :]))
        raise BinaryError(
            "`firstlight %s` exited with code %d\n\n%s"
            % (arguments[0], process.returncode, message)
        )
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
