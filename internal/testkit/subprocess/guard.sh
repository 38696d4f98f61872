# guard: run a server for as long as somebody holds the other end of our input.
#
# $1   the signal that ends the server at once
# $2   the server's directory, which is removed afterwards
# $3…  the server's command line; it must stay in the foreground
#
# The input is a pipe whose writer is the measuring process. The kernel closes it
# when that process dies in whatever way, so no server outlives it. A line "keep"
# ends the server by SIGTERM and leaves its directory, for who starts it again there.
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
