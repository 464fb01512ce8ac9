#!/usr/bin/env bash
# Installs firstlight, unless no version is asked for and one is there.
set -euo pipefail

if [[ -z "${VERSION:-}" ]] && command -v firstlight > /dev/null; then
    firstlight --version
    exit
fi
package="firstlight${VERSION:+==$VERSION}"
if command -v uv > /dev/null; then
    uv tool install "$package"
    uv tool dir --bin >> "$GITHUB_PATH"
else
    folder="${RUNNER_TEMP:?}/firstlight-environment"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet "$package"
    echo "$folder/bin" >> "$GITHUB_PATH"
fi
