#!/usr/bin/env bash
# Ends the job as the gate decided, with the exit codes of `firstlight gate`.
set -euo pipefail

case "$DECISION" in
    passed) ;;
    failed) exit 3 ;;
    inconclusive)
        if [[ "$FAIL_ON_INCONCLUSIVE" == true ]]; then
            exit 4
        fi
        echo "inconclusive: the job passes, because \`fail-on-inconclusive\` is not true"
        ;;
    not-run) exit 5 ;;
    *)
        echo "::error::unknown decision \`$DECISION\`"
        exit 1
        ;;
esac
