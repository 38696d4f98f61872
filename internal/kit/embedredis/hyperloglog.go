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

// miniredis keeps a HyperLogLog of its own kind, whose bytes nobody can read. Here it is
// a string in the bytes of Redis, so GET, SET and TYPE do with it what they do there.

// In the words of Redis.
var (
	errNoSketch  = errors.New("WRONGTYPE Key is not a valid HyperLogLog string value.") //nolint:staticcheck,revive // with its full stop
	errWrongType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")
)

// errChanged says that somebody else wrote a key between reading and writing it.
var errChanged = errors.New("the key was changed meanwhile")

// isHyperLogLog reports whether a command is served here. Those that Redis has for
// debugging are not known to miniredis either.
func isHyperLogLog(cmd string) bool { return cmd == "PFADD" || cmd == "PFCOUNT" || cmd == "PFMERGE" }

// onItsOwn reports whether a command is to be run at once, by a connection: neither by a
// script, which holds the lock of the database, nor in a transaction. Only miniredis knows,
// and it does not tell.
func onItsOwn(c *server.Peer) bool {
	if c.Ctx == nil {
		return true // nothing was run on this connection before
	}
	state := reflect.Indirect(reflect.ValueOf(c.Ctx))
	script, queued := state.FieldByName("nested"), state.FieldByName("transaction")
	return script.IsValid() && !script.Bool() && queued.IsValid() && queued.IsNil()
}

// hyperLogLog answers a command that isHyperLogLog.
func (s *Server) hyperLogLog(c *server.Peer, cmd string, args []string) {
	if len(args) == 0 {
		c.WriteError(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(cmd)))
		return
	}
	var n int
	err := errChanged
	for errors.Is(err, errChanged) {
		n, err = s.sketched(cmd, args)
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

// sketched does a command once. Its error is an answer, or errChanged if it is to be done
// again: another one came between, which so got on.
func (s *Server) sketched(cmd string, args []string) (n int, err error) {
	t := &turn{s: s}
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
		return 0, t.keep(args[0], all)
	}
	all, there, err := t.sketch(args[0])
	if err != nil {
		return 0, err
	}
	changed := !there
	for _, member := range args[1:] {
		changed = all.Add([]byte(member)) || changed
	}
	if !changed {
		return 0, nil
	}
	return 1, t.keep(args[0], all)
}

// A turn reads keys and writes one of them in a transaction of its own, beside the
// connection that asks.
type turn struct {
	s     *Server
	state any // of miniredis, as it is between two commands of a connection
}

// do runs one command of the turn.
func (t *turn) do(args ...string) (any, error) {
	var out bytes.Buffer
	one := server.NewPeer(bufio.NewWriter(&out))
	one.Ctx = t.state
	t.s.proto.Dispatch(one, args)
	t.state = one.Ctx
	one.Flush()
	return server.ParseReply(bufio.NewReader(&out))
}

// sketch reads a key, and watches it from now on.
func (t *turn) sketch(key string) (_ *hyperloglog.Sketch, there bool, err error) {
	if _, err := t.do("WATCH", key); err != nil {
		return nil, false, err
	}
	answer, err := t.do("GET", key)
	if err != nil {
		return nil, false, errWrongType // GET has no other
	}
	text, there := answer.(string)
	if there && text == "" {
		return nil, false, errNoSketch
	}
	sketch, err := hyperloglog.Parse([]byte(text))
	if err != nil {
		return nil, false, errNoSketch
	}
	return sketch, there, nil
}

// keep writes a key, whose end stays as it is.
func (t *turn) keep(key string, sketch *hyperloglog.Sketch) error {
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
