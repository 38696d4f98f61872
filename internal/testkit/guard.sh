# guard: runs a server until standard input ends.
#
# $1   the server's directory; its output goes to the file log there, and the
#      directory is removed afterwards
# $2…  the server's command line; it must stay in the foreground
#
# The input is a pipe from the test process. The test closes it at its end, the kernel
# when that process dies, so no server outlives its test. The server is killed without
# a shutdown, because its data is not needed.
dir=$1
shift
"$@" </dev/null >"$dir/log" 2>&1 &
server=$!
trap 'kill -9 "$server"; wait "$server"; rm -rf "$dir"' EXIT
trap 'exit 0' INT TERM HUP
read -r _
exit 0
