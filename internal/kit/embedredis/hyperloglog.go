package embedredis

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/tandian-dev/tandian/internal/kit/hyperloglog"
)

// miniredis has its own HyperLogLog, whose encoding is not accessible. This one is a string with
// the bytes of Redis, so GET, SET and TYPE work on it like in Redis.

// Error texts of Redis.
var (
	errInvalidSketch = errors.New("WRONGTYPE Key is not a valid HyperLogLog string value.") //nolint:staticcheck,revive // text of Redis
	errWrongType     = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")
)

// errChanged reports that a key changed between reading and writing it.
var errChanged = errors.New("key changed concurrently")

// isHyperLogLog reports whether hyperLogLog handles a command.
func isHyperLogLog(cmd string) bool { return cmd == "PFADD" || cmd == "PFCOUNT" || cmd == "PFMERGE" }

// isDirect reports whether a connection runs the command directly: not in a script, which holds the
// database lock, and not in a transaction. miniredis does not export that state.
func isDirect(c *server.Peer) bool {
	if c.Ctx == nil {
		return true // first command of this connection
	}
	state := reflect.Indirect(reflect.ValueOf(c.Ctx))
	script, queued := state.FieldByName("nested"), state.FieldByName("transaction")
	return script.IsValid() && !script.Bool() && queued.IsValid() && queued.IsNil()
}

// hyperLogLog runs a command and writes its reply.
func (s *Server) hyperLogLog(c *server.Peer, cmd string, args []string) {
	if len(args) == 0 {
		c.WriteError(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(cmd)))
		return
	}
	var n int
	err := errChanged
	for errors.Is(err, errChanged) {
		n, err = s.runHyperLogLog(cmd, args)
	}
	switch {
	case err != nil:
		c.WriteError(err.Error())
	case cmd == "PFMERGE":
		c.WriteOK()
	default:
		c.WriteInt(n)
	}
}

// runHyperLogLog runs a command once. Its error is the reply, or errChanged if the caller must retry
// after a concurrent change.
func (s *Server) runHyperLogLog(cmd string, args []string) (n int, err error) {
	t := &hllTx{s: s}
	switch cmd {
	case "PFCOUNT":
		all, _, err := t.sketch(args[0])
		if err != nil {
			return 0, err
		}
		return int(all.Count()), nil
	case "PFMERGE":
		all := new(hyperloglog.Sketch)
		for _, key := range args {
			one, _, err := t.sketch(key)
			if err != nil {
				return 0, err
			}
			all.Merge(one)
		}
		return 0, t.store(args[0], all)
	}
	all, found, err := t.sketch(args[0])
	if err != nil {
		return 0, err
	}
	changed := !found
	for _, member := range args[1:] {
		changed = all.Add([]byte(member)) || changed
	}
	if !changed {
		return 0, nil
	}
	return 1, t.store(args[0], all)
}

// An hllTx reads keys and writes one of them in a transaction that is separate from the client's
// connection.
type hllTx struct {
	s     *Server
	state any // miniredis's state of a connection between two commands
}

// do runs one command of the transaction.
func (t *hllTx) do(args ...string) (any, error) {
	var out bytes.Buffer
	one := server.NewPeer(bufio.NewWriter(&out))
	one.Ctx = t.state
	t.s.proto.Dispatch(one, args)
	t.state = one.Ctx
	one.Flush()
	return server.ParseReply(bufio.NewReader(&out))
}

// sketch watches and reads a key.
func (t *hllTx) sketch(key string) (_ *hyperloglog.Sketch, found bool, err error) {
	if _, err := t.do("WATCH", key); err != nil {
		return nil, false, err
	}
	answer, err := t.do("GET", key)
	if err != nil {
		return nil, false, errWrongType // GET returns no other error
	}
	text, found := answer.(string)
	if found && text == "" {
		return nil, false, errInvalidSketch
	}
	sketch, err := hyperloglog.Parse([]byte(text))
	if err != nil {
		return nil, false, errInvalidSketch
	}
	return sketch, found, nil
}

// store writes a key and retains its TTL.
func (t *hllTx) store(key string, sketch *hyperloglog.Sketch) error {
	for _, args := range [][]string{{"MULTI"}, {"SET", key, string(sketch.Bytes()), "KEEPTTL"}} {
		if _, err := t.do(args...); err != nil {
			return err
		}
	}
	done, err := t.do("EXEC")
	if err == nil && done == nil {
		return errChanged
	}
	return err
}
