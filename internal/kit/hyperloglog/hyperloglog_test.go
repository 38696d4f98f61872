package hyperloglog

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// server returns a client of a real Redis.
func server(t *testing.T) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	o.ReadTimeout = time.Minute
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// members returns n texts, which depend only on the name.
func members(name string, n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%0*d", name, i%13, i)
	}
	return list
}

func sketchOf(list []any) *Sketch {
	s := new(Sketch)
	for _, m := range list {
		s.Add([]byte(m.(string)))
	}
	return s
}

func bytesIn(ctx context.Context, t *testing.T, rdb *redis.Client, key string) []byte {
	t.Helper()
	b, err := rdb.Get(ctx, key).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parsed(t *testing.T, b []byte) *Sketch {
	t.Helper()
	s, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// add adds members in batches that a server accepts.
func add(ctx context.Context, t *testing.T, rdb *redis.Client, key string, list []any) {
	t.Helper()
	for len(list) > 0 {
		n := min(1000, len(list))
		if err := rdb.PFAdd(ctx, key, list[:n]...).Err(); err != nil {
			t.Fatal(err)
		}
		list = list[n:]
	}
}

func TestSketchMatchesRedisBitForBit(t *testing.T) {
	rdb := server(t)
	ctx := t.Context()
	for _, n := range []int{1, 2, 10, 100, 500, 1000, 1500, 2000, 5000, 20_000, 100_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			list, theirs, ours := members("m", n), fmt.Sprint("theirs:", n), fmt.Sprint("ours:", n)
			add(ctx, t, rdb, theirs, list)
			s := sketchOf(list)
			stored := bytesIn(ctx, t, rdb, theirs)
			if *parsed(t, stored) != *s {
				t.Error("the registers differ")
			}
			want := rdb.PFCount(ctx, theirs).Val()
			if got := s.Count(); got != want {
				t.Errorf("got count %d, Redis has %d", got, want)
			}
			if err := rdb.Set(ctx, ours, s.Bytes(), 0).Err(); err != nil {
				t.Fatal(err)
			}
			if got, err := rdb.PFCount(ctx, ours).Result(); err != nil || got != want {
				t.Errorf("Redis counts %d, %v in the sketch's bytes, want %d", got, err, want)
			}
			// Redis can add to the sketch's bytes.
			more := members("more", n/2+1)
			add(ctx, t, rdb, theirs, more)
			add(ctx, t, rdb, ours, more)
			if *parsed(t, bytesIn(ctx, t, rdb, theirs)) != *parsed(t, bytesIn(ctx, t, rdb, ours)) {
				t.Error("the bytes differ after PFADD")
			}
			t.Logf("%d bytes in Redis, %d here", len(stored), len(s.Bytes()))
		})
	}
}

func TestMergeMatchesRedis(t *testing.T) {
	rdb := server(t)
	ctx := t.Context()
	all, names := new(Sketch), []string{}
	for _, n := range []int{3, 300, 3000, 30_000} {
		s := sketchOf(members(fmt.Sprint("of", n/1000), n))
		all.Merge(s)
		names = append(names, fmt.Sprint("part:", n))
		if err := rdb.Set(ctx, names[len(names)-1], s.Bytes(), 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.PFMerge(ctx, "all", names...).Err(); err != nil {
			t.Fatal(err)
		}
		if *parsed(t, bytesIn(ctx, t, rdb, "all")) != *all {
			t.Errorf("after %d parts: the registers differ", len(names))
		}
		if got, want := all.Count(), rdb.PFCount(ctx, "all").Val(); got != want {
			t.Errorf("after %d parts: got count %d, Redis has %d", len(names), got, want)
		}
	}
}

func TestBothEncodingsRoundTrip(t *testing.T) {
	highOnes := new(Sketch)
	highOnes.register[7] = maxInSparse + 1
	full := new(Sketch)
	for i := range full.register {
		full.register[i] = maxRegister
	}
	tests := []struct {
		name   string
		sketch *Sketch
		sparse bool
	}{
		{"empty", new(Sketch), true},
		{"one", sketchOf(members("m", 1)), true},
		{"some", sketchOf(members("m", 500)), true},
		{"many", sketchOf(members("m", 5000)), false},
		{"few, of which one is very high", highOnes, false},
		{"as high as can be", full, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.sketch.Bytes()
			if *parsed(t, b) != *tt.sketch {
				t.Error("the parsed sketch differs")
			}
			if is := b[4] == encodingSparse; is != tt.sparse || len(b) > MaxBytes || is && len(b) > maxSparse {
				t.Errorf("got %d bytes, sparse %t", len(b), is)
			}
		})
	}
}

