#!/usr/bin/env bash
# Runs the gate and keeps its documents. Succeeds whatever the decision is: decide.sh comes last.
set -euo pipefail

folder="${RUNNER_TEMP:?}/firstlight-${GITHUB_ACTION:-gate}"
rm -rf "$folder"
mkdir -p "$folder"

if [[ -z "$SUITE" && -z "$COMMAND" ]] || [[ -n "$SUITE" && -n "$COMMAND" ]]; then
    echo "::error::set either \`suite\` or \`command\`"
    exit 2
fi
if [[ -z "$BASE" ]]; then
    echo "::error::this event has no commit to compare with: set \`base\`"
    exit 2
fi
# The usual checkout has the head only.
git cat-file -e "$BASE^{commit}" 2> /dev/null || git fetch --quiet --no-tags --depth=1 origin "$BASE"

arguments=(--base "$BASE" --head "$HEAD" --output "$folder/run")
arguments+=(--json "$folder/gate.json" --markdown "$folder/comment.md")
arguments+=(--summary "$GITHUB_STEP_SUMMARY" --annotations github)
url="${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
arguments+=(--report-url "$url#artifacts")
[[ -z "$MARGIN" ]] || arguments+=(--margin "$MARGIN")
[[ -z "$PROCESSES" ]] || arguments+=(--processes "$PROCESSES")
[[ -z "$PREPARE" ]] || arguments+=(--prepare "$PREPARE")
while IFS= read -r line; do
    [[ -z "$line" ]] || arguments+=("$line")
done <<< "$ARGUMENTS"
if [[ -n "$SUITE" ]]; then
    arguments+=("$SUITE")
else
    # Words as a shell would split them, but without starting one: it would be measured, too.
    mapfile -t words < <(xargs -n 1 printf '%s\n' <<< "$COMMAND")
    arguments+=(-- "${words[@]}")
fi

code=0
firstlight gate "${arguments[@]}" || code=$?
case "$code" in
    0) decision=passed ;;
    3) decision=failed ;;
    4) decision=inconclusive ;;
    5) decision=not-run ;;
    *) exit "$code" ;;
esac
if [[ ! -s "$folder/gate.json" ]]; then
    exit "$code"
fi

firstlight report "$folder/run" --output "$folder/report.html"
firstlight snapshot "$folder/run" --archive --output "$folder/run.tar.zst"
rm -rf "$folder/run"
{
    echo "decision=$decision"
    echo "folder=$folder"
} >> "$GITHUB_OUTPUT"
