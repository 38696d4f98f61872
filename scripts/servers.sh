#!/usr/bin/env bash
# Provides private PostgreSQL and Redis servers for tests, Node and a browser for the web
# app, and the programs around Tandian in production.
#
#   scripts/servers.sh install          install PostgreSQL, PgBouncer, Redis and Node if missing
#   scripts/servers.sh install-node     install Node if missing
#   scripts/servers.sh node-path        print the directory of that Node, for PATH
#   scripts/servers.sh install-browser  install Chromium and a Chinese font if missing
#   scripts/servers.sh browser-path     print the path of the browser
#   scripts/servers.sh install-deploy   install nginx, Prometheus and its exporters if missing
#   scripts/servers.sh run CMD...       run CMD with its own servers
#
# install looks for the binaries on PATH and in the folders of Debian, Homebrew and
# Postgres.app. It installs missing ones with apt-get (through sudo if not root) or brew,
# and starts no system service.
#
# install-browser uses an installed Chromium or Google Chrome, or installs one with apt-get
# on Debian. On Ubuntu, the package only wraps a snap, which does not run in containers:
# there and on macOS, Playwright downloads its own Chromium.
#
# install-deploy looks for nginx, prometheus, promtool, redis_exporter and
# postgres_exporter on PATH. It installs missing ones with apt-get, or some with brew.
#
# run starts one PostgreSQL on a free loopback port with its data in a temporary
# directory, and runs CMD with
#   TANDIAN_TEST_DATABASE_URL   URL of the server; the role is a superuser
#   TANDIAN_TEST_REDIS_SERVER   path of redis-server; each test starts its own
#   TANDIAN_TEST_PGBOUNCER      path of pgbouncer; each test starts its own
#   TANDIAN_TEST_NODE           directory of node; tests run clients with it
#   TANDIAN_TEST_CHROMIUM       path of a browser, if there is one
#   TANDIAN_REQUIRE_SERVERS=1   makes tests fail, not skip, if one of these is missing
# It returns the exit status of CMD. When CMD ends, or on INT, TERM or HUP, it stops all
# processes of CMD's group and the server, and removes the directory.
# If the first two are already set, it uses them and starts nothing. It also uses a Node or
# browser that is already set.
#
# It works with bash 3.2, the version of macOS.
set -euo pipefail

need_postgres=14
need_redis=7
need_node=20.19
fallback_node=24.21.0
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
node_home="$root/.cache/node"
e2e="$root/internal/web/e2e"

