#!/usr/bin/env bash
# Checks the subjects of new commits:
#
#   area: imperative, at most 72 characters, lower case after the colon, no full stop
#
# The area is a directory of the tree, such as cache or kit/cache, or one of: all, docs,
# ci, deps. A commit that spans a few names them all: "like, cache: …". The directory may
# also be in the parent commit only, because a commit can remove or rename it.
#
#   scripts/commit-subjects.sh [BASE]
#
# Without BASE, the base is the merge base with origin/main or main. If HEAD is not ahead
# of either, as in a clone of main, the whole history counts. In both cases, commits whose
# own tree lacks this script are older than the rule and are skipped. That also holds in
# a shallow clone, because it needs no parent. Merge commits are skipped too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

script=scripts/commit-subjects.sh
max=72
newline=$'\n'

# range BASE: the argument of git rev-list.
range() {
  local base main
  if [[ -n $1 ]]; then
    echo "$1..HEAD"
    return
  fi
  for main in origin/main main; do
    if base=$(git merge-base "$main" HEAD 2>/dev/null) && [[ $base != "$(git rev-parse HEAD)" ]]; then
      echo "$base..HEAD"
      return
    fi
  done
  echo HEAD
}

# commits RANGE: hash and subject of those that have this script, oldest first.
commits() {
  local log
  log=$(git log --no-merges --reverse --format='%H %s' "$1" --) || return
  [[ -n $log ]] || return 0
  paste -d' ' <(sed "s|^\([^ ]*\) .*|\1:$script|" <<<"$log" | git cat-file --batch-check='%(objecttype)') - <<<"$log" |
    sed -n 's/^blob //p'
}

directories() { git ls-tree -r -d --name-only "$1" 2>/dev/null || true; }
current=$(directories HEAD)

# is_area AREA COMMIT
is_area() {
  case $1 in all | docs | ci | deps) return 0 ;; esac
  local pattern="(^|/)${1//./\\.}\$"
  grep -qE "$pattern" <<<"$current" ||
    grep -qE "$pattern" <<<"$(directories "$2" && directories "$2^")"
}

# is_imperative WORD: a guess by its ending.
is_imperative() {
  case $1 in
    embed | *eed | shed | shred | bring | ping | string | focus | alias | bias | *ss) ;;
    *ed | *ing | *s) return 1 ;;
  esac
}

# characters TEXT: how many, in any locale; UTF-8 continues them with these bytes.
characters() { printf '%s' "$1" | LC_ALL=C tr -d '\200-\277' | wc -c | tr -d ' '; }

# problem COMMIT SUBJECT: prints the first mistake, or nothing.
problem() {
  local area areas rest
  if [[ ! $2 =~ ^([^:]+):\ (.+)$ ]]; then
    echo "want \"area: imperative\""
    return
  fi
  areas=${BASH_REMATCH[1]} rest=${BASH_REMATCH[2]}
  while IFS= read -r area; do
    if [[ ! $area =~ ^[A-Za-z0-9._/-]+$ ]] || ! is_area "$area" "$1"; then
      echo "unknown area \"$area\" (want a directory, all, docs, ci or deps)"
      return
    fi
  done <<<"${areas//, /$newline}"
  if [[ ! $rest =~ ^[a-z] ]]; then
    echo "want a lower-case verb after the colon"
  elif ! is_imperative "${rest%% *}"; then
    echo "want the imperative, not \"${rest%% *}\""
  elif (($(characters "$2") > max)); then
    echo "$(characters "$2") characters, want at most $max"
  elif [[ $2 == *. ]]; then
    echo "remove the full stop"
  fi
}

range=$(range "${1:-}")
log=$(commits "$range")
checked=0 bad=0
while read -r commit subject; do
  [[ -n $commit ]] || continue
  checked=$((checked + 1))
  mistake=$(problem "$commit" "$subject")
  if [[ -n $mistake ]]; then
    echo "commits: ${commit:0:12} $subject: $mistake" >&2
    bad=$((bad + 1))
  fi
done <<<"$log"
if ((bad > 0)); then
  echo "commits: $bad of $checked subjects break the rule; reword them with git rebase" >&2
  exit 1
fi
echo "commits: checked $checked subjects"
