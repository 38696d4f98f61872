#!/bin/sh
# release: build the archives of a version reproducibly.
#
#   scripts/release.sh v0.1.0 [FOLDER]
#
# It first scans for known vulnerabilities, which needs the network. Then it writes
# tandian_VERSION_OS_ARCH.tar.gz for each platform, SHA256SUMS, and NOTES.md with the version's
# section of CHANGELOG.md into FOLDER (default: dist). It requires a clean checkout, a heading
# with the version and its date in CHANGELOG.md, and GNU tar.
# PLATFORMS limits the platforms, for trials. COMMIT and SOURCE_DATE_EPOCH replace the values
# from git.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "release: $*" >&2; exit 1; }

version=${1:-}
out=${2:-dist}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
# Go modules and package managers accept this form.
echo "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' || fail "invalid version \"$version\": want a form like v0.1.0"
scripts/vuln.sh --required || fail "the vulnerability scan did not succeed"
heading="## [${version#v}] - "
grep -F "$heading" CHANGELOG.md | grep -Eq -- ' - [0-9]{4}-[0-9]{2}-[0-9]{2}$' || fail "CHANGELOG.md has no heading \"${heading}YYYY-MM-DD\""
if [ -z "${COMMIT:-}" ]; then
	COMMIT=$(git rev-parse HEAD)
	test -z "$(git status --porcelain)" || fail "the checkout has uncommitted changes"
fi
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct "$COMMIT")}
date=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$epoch" +%Y-%m-%dT%H:%M:%SZ)
app=github.com/tandian-dev/tandian/internal/app

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# licenses: prints the licence files of all linked modules.
licenses() {
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' . | sort -u | while read -r path v dir; do
		echo "================ $path $v"
		for f in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/COPYING* "$dir"/NOTICE*; do
			test ! -f "$f" || cat "$f"
		done
	done
}

for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/}
	name=tandian_${version}_${os}_${arch}
	dir=$work/$name
	mkdir "$dir"
	echo "release: $platform"
	# The binary contains neither the build time nor the path of the checkout.
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS='' go build -trimpath -buildvcs=false -pgo=deploy/server.pgo \
		-ldflags "-s -w -buildid= -X $app.releaseVersion=$version -X $app.releaseCommit=$COMMIT -X $app.releaseDate=$date" -o "$dir/tandian" .
	GOFLAGS=-buildvcs=false go run ./internal/tools/static "$dir/tandian"
	cp LICENSE README.md CHANGELOG.md docs/operate/upgrade.md "$dir"
	GOOS=$os GOARCH=$arch licenses >"$dir/LICENSES-GO.txt"
	cp internal/web/dist/LICENSES.txt "$dir/LICENSES-WEB.txt"
	find "$dir" -type f ! -name tandian -exec chmod 644 {} +
	chmod 755 "$dir" "$dir/tandian"
	tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=ustar -C "$work" -cf "$work/$name.tar" "$name"
	gzip -9n <"$work/$name.tar" >"$out/$name.tar.gz"
done
# The notes are the section of the version, without its heading.
awk -v heading="$heading" 'index($0, "## ") == 1 { inside = index($0, heading) == 1; next } inside' CHANGELOG.md >"$out/NOTES.md"
cd "$out"
sha256sum "tandian_${version}"_*.tar.gz >SHA256SUMS
cat SHA256SUMS