say() { printf 'servers: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# numbers TEXT: prints the first version in TEXT as "MAJOR MINOR".
numbers() {
  if [[ $1 =~ ([0-9]+)(\.([0-9]+))? ]]; then
    echo "${BASH_REMATCH[1]} ${BASH_REMATCH[3]:-0}"
  else
    echo "0 0"
  fi
}

# at_least TEXT MAJOR[.MINOR]: checks that the first version in TEXT is at least this one.
at_least() {
  local got want
  read -r -a got <<<"$(numbers "$1")"
  read -r -a want <<<"$(numbers "$2")"
  ((got[0] > want[0] || (got[0] == want[0] && got[1] >= want[1])))
}

# resolved FILE: prints FILE with symbolic links resolved. Older BSD readlinks have no -f.
resolved() {
  local file=$1 link
  while link=$(readlink "$file"); do
    case $link in
      /*) file=$link ;;
      *) file=$(dirname "$file")/$link ;;
    esac
  done
  echo "$file"
}

# postgres_bin: prints the directory of the first PostgreSQL that is new enough. It must
# also contain initdb: an old link on PATH may point to an incomplete installation.
postgres_bin() {
  local dir on_path=
  if have postgres; then on_path=$(dirname "$(resolved "$(command -v postgres)")"); fi
  for dir in "$on_path" \
    /usr/lib/postgresql/{20,19,18,17,16,15,14}/bin \
    /opt/homebrew/opt/postgresql@{20,19,18,17,16,15,14}/bin \
    /usr/local/opt/postgresql@{20,19,18,17,16,15,14}/bin \
    /home/linuxbrew/.linuxbrew/opt/postgresql@{18,17,16,15,14}/bin \
    /Applications/Postgres.app/Contents/Versions/latest/bin \
    /usr/pgsql-{18,17,16,15,14}/bin; do
    [[ -n $dir && -x $dir/postgres && -x $dir/initdb ]] || continue
    at_least "$("$dir/postgres" --version)" "$need_postgres" || continue
    echo "$dir"
    return
  done
  return 1
}

# redis_server: prints the path of the first Redis or Valkey that is new enough.
redis_server() {
  local server
  for server in redis-server valkey-server \
    {/opt/homebrew,/usr/local,/home/linuxbrew/.linuxbrew}/opt/{redis,valkey}/bin/{redis,valkey}-server; do
    server=$(command -v "$server" 2>/dev/null) || continue
    at_least "$("$server" --version)" "$need_redis" || continue
    echo "$server"
    return
  done
  return 1
}

# pgbouncer: prints the path of PgBouncer. Debian installs it outside the PATH of users.
pgbouncer() {
  PATH=$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/usr/local/bin type -P pgbouncer
}

# as_root CMD...: runs CMD as root.
as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "needs root for: $* (not root, and no sudo found)"
  fi
}

# apt_install PACKAGE...: installs packages without starting their services. It adds a
# temporary policy that forbids this, unless the machine already has a policy.
apt_install() {
  local policy=/usr/sbin/policy-rc.d ours='' failed=0
  if [[ ! -e $policy ]]; then
    ours=1
    # Remove the policy on interrupts too: it would block services permanently.
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  as_root apt-get update -q || say "apt-get update failed; using the existing package lists"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" || failed=$?
  if [[ -n $ours ]]; then
    as_root rm -f "$policy"
    trap - EXIT INT TERM HUP
  fi
  return "$failed"
}

install_servers() {
  local wanted=()
  if have apt-get; then
    postgres_bin >/dev/null || wanted+=(postgresql)
    pgbouncer >/dev/null || wanted+=(pgbouncer)
    redis_server >/dev/null || wanted+=(redis-server)
    ((${#wanted[@]} == 0)) || { say "installing ${wanted[*]}"; apt_install "${wanted[@]}" >&2; }
  elif have brew; then
    postgres_bin >/dev/null || wanted+=(postgresql@17)
    pgbouncer >/dev/null || wanted+=(pgbouncer)
    redis_server >/dev/null || wanted+=(redis)
    ((${#wanted[@]} == 0)) || { say "installing ${wanted[*]}"; brew install "${wanted[@]}" >&2; }
  fi
  postgres_bin >/dev/null ||
    die "PostgreSQL $need_postgres or newer not found, and no package provides it; add its bin directory to PATH"
  redis_server >/dev/null ||
    die "Redis $need_redis or newer not found, and no package provides it (https://redis.io/docs/latest/operate/oss_and_stack/install/); add redis-server to PATH"
  pgbouncer >/dev/null || die "PgBouncer not found, and no package provides it; add pgbouncer to PATH"
}

# node_dir: prints the directory of the first Node that is new enough.
node_dir() {
  local node
  for node in node "$node_home/node_modules/node/bin/node" {/opt/homebrew,/usr/local}/opt/node{,@24,@22}/bin/node; do
    node=$(command -v "$node" 2>/dev/null) || continue
    at_least "$("$node" --version)" "$need_node" || continue
    dirname "$node"
    return
  done
  return 1
}

# install_node: installs Node from the system's packages. If that is too old, as on Debian
# and Ubuntu, its npm downloads a newer one.
install_node() {
  if ! have npm; then
    if have apt-get; then
      say "installing nodejs npm"
      apt_install nodejs npm >&2
    elif have brew; then
      say "installing node"
      brew install node >&2
    fi
  fi
  if ! node_dir >/dev/null && have npm; then
    say "downloading node@$fallback_node into .cache/node"
    mkdir -p "$node_home"
    npm install --loglevel=error --no-audit --no-fund --no-save --prefix "$node_home" "node@$fallback_node" >&2
  fi
  node_dir >/dev/null || die "Node $need_node or newer not found and could not be installed; add it to PATH"
}

# is_snap PROGRAM: checks whether PROGRAM only starts a snap, like Ubuntu's chromium.
is_snap() {
  local file
  file=$(resolved "$1")
  [[ $file == */snap/* || $file == */bin/snap ]] && return
  # Ubuntu's program is a small script that names the snap; other browsers do not.
  head -c 4096 "$file" 2>/dev/null | grep -q '/snap/bin\|snap install'
}

