#!/usr/bin/env bash
# Looks for known vulnerabilities that our code can reach. The list of them is
# on the network; without it this says so and succeeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

database=${GOVULNDB:-https://vuln.go.dev}
if [[ $database == https://* ]] && command -v curl >/dev/null &&
  ! curl --fail --silent --max-time 10 --output /dev/null "$database/index/db.json"; then
  echo "vuln: the vulnerability database cannot be reached; not checked"
  exit 0
fi
exec go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 -db "$database" ./...