func TestNoBytesAreAnEmptySketch(t *testing.T) {
	if s := parsed(t, nil); *s != (Sketch{}) || s.Count() != 0 {
		t.Error("the sketch is not empty")
	}
}

func TestMembersCountOnce(t *testing.T) {
	s := new(Sketch)
	for i, want := range []bool{true, false, false} {
		if s.Add([]byte("ann")) != want {
			t.Errorf("call %d: got changed %t, want %t", i+1, !want, want)
		}
	}
	if n := s.Count(); n != 1 {
		t.Errorf("got count %d, want 1", n)
	}
}

func TestParseRejectsInvalidBytes(t *testing.T) {
	good := sketchOf(members("m", 5000)).Bytes()
	with := func(at int, b ...byte) []byte { c := bytes.Clone(good); copy(c[at:], b); return c }
	sparse := func(ops ...byte) []byte {
		return append(append([]byte("HYLL\x01"), make([]byte, header-5)...), ops...)
	}
	tests := []struct {
		name string
		b    []byte
		want string
	}{
		{"a word", []byte("hello"), "missing HYLL header"},
		{"half a header", good[:10], "missing HYLL header"},
		{"another magic", with(0, 'h'), "missing HYLL header"},
		{"another encoding", with(4, 2), "encoding 2"},
		{"too short", good[:len(good)-1], "12287 bytes"},
		{"too long", append(bytes.Clone(good), 0), "12289 bytes"},
		{"a register that is too high", with(header, 0xff), "register value 63"},
		{"no registers", sparse(), "got 0 registers"},
		{"too few registers", sparse(0x7f, 0xfe), "got 16383 registers"},
		{"too many registers", sparse(0x7f, 0xff, 0x00), "more than 16384"},
		{"a truncated long run", sparse(0x7f), "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := Parse(tt.b); err == nil || s != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Parse(sparse(0x7f, 0xff)); err != nil {
		t.Errorf("empty sketch: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range []int{0, 1, 100, 5000} {
		f.Add(sketchOf(members("m", n)).Bytes())
	}
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(s.Bytes())
		if err != nil || *again != *s {
			t.Errorf("the encoded sketch differs, %v", err)
		}
		s.Count()
	})
}

// The visit counts promise this for a million visitors. The members are the same in every
// run, so the error is too.
func TestCountOfAMillionIsWithin2Percent(t *testing.T) {
	const million, within = 1_000_000, 0.02
	ids := func(from, n int) []any {
		list := make([]any, n)
		for i := range list {
			r := rand.New(rand.NewPCG(uint64(from+i), 2026)) //nolint:gosec // fixed on purpose
			list[i] = fmt.Sprintf("v:%016x%016x", r.Uint64(), r.Uint64())
		}
		return list
	}
	s := new(Sketch)
	for from := 0; from < million; from += 1000 {
		for _, id := range ids(from, 1000) {
			s.Add([]byte(id.(string)))
		}
	}
	check := func(who string, n int64, size int) {
		t.Helper()
		off := float64(n)/million - 1
		t.Logf("%s: %d of %d, %+.2f %%, %d bytes", who, n, million, 100*off, size)
		if math.Abs(off) > within || size > 16<<10 {
			t.Errorf("%s: got count %d in %d bytes", who, n, size)
		}
	}
	check("a sketch", s.Count(), len(s.Bytes()))

	rdb := server(t)
	ctx := t.Context()
	for from := 0; from < million; from += 50_000 {
		if _, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for at := from; at < from+50_000; at += 1000 {
				p.PFAdd(ctx, "million", ids(at, 1000)...)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	check("Redis", rdb.PFCount(ctx, "million").Val(), int(rdb.StrLen(ctx, "million").Val()))
	check("Redis, with what it keeps beside", rdb.PFCount(ctx, "million").Val(), int(rdb.MemoryUsage(ctx, "million").Val()))
	if *parsed(t, bytesIn(ctx, t, rdb, "million")) != *s {
		t.Error("the registers differ")
	}
}

func BenchmarkAdd(b *testing.B) {
	var s Sketch
	id := make([]byte, 24)
	for i := range b.N {
		binary.LittleEndian.PutUint64(id, uint64(i))
		s.Add(id)
	}
}

func BenchmarkParseMergeCountAndWrite(b *testing.B) {
	full := sketchOf(members("m", 100_000)).Bytes()
	for b.Loop() {
		s, err := Parse(full)
		if err != nil {
			b.Fatal(err)
		}
		s.Merge(s)
		s.Count()
		s.Bytes()
	}
}
