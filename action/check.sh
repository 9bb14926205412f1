#!/usr/bin/env bash
# Check the programs that FILES names, or else those that a pull request to the branch BASE changes, or else all.
set -euo pipefail

tileir() {
  # What is checked out is not imported.
  PYTHONPATH="$RUNNER_TEMP/tileir" PYTHONSAFEPATH=1 python3 -m tileir "$@"
}

files=()
if [ -n "$FILES" ]; then
  read -r -d '' -a files <<<"$FILES" || true
elif [ -n "$BASE" ]; then
  git fetch --quiet --no-tags --depth=1 origin "$BASE"
  while read -r -d '' file; do
    files+=("$file")
  done < <(git diff -z --name-only --diff-filter=d FETCH_HEAD HEAD -- '*.mlir' '*.tileir' '*.tileirbc')
  if [ ${#files[@]} -eq 0 ]; then
    echo "The pull request changes no Tile IR programs."
    exit 0
  fi
else
  files=(.)
fi

# The errors that `check` reports are among the findings of `lint`.
command=check
[ "$LINT" != true ] || command=lint
read -r -d '' -a options <<<"$ARGUMENTS" || true
# Bash 3.2, as on macOS, takes an empty array for an unset variable.
run() {
  tileir "$command" ${options[@]+"${options[@]}"} "$@" -- "${files[@]}"
}

[ -z "$SARIF" ] || run --format sarif >"$SARIF" || true
run --format github
