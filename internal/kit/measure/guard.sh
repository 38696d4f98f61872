# guard: run a server for as long as somebody holds the other end of our input.
#
# $1   the server's directory, which is removed afterwards
# $2…  the server's command line; it must stay in the foreground
#
# The input is a pipe whose writer is the measuring process. The kernel closes it
# when that process dies in whatever way, so no server outlives it.
dir=$1
shift
"$@" </dev/null >/dev/null 2>&1 &
server=$!
trap 'kill -9 "$server"; wait "$server"; rm -rf "$dir"' EXIT
trap 'exit 0' INT TERM HUP
read -r _
exit 0