# playwright_browsers: prints the folder of browsers downloaded by Playwright.
playwright_browsers() {
  if [[ -n ${PLAYWRIGHT_BROWSERS_PATH:-} ]]; then
    echo "$PLAYWRIGHT_BROWSERS_PATH"
  elif [[ $(uname) == Darwin ]]; then
    echo "$HOME/Library/Caches/ms-playwright"
  else
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/ms-playwright"
  fi
}

# browser_path: prints the path of the first Chromium or Chrome. It prefers the headless
# shell: the tests took 250 s of CPU time with it, and 450 s with the full browser.
browser_path() {
  local program cache
  cache=$(playwright_browsers)
  for program in "${TANDIAN_TEST_CHROMIUM:-}" chromium-headless-shell \
    "$cache"/chromium_headless_shell-*/chrome-*/*headless*shell \
    chromium google-chrome google-chrome-stable chromium-browser \
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' \
    /Applications/Chromium.app/Contents/MacOS/Chromium \
    "$cache"/chromium-*/chrome-linux*/chrome \
    "$cache"/chromium-*/chrome-mac*/*.app/Contents/MacOS/*; do
    [[ -n $program ]] && program=$(command -v "$program" 2>/dev/null) || continue
    is_snap "$program" && continue
    echo "$program"
    return
  done
  return 1
}

# has_chinese: checks for a font with Chinese characters, if fc-list exists.
has_chinese() {
  ! have fc-list || [[ -n $(fc-list :lang=zh-cn file) ]]
}

install_browser() {
  local system=''
  if [[ -r /etc/os-release ]]; then system=$(. /etc/os-release && echo "${ID:-}"); fi
  if [[ $system == debian ]]; then
    local wanted=()
    browser_path >/dev/null || wanted+=(chromium-headless-shell)
    if ! have fc-list || ! has_chinese; then wanted+=(fonts-noto-cjk fonts-noto-color-emoji); fi
    ((${#wanted[@]} == 0)) || { say "installing ${wanted[*]}"; apt_install "${wanted[@]}" >&2; }
  elif ! browser_path >/dev/null; then
    install_node
    say "no Chromium or Google Chrome found (the snap of Ubuntu is not supported): running npx playwright install --with-deps --only-shell chromium"
    (cd "$e2e" && PATH="$(node_dir):$PATH" && npm ci --ignore-scripts --no-audit --no-fund &&
      npx playwright install --with-deps --only-shell chromium) >&2 || true
  fi
  has_chinese || say "no font with Chinese characters found: tests run, but screenshots show boxes"
  browser_path >/dev/null ||
    die "no browser found, and none could be installed: install Google Chrome, or set TANDIAN_TEST_CHROMIUM"
}

# deploy_program NAME: prints the path of a production program. Debian installs nginx
# outside the PATH of users and has other names for the exporters.
deploy_program() {
  local program names=("$1")
  case $1 in
    redis_exporter | postgres_exporter) names+=("prometheus-${1//_/-}") ;;
  esac
  for program in "${names[@]}"; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" && return
  done
  return 1
}

install_deploy() {
  local program missing=() wanted=()
  for program in nginx prometheus promtool redis_exporter postgres_exporter; do
    deploy_program "$program" >/dev/null || missing+=("$program")
  done
  ((${#missing[@]} > 0)) || return 0
  if have apt-get; then
    for program in "${missing[@]}"; do
      case $program in
        nginx | prometheus) wanted+=("$program") ;;
        *_exporter) wanted+=("prometheus-${program//_/-}") ;;
      esac
    done
    say "installing ${wanted[*]}"
    apt_install "${wanted[@]}" >&2
  elif have brew; then
    say "installing nginx prometheus"
    brew install nginx prometheus >&2
  fi
  for program in "${missing[@]}"; do
    deploy_program "$program" >/dev/null || die "$program not found, and no package provides it; add it to PATH"
  done
}

# ---- run

place=''         # temporary directory
server=''        # PID of PostgreSQL
port=''          # its port
command=''       # PID and process group of CMD
plain_user=()    # command prefix for PostgreSQL
letters=''       # LC_ALL for PostgreSQL
locale_options=()

# Stops everything that run started. It is safe to call at any time.
clean() {
  trap '' INT TERM HUP
  set +e
  if [[ -n $command ]]; then
    # The group outlives its first process if a test left processes behind.
    kill -TERM -- "-$command" 2>/dev/null
    local tries=0
    while kill -0 -- "-$command" 2>/dev/null && ((tries++ < 50)); do sleep 0.1; done
    kill -KILL -- "-$command" 2>/dev/null
    wait "$command" 2>/dev/null
  fi
  if [[ -n $server ]]; then
    kill -QUIT "$server" 2>/dev/null # immediate shutdown: the data is removed anyway
    wait "$server" 2>/dev/null
  fi
  [[ -z $place ]] || rm -rf "$place"
}

# PostgreSQL refuses to run as root. setpriv changes the user and execs the server; su and
# runuser would stay as parents and delay signals.
choose_user() {
  local die_with_us=()
  if have setpriv && [[ $(setpriv --help 2>&1) == *--pdeathsig* ]]; then
    # If this script is killed, the kernel stops the server.
    die_with_us=(--pdeathsig QUIT)
  fi
  if [[ $(id -u) == 0 ]]; then
    have setpriv || die "PostgreSQL does not run as root, and setpriv (util-linux) is missing: use another user"
    local user=nobody
    id "$user" >/dev/null 2>&1 || die "PostgreSQL does not run as root, and the user nobody is missing"
    plain_user=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups
      "${die_with_us[@]+"${die_with_us[@]}"}" --)
    chown "$user" "$place"
  elif ((${#die_with_us[@]} > 0)); then
    plain_user=(setpriv "${die_with_us[@]}" --)
  fi
}

# choose_locale: selects UTF-8, so that trigrams of Chinese words exist, with C collation.
# PostgreSQL on macOS also needs a valid LC_ALL.
choose_locale() {
  if locale -a 2>/dev/null | grep -iE '^C\.utf-?8$' >/dev/null; then
    letters=C.UTF-8
    locale_options=(--locale=C.UTF-8)
  else
    letters=en_US.UTF-8
    locale_options=(--encoding=UTF8 --locale=C --lc-ctype=en_US.UTF-8)
  fi
}

# choose_temporary: prints the folder for PostgreSQL's files: in memory if there is enough.
# Tests create and drop thousands of databases with hundreds of files each; on a disk, this
# takes longer than the tests themselves.
choose_temporary() {
  local plenty=$((4 << 20)) # KiB
  if [[ -w /dev/shm && $(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $4}') -ge $plenty &&
    $(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null) -ge $plenty ]]; then
    echo /dev/shm
  elif [[ $(id -u) == 0 ]]; then
    echo /tmp # not TMPDIR: the other user may have no access
  else
    echo "${TMPDIR:-/tmp}"
  fi
}

# start_postgres BIN PORT: returns 0 when the server is ready, 1 if it exited (port in use).
start_postgres() {
  # Durability is off: the data lives only for one test run.
  (cd "$place" && LC_ALL=$letters exec "${plain_user[@]+"${plain_user[@]}"}" "$1/postgres" -D "$place/data" -p "$2" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c wal_level=logical -c max_wal_senders=100 -c max_replication_slots=100 \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c shared_buffers=64MB -c max_connections=300 -c max_wal_size=256MB \
    -c jit=off -c timezone=UTC -c log_timezone=UTC) >"$place/log" 2>&1 </dev/null &
  server=$!
  local tries=0
  while ((tries++ < 600)); do
    # Line 8 of the pid file has the status of the server.
    if [[ $(sed -n 8p "$place/data/postmaster.pid" 2>/dev/null) == ready* ]]; then return; fi
    if ! kill -0 "$server" 2>/dev/null; then
      wait "$server" || true
      server=
      return 1
    fi
    sleep 0.05
  done
  cat "$place/log" >&2
  die "PostgreSQL did not start within 30 s"
}

# start_somewhere BIN: starts PostgreSQL on a free port and sets port. The ports are below the
# ephemeral range, so collisions are rare; after one, it tries another port.
start_somewhere() {
  local tries=0
  while :; do
    port=$((20000 + RANDOM % 12000))
    if start_postgres "$1" "$port"; then return; fi
    if ((++tries >= 10)) || ! grep -q 'could not bind' "$place/log"; then
      cat "$place/log" >&2
      die "PostgreSQL did not start"
    fi
  done
}

run() {
  (($# > 0)) || die "run needs a command"
  export TANDIAN_REQUIRE_SERVERS=1
  if [[ -z ${TANDIAN_TEST_NODE:-} ]]; then
    TANDIAN_TEST_NODE=$(node_dir) || die "Node $need_node or newer not found: scripts/servers.sh install-node"
    export TANDIAN_TEST_NODE
  fi
  if [[ -z ${TANDIAN_TEST_PGBOUNCER:-} ]]; then
    TANDIAN_TEST_PGBOUNCER=$(pgbouncer) || die "PgBouncer not found: scripts/servers.sh install"
    export TANDIAN_TEST_PGBOUNCER
  fi
  if [[ -z ${TANDIAN_TEST_CHROMIUM:-} ]] && TANDIAN_TEST_CHROMIUM=$(browser_path); then
    export TANDIAN_TEST_CHROMIUM
  fi
  if [[ -n ${TANDIAN_TEST_DATABASE_URL:-} && -n ${TANDIAN_TEST_REDIS_SERVER:-} ]]; then exec "$@"; fi

  local bin redis
  bin=$(postgres_bin) || die "PostgreSQL $need_postgres or newer not found: scripts/servers.sh install"
  redis=$(redis_server) || die "Redis $need_redis or newer not found: scripts/servers.sh install"

  trap clean EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
  place=$(mktemp -d "$(choose_temporary)/tandian.XXXXXX")
  choose_user

  choose_locale
  (cd "$place" && LC_ALL=$letters exec "${plain_user[@]+"${plain_user[@]}"}" "$bin/initdb" \
    --no-sync --no-instructions -A trust -U tandian "${locale_options[@]}" -D "$place/data") \
    >"$place/log" 2>&1 </dev/null || { cat "$place/log" >&2; die "initdb failed"; }

  start_somewhere "$bin"
  export TANDIAN_TEST_DATABASE_URL="postgres://tandian@127.0.0.1:$port/postgres?sslmode=disable"
  export TANDIAN_TEST_REDIS_SERVER="$redis"
  local status=0
  set -m # CMD gets its own process group, which can be stopped as a whole
  "$@" <&0 &
  command=$!
  set +m
  wait "$command" || status=$?
  return "$status"
}

case ${1:-} in
  install)
    install_servers
    install_node
    ;;
  install-node) install_node ;;
  node-path) node_dir || die "Node $need_node or newer not found: scripts/servers.sh install-node" ;;
  install-browser) install_browser ;;
  install-deploy) install_deploy ;;
  browser-path) browser_path || die "no Chromium or Google Chrome found: scripts/servers.sh install-browser" ;;
  run)
    shift
    run "$@"
    ;;
  *) die "usage: scripts/servers.sh install | install-node | node-path | install-browser | browser-path | install-deploy | run CMD..." ;;
esac
