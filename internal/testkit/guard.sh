# guard: run a server for as long as somebody holds the other end of our input.
#
# $1   the server's directory; what it says goes to the file log there, and the
#      directory is removed afterwards
# $2…  the server's command line; it must stay in the foreground
#
# The input is a pipe whose writer is the test process. It is closed when the
# test is over, and by the kernel when that process dies in whatever way, so no
# server outlives its test. The server keeps nothing: it is killed outright.
dir=$1
shift
"$@" </dev/null >"$dir/log" 2>&1 &
server=$!
trap 'kill -9 "$server"; wait "$server"; rm -rf "$dir"' EXIT
trap 'exit 0' INT TERM HUP
read -r _
exit 0
