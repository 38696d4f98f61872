#!/usr/bin/env bash
# Runs everything that CI omits, part by part, and reports time and result of each part. A
# failed part does not stop the others; the exit code is then 1.
#
#   scripts/nightly.sh [PART…]
#
# Without names, all parts run: about three hours on two cores. Variables such as SEED and
# DUR are passed on, as in `make faulttest DUR=30m`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# part NAME MAKE-ARGUMENT...
declare -A parts=(
  [vuln]="vuln"
  [tests]="go-test SHORT="
  [race]="race SHORT="
  [labtest]="labtest"
  [recipe]="recipe"
  [deploytest]="deploytest"
  [e2e]="e2e"
  [faulttest]="faulttest"
  [embedded]="faulttest EMBEDDED=1"
  [livetest]="livetest"
  [mutants]="mutants"
  [live-mutants]="livetest MUTANTS=all"
  [test-cluster]="test-cluster"
  [soak]="soak"
  [compare]="compare"
)
order=(vuln tests race recipe labtest deploytest e2e faulttest embedded livetest test-cluster soak compare mutants live-mutants)

for name in "$@"; do
  if [[ ! -v parts[$name] ]]; then
    echo "nightly: unknown part \"$name\" (want one of ${order[*]})" >&2
    exit 2
  fi
done
[[ $# -gt 0 ]] && order=("$@")

report="" failed=0
for name in "${order[@]}"; do
  echo "==> $name"
  begin=$SECONDS result=ok
  # shellcheck disable=SC2086 # a target and its variables
  make ${parts[$name]} || { result=FAILED failed=1; }
  report+=$(printf '%6d s  %-6s  %s' $((SECONDS - begin)) "$result" "$name")$'\n'
done
printf '%s' "$report"
exit "$failed"
