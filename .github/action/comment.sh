#!/usr/bin/env bash
# Writes the comment into the pull request, or updates the one that an earlier run has written: both begin
# with the same marker. Without the right to comment, as in a pull request from a fork, it only warns.
set -euo pipefail

pull='import json, os; print(json.load(open(os.environ["GITHUB_EVENT_PATH"]))["pull_request"]["number"])'
number=$(python3 -c "$pull")
MARKER=$(head -n 1 "$FOLDER/comment.md")
export MARKER
issues="repos/$GITHUB_REPOSITORY/issues"

publish() {
    local known
    known=$(gh api --paginate "$issues/$number/comments" \
        --jq '.[] | select(.user.type == "Bot" and (.body | startswith(env.MARKER))) | .id') || return
    known=$(head -n 1 <<< "$known")
    if [[ -n "$known" ]]; then
        gh api --silent --method PATCH "$issues/comments/$known" --field "body=@$FOLDER/comment.md"
    else
        gh api --silent --method POST "$issues/$number/comments" --field "body=@$FOLDER/comment.md"
    fi
}

publish || echo "::warning::no comment was written: the token may not write to pull requests"
