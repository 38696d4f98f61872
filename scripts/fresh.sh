#!/usr/bin/env bash
# Fails if generated files are stale.
#
#   scripts/fresh.sh code   ent, the GraphQL server and the migrations;
#                           needs TANDIAN_TEST_DATABASE_URL: scripts/servers.sh run
#   scripts/fresh.sh web    the built web app; needs Node
#
# It generates everything in place and checks whether a file changed. Files need not be
# committed: `make check` also works with uncommitted changes, and leaves the fresh files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# state PATH...: prints name and checksum of each tracked or untracked file.
state() {
  git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
    while IFS= read -r file; do
      if [[ -f $file ]]; then printf '%s %s\n' "$file" "$(cksum <"$file")"; fi
    done
}

# unchanged CMD PATH...: runs the function CMD and fails if a path changes.
unchanged() {
  local command=$1 before after
  shift
  before=$(state "$@")
  "$command"
  after=$(state "$@")
  if [[ $before != "$after" ]]; then
    echo "fresh: these files were stale; they are updated now, commit them:" >&2
    diff <(echo "$before") <(echo "$after") | sed -n 's/^[<>] \([^ ]*\).*/  \1/p' | sort -u >&2
    exit 1
  fi
}

generate() {
  go generate ./ent
  go generate ./graph
  go generate ./internal/kit/gqlserver/gqltest
  go generate -C lab ./compare/live/stock
  go run ./internal/tools/entdiff -check
}

build_web() {
  (cd internal/web/app && npm ci --no-audit --no-fund && npm run check && npm run build)
  # They use the tools of the web app.
  (cd internal/kit/gqlserver/clients && npm run check)
  (cd internal/web/e2e && npm ci --ignore-scripts --no-audit --no-fund && npm run check)
}

case ${1:-} in
  code) unchanged generate ent graph internal/kit/gqlserver/gqltest lab/compare/live/stock ;;
  web) unchanged build_web internal/web/dist ;;
  *)
    echo "usage: scripts/fresh.sh code | web" >&2
    exit 2
    ;;
esac
