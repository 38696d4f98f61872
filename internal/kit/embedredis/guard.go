package embedredis

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// maxString is the maximum size of a string that SETRANGE and SETBIT may create.
const maxString = 64 << 20

// guard sees every command before miniredis, also commands of scripts, and answers those that
// miniredis must not receive. It reports whether it answered. A script calls it under the database
// lock, so guard must not access the database unless isDirect is true.
func (s *Server) guard(c *server.Peer, cmd string, args ...string) bool {
	why := s.refusal(cmd, args)
	if why == "" && isHyperLogLog(cmd) && !isDirect(c) {
		why = notServed(cmd + " in a script or a transaction")
	}
	if why != "" {
		s.failTransaction(c)
		c.WriteError("ERR " + why)
		return true
	}
	switch {
	case cmd == "CLIENT" && len(args) > 0 && strings.EqualFold(args[0], "SETINFO"):
		c.WriteOK() // go-redis sends it on every connection
		return true
	case cmd == "INFO":
		c.WriteBulk(s.info(args))
		return true
	case isHyperLogLog(cmd):
		s.hyperLogLog(c, cmd, args)
		return true
	}
	return false
}

// failTransaction makes the EXEC of an open transaction fail, like Redis after a command that it
// could not queue. miniredis does so only for its own errors, so failTransaction provokes one: GET
// without a key, on a discarded connection that shares the transaction.
func (s *Server) failTransaction(c *server.Peer) {
	if c.Ctx == nil {
		return
	}
	same := server.NewPeer(bufio.NewWriter(io.Discard))
	same.Ctx = c.Ctx
	s.proto.Dispatch(same, []string{"GET"})
}

// refusal returns the reason why a command is rejected, or "".
func (s *Server) refusal(cmd string, args []string) string {
	if !s.proto.IsRegisteredCommand(cmd) {
		return notServed(cmd)
	}
	switch cmd {
	case "KEYS", "FLUSHALL", "FLUSHDB", "SELECT", "SWAPDB", "MOVE":
		return notServed(cmd) // Tandian does not use them on any Redis
	case "HEXPIRE", "HPERSIST", "HTTL", "HPTTL", "HSETEX", "DELEX":
		return notServed(cmd) + ": Redis 7.0 has no such command"
	case "SINTERSTORE", "SDIFFSTORE", "SUNIONSTORE", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "LPOS":
		return notServed(cmd) + ": its implementation can end or freeze the process"
	case "PFCOUNT":
		if len(args) > 1 {
			return notServed("PFCOUNT of several keys") + ": use PFMERGE first"
		}
	case "HSCAN", "SSCAN", "ZSCAN":
		return unsigned(cmd, "cursor", args, 1)
	case "SETRANGE":
		return offset(cmd, args, maxString)
	case "SETBIT":
		return offset(cmd, args, maxString*8)
	case "INCRBYFLOAT":
		return finite(cmd, args, 1)
	case "HINCRBYFLOAT":
		return finite(cmd, args, 2)
	case "XTRIM":
		return unsigned(cmd, "threshold", args, len(args)-1)
	case "XCLAIM":
		return claim(args)
	case "XREAD", "XREADGROUP":
		return duplicateStream(cmd, args)
	}
	return ""
}

func notServed(what string) string { return what + " is not served by the embedded Redis" }

// unsigned rejects a negative number at position i. It leaves other invalid arguments to miniredis.
func unsigned(cmd, name string, args []string, i int) string {
	if i < 0 || i >= len(args) || !strings.HasPrefix(args[i], "-") {
		return ""
	}
	return notServed(fmt.Sprintf("%s with the negative %s %s", cmd, name, args[i]))
}

func offset(cmd string, args []string, limit int) string {
	if len(args) < 3 {
		return ""
	}
	if n, err := strconv.Atoi(args[1]); err != nil || n+len(args[2]) <= limit && n <= limit {
		return ""
	}
	return notServed(fmt.Sprintf("%s beyond %d MiB", cmd, maxString>>20))
}

// finite rejects an infinite number at position i: adding two of opposite signs ends the process.
func finite(cmd string, args []string, i int) string {
	if i >= len(args) {
		return ""
	}
	if f, _ := strconv.ParseFloat(args[i], 64); !math.IsInf(f, 0) {
		return ""
	}
	return notServed(cmd + " by infinity")
}

// claim rejects an XCLAIM option without its number.
func claim(args []string) string {
	if len(args) == 0 {
		return ""
	}
	switch last := strings.ToUpper(args[len(args)-1]); last {
	case "IDLE", "TIME", "RETRYCOUNT", "LASTID":
		return notServed("XCLAIM with " + last + " and no value")
	}
	return ""
}

// duplicateStream rejects a stream that occurs twice in one command. The reply would have more items
// than its header announces, and shift every later reply of the connection.
func duplicateStream(cmd string, args []string) string {
	i := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") })
	if i < 0 {
		return ""
	}
	streams := args[i+1:]
	streams = slices.Sorted(slices.Values(streams[:len(streams)/2]))
	if len(slices.Compact(streams)) == len(streams) {
		return ""
	}
	return notServed(cmd + " with one stream twice")
}

// info returns the reply of INFO. Sections are selected like in Redis; unknown ones are empty.
func (s *Server) info(sections []string) string {
	all := []struct{ name, body string }{
		{"server", fmt.Sprintf("redis_version:7.0.0\r\nredis_mode:standalone\r\nrun_id:%s\r\ntcp_port:0\r\nuptime_in_seconds:%d\r\n",
			s.runID, int(time.Since(s.started).Seconds()))},
		{"clients", fmt.Sprintf("connected_clients:%d\r\n", s.proto.ClientsLen())},
		{"memory", "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"},
		{"stats", fmt.Sprintf("total_connections_received:%d\r\ntotal_commands_processed:%d\r\n",
			s.proto.TotalConnections(), s.proto.TotalCommands())},
		{"replication", "role:master\r\nconnected_slaves:0\r\n"},
	}
	var b strings.Builder
	for _, sec := range all {
		if len(sections) > 0 && !anyFold(sections, sec.name, "all", "default", "everything") {
			continue
		}
		fmt.Fprintf(&b, "# %s\r\n%s\r\n", strings.ToUpper(sec.name[:1])+sec.name[1:], sec.body)
	}
	return b.String()
}

func anyFold(list []string, names ...string) bool {
	for _, have := range list {
		for _, name := range names {
			if strings.EqualFold(have, name) {
				return true
			}
		}
	}
	return false
}
