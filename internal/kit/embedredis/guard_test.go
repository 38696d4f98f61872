package embedredis

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestGuardRejectsCommands(t *testing.T) {
	tests := []struct {
		command string
		want    string
	}{
		// Not used on any Redis.
		{"KEYS *", "ERR KEYS is not served by the embedded Redis"},
		{"keys *", "ERR KEYS is not served by the embedded Redis"},
		{"FLUSHALL", "ERR FLUSHALL is not served by the embedded Redis"},
		{"FLUSHDB ASYNC", "ERR FLUSHDB is not served by the embedded Redis"},
		{"SELECT 1", "ERR SELECT is not served by the embedded Redis"},
		{"SWAPDB 0 1", "ERR SWAPDB is not served by the embedded Redis"},
		{"MOVE set 1", "ERR MOVE is not served by the embedded Redis"},
		{"MONITOR", "ERR MONITOR is not served by the embedded Redis"},
		{"SORT list", "ERR SORT is not served by the embedded Redis"},
		{"CONFIG GET *", "ERR CONFIG is not served by the embedded Redis"},
		// Missing.
		{"SSUBSCRIBE c", "ERR SSUBSCRIBE is not served by the embedded Redis"},
		{"BITFIELD s GET u8 0", "ERR BITFIELD is not served by the embedded Redis"},
		{"GEOSEARCHSTORE a b", "ERR GEOSEARCHSTORE is not served by the embedded Redis"},
		{"HEXPIRE h 5 FIELDS 7 a", "ERR HEXPIRE is not served by the embedded Redis: Redis 7.0 has no such command"},
		// Wrong.
		{"PFCOUNT a b", "ERR PFCOUNT of several keys is not served by the embedded Redis: use PFMERGE first"},
		{"XREADGROUP GROUP g c STREAMS stream stream > 0", "ERR XREADGROUP with one stream twice is not served by the embedded Redis"},
		// Panics or never ends.
		{"SINTERSTORE set none other", "ERR SINTERSTORE is not served by the embedded Redis: its implementation can end or freeze the process"},
		{"SRANDMEMBER s", "ERR SRANDMEMBER is not served by the embedded Redis: its implementation can end or freeze the process"},
		{"LPOS list 1 COUNT -1", "ERR LPOS is not served by the embedded Redis: its implementation can end or freeze the process"},
		{"INCRBYFLOAT s -inf", "ERR INCRBYFLOAT by infinity is not served by the embedded Redis"},
		{"HINCRBYFLOAT h f 1e999", "ERR HINCRBYFLOAT by infinity is not served by the embedded Redis"},
		{"SSCAN set -1", "ERR SSCAN with the negative cursor -1 is not served by the embedded Redis"},
		{"ZSCAN zset -7 COUNT 2", "ERR ZSCAN with the negative cursor -7 is not served by the embedded Redis"},
		{"SETRANGE s 9223372036854775807 x", "ERR SETRANGE beyond 64 MiB is not served by the embedded Redis"},
		{"SETRANGE s 67108864 x", "ERR SETRANGE beyond 64 MiB is not served by the embedded Redis"},
		{"SETBIT s 9223372036854775807 1", "ERR SETBIT beyond 64 MiB is not served by the embedded Redis"},
		{"XTRIM stream MAXLEN -7", "ERR XTRIM with the negative threshold -7 is not served by the embedded Redis"},
		{"XCLAIM stream g c 0 1-1 retrycount", "ERR XCLAIM with RETRYCOUNT and no value is not served by the embedded Redis"},
	}
	s := start(t, Options{})
	rdb := client(t, s)
	fill(t, rdb)
	keys := s.Stats().Keys
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			err := rdb.Do(t.Context(), words(tt.command)...).Err()
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(keys, s.Stats().Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestGuardAcceptsCommands(t *testing.T) {
	tests := []struct {
		command string
		want    any
	}{
		{"PFCOUNT hll", int64(2)},
		{"INCRBYFLOAT float 1.5", "1.5"},
		{"SETRANGE new 3 x", int64(4)},
		{"SETBIT bits 8000 1", int64(0)},
		{"XTRIM stream MAXLEN 1", int64(1)},
		{"XCLAIM stream g c 0 1-1 JUSTID", []any{}},
		{"SSCAN set 0 COUNT 10", []any{"0", []any{"a", "b"}}},
		{"CLIENT SETINFO LIB-NAME tandian", "OK"},
		{"XREAD COUNT 1 STREAMS stream nostream 0 0", []any{[]any{"stream", []any{[]any{"1-2", []any{"f", "v"}}}}}},
		{"DBSIZE", int64(11)},
	}
	rdb := client(t, start(t, Options{}))
	fill(t, rdb)
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			got, err := rdb.Do(t.Context(), words(tt.command)...).Result()
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v, reply (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRejectedCommandAbortsItsTransaction(t *testing.T) {
	rdb := client(t, start(t, Options{}))
	for _, refused := range []string{"KEYS *", "NOSUCHCOMMAND", "SETRANGE s 9223372036854775807 x"} {
		_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Set(t.Context(), "half", "done", 0)
			p.Do(t.Context(), words(refused)...)
			return nil
		})
		if err == nil {
			t.Errorf("%s: got a successful transaction", refused)
		}
		if err := rdb.Get(t.Context(), "half").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("%s: got a partial transaction (GET: %v)", refused, err)
		}
	}
	if _, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Set(t.Context(), "whole", "done", 0)
		return nil
	}); err != nil {
		t.Errorf("next transaction: %v", err)
	}
}

func TestGuardChecksScripts(t *testing.T) {
	rdb := client(t, start(t, Options{}))
	got, err := rdb.Eval(t.Context(), "return redis.pcall('KEYS', '*')['err']", nil).Text()
	if diff := cmp.Diff("ERR KEYS is not served by the embedded Redis", got); diff != "" || err != nil {
		t.Errorf("error %v, reply (-want +got):\n%s", err, diff)
	}
	err = rdb.Eval(t.Context(), "return redis.call('FLUSHALL')", nil).Err()
	if err == nil || !strings.Contains(err.Error(), "FLUSHALL is not served by the embedded Redis") {
		t.Errorf("redis.call: %v", err)
	}
}

// fill creates a key of every type.
func fill(t *testing.T, rdb *redis.Client) {
	t.Helper()
	for _, c := range []string{
		"SET s hello", "RPUSH list 1 2", "SADD set a b", "SADD other b c", "HSET h f v", "ZADD zset 1 a 2 b",
		"XADD stream 1-1 f v", "XADD stream 1-2 f v", "PFADD hll a b", "XGROUP CREATE stream g 0",
	} {
		if err := rdb.Do(t.Context(), words(c)...).Err(); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
}

func words(command string) []any {
	var args []any
	for w := range strings.FieldsSeq(command) {
		args = append(args, w)
	}
	return args
}
