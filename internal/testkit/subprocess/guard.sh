# guard: runs a server until standard input ends.
#
# $1   the signal that ends the server
# $2   the server's directory, which is removed afterwards
# $3…  the server's command line; it must stay in the foreground
#
# The input is a pipe from the parent process. The kernel closes it when that process
# dies, so no server outlives it. A line "keep" ends the server with SIGTERM and leaves
# its directory for a restart.
signal=$1
dir=$2
shift 2
"$@" </dev/null >/dev/null 2>&1 &
server=$!
trap 'kill -"$signal" "$server"; wait "$server"; rm -rf "$dir"' EXIT
trap 'exit 0' INT TERM HUP
read -r word
if [ "$word" = keep ]; then
	trap - EXIT
	kill -TERM "$server"
	wait "$server"
fi
exit 0
