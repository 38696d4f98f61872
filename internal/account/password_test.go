package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/argon2"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// countingHasher returns a hasher and a function that returns the costs of its hashes.
func countingHasher(limit, waiting int) (*hasher, func() []cost) {
	h := newHasher(limit, waiting)
	var mu sync.Mutex
	var costs []cost
	derive := h.derive
	h.derive = func(password, salt []byte, passes, memory uint32, lanes uint8, keyLen uint32) []byte {
		mu.Lock()
		costs = append(costs, cost{memory, passes, lanes, len(salt), int(keyLen)})
		mu.Unlock()
		return derive(password, salt, passes, memory, lanes, keyLen)
	}
	return h, func() []cost {
		mu.Lock()
		defer mu.Unlock()
		return costs
	}
}

func TestVerifyAcceptsHashedPasswords(t *testing.T) {
	h := newHasher(1, 0)
	stored, err := h.hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$") || len(stored) != 31+22+1+43 {
		t.Errorf("stored %s", stored)
	}
	other, err := h.hash(t.Context(), "correct horse")
	if err != nil || other == stored {
		t.Errorf("same password: got %s, %v; want another salt", other, err)
	}
	composed, err := h.hash(t.Context(), "caf\u00e9 noir")
	if err != nil {
		t.Fatal(err)
	}
	salt := []byte("somesalt")
	old := encode(cost{memory: 64, passes: 1, lanes: 2}, salt, argon2.IDKey([]byte("correct horse"), salt, 1, 64, 2, 32))
	tests := []struct {
		name, stored, password string
		ok, stale              bool
	}{
		{"the password", stored, "correct horse", true, false},
		{"another password", stored, "correct horsE", false, false},
		{"none", stored, "", false, false},
		{"a longer one", stored, "correct horse ", false, false},
		{"the same letters, decomposed", composed, "cafe\u0301 noir", true, false},
		{"made at another cost", old, "correct horse", true, true},
		{"another password, made at another cost", old, "correct", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, stale, err := h.verify(t.Context(), tt.stored, tt.password)
			if err != nil || ok != tt.ok || stale != tt.stale {
				t.Errorf("got %v, %v, %v; want %v, %v", ok, stale, err, tt.ok, tt.stale)
			}
		})
	}
}

// The hash is a test vector of the reference implementation, in test.c of
// github.com/P-H-C/phc-winner-argon2.
func TestVerifyReadsReferenceHashes(t *testing.T) {
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	ok, stale, err := newHasher(1, 0).verify(t.Context(), reference, "password")
	if !ok || !stale || err != nil {
		t.Errorf("got %v, %v, %v", ok, stale, err)
	}
}

func TestWasteCostsAsMuchAsVerify(t *testing.T) {
	h, costs := countingHasher(1, 0)
	stored, err := h.hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.verify(t.Context(), stored, "correct"); err != nil {
		t.Fatal(err)
	}
	if err := h.waste(t.Context(), "correct"); err != nil {
		t.Fatal(err)
	}
	c := cost{memory: 19456, passes: 2, lanes: 1, saltLen: 16, keyLen: 32}
	if d := cmp.Diff([]cost{c, c, c}, costs(), cmp.AllowUnexported(cost{})); d != "" {
		t.Errorf("hash, verify, waste (-want +got)\n%s", d)
	}
}

func TestHasherBoundsRunningAndWaitingCalls(t *testing.T) {
	const limit, waiting, callers = 3, 4, 20
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(limit, waiting)
		var now, maxLen, done atomic.Int32
		finish := make(chan struct{})
		h.derive = func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
			n := now.Add(1)
			for m := maxLen.Load(); n > m && !maxLen.CompareAndSwap(m, n); m = maxLen.Load() {
			}
			<-finish
			now.Add(-1)
			done.Add(1)
			return bytes.Repeat([]byte{1}, int(keyLen))
		}
		errs := make(chan error, callers)
		for range callers {
			go func() { errs <- h.waste(t.Context(), "correct horse") }()
		}
		synctest.Wait()
		if n := now.Load(); n != limit {
			t.Errorf("got %d concurrent hashes, want %d", n, limit)
		}
		if n := len(errs); n != callers-limit-waiting {
			t.Errorf("got %d rejected calls, want %d", n, callers-limit-waiting)
		}
		for range len(errs) {
			f, ok := errors.AsType[*apierror.Error](<-errs)
			if !ok || f.Kind != apierror.Unavailable || f.RetryAfter != time.Second {
				t.Errorf("got rejection %v", f)
			}
		}
		close(finish)
		synctest.Wait()
		for range limit + waiting {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if maxLen.Load() != limit || done.Load() != limit+waiting {
			t.Errorf("got at most %d concurrent and %d total hashes, want %d and %d", maxLen.Load(), done.Load(), limit, limit+waiting)
		}
		if err := h.waste(t.Context(), "correct horse"); err != nil || len(h.slots) != 0 || len(h.running) != 0 {
			t.Errorf("afterwards: %v, %d slots and %d running", err, len(h.slots), len(h.running))
		}
	})
}

func TestHasherStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(1, 1)
		finish := make(chan struct{})
		var runs atomic.Int32
		h.derive = func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
			runs.Add(1)
			<-finish
			return make([]byte, keyLen)
		}
		first := make(chan error, 1)
		go func() { first <- h.waste(t.Context(), "correct horse") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.waste(ctx, "correct horse"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a deadline error", err)
		}
		close(finish)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := h.waste(ctx, "correct horse"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended context with a free slot: %v", err)
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("got %d hashes, want 1", n)
		}
	})
}

func TestDecodeAcceptsOnlyCanonicalHashes(t *testing.T) {
	const salt, key = "c29tZXNhbHRzb21lc2FsdA", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	phc := func(params string) string { return "$argon2id$v=19$" + params + "$" + salt + "$" + key }
	b64 := func(n int) string {
		return strings.TrimRight(strings.Repeat("AAAA", n/3)+[]string{"", "AA", "AAA"}[n%3], "=")
	}
	tests := []struct {
		name, in string
		want     cost // zero for an error
	}{
		{"today's", phc("m=19456,t=2,p=1"), currentCost},
		{"the least", phc("m=8,t=1,p=1"), cost{8, 1, 1, 16, 32}},
		{"the most", phc("m=65536,t=8,p=8"), cost{65536, 8, 8, 16, 32}},
		{"short salt and key", "$argon2id$v=19$m=8,t=1,p=1$" + b64(8) + "$" + b64(16), cost{8, 1, 1, 8, 16}},
		{"long salt and key", "$argon2id$v=19$m=8,t=1,p=1$" + b64(64) + "$" + b64(64), cost{8, 1, 1, 64, 64}},

		{"nothing", "", cost{}},
		{"a plain password", "correct horse", cost{}},
		{"another algorithm", "$argon2i$v=19$m=19456,t=2,p=1$" + salt + "$" + key, cost{}},
		{"bcrypt", "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", cost{}},
		{"the algorithm in capitals", strings.ToUpper(phc("m=19456,t=2,p=1")), cost{}},
		{"version 1.0", "$argon2id$v=16$m=19456,t=2,p=1$" + salt + "$" + key, cost{}},
		{"no version", "$argon2id$m=19456,t=2,p=1$" + salt + "$" + key, cost{}},
		{"something before it", "x" + phc("m=19456,t=2,p=1"), cost{}},
		{"something after it", phc("m=19456,t=2,p=1") + "$", cost{}},
		{"no key", "$argon2id$v=19$m=19456,t=2,p=1$" + salt, cost{}},
		{"an empty key", "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$", cost{}},
		{"an empty salt", "$argon2id$v=19$m=19456,t=2,p=1$$" + key, cost{}},
		{"half a key", phc("m=19456,t=2,p=1")[:80], cost{}},
		{"padding", phc("m=19456,t=2,p=1") + "=", cost{}},
		{"base64 for URLs", strings.Replace(phc("m=19456,t=2,p=1"), "+", "-", 1) + "_A", cost{}},
		{"bits that do not count", strings.TrimSuffix(phc("m=19456,t=2,p=1"), "c") + "d", cost{}},
		{"a line end inside", strings.Replace(phc("m=19456,t=2,p=1"), "c29t", "c2\n9t", 1), cost{}},
		{"a line end after it", phc("m=19456,t=2,p=1") + "\n", cost{}},
		{"a salt of 7 bytes", "$argon2id$v=19$m=8,t=1,p=1$" + b64(7) + "$" + key, cost{}},
		{"a salt of 65 bytes", "$argon2id$v=19$m=8,t=1,p=1$" + b64(65) + "$" + key, cost{}},
		{"a key of 15 bytes", "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + b64(15), cost{}},
		{"a key of 65 bytes", "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + b64(65), cost{}},
		{"a gigabyte", phc("m=1048576,t=2,p=1"), cost{}},
		{"one KiB too much", phc("m=65537,t=2,p=1"), cost{}},
		{"too many passes", phc("m=19456,t=9,p=1"), cost{}},
		{"too many lanes", phc("m=19456,t=2,p=9"), cost{}},
		{"256 lanes", phc("m=19456,t=2,p=256"), cost{}},
		{"more than 32 bits", phc("m=4294986752,t=2,p=1"), cost{}},
		{"no memory", phc("m=0,t=2,p=1"), cost{}},
		{"no passes", phc("m=19456,t=0,p=1"), cost{}},
		{"no lanes", phc("m=19456,t=2,p=0"), cost{}},
		{"too little memory for the lanes", phc("m=31,t=2,p=4"), cost{}},
		{"a negative number", phc("m=19456,t=-2,p=1"), cost{}},
		{"a plus sign", phc("m=+19456,t=2,p=1"), cost{}},
		{"a zero before a number", phc("m=019456,t=2,p=1"), cost{}},
		{"a hexadecimal number", phc("m=0x4c00,t=2,p=1"), cost{}},
		{"a space", phc("m= 19456,t=2,p=1"), cost{}},
		{"another order", phc("t=2,m=19456,p=1"), cost{}},
		{"a parameter too few", phc("m=19456,t=2"), cost{}},
		{"a parameter too many", phc("m=19456,t=2,p=1,keyid=x"), cost{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, gotSalt, gotKey, err := decode(tt.in)
			if (err != nil) != (tt.want == cost{}) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if err != nil {
				h, costs := countingHasher(1, 0)
				if ok, _, err := h.verify(t.Context(), tt.in, "correct horse"); ok || err == nil || len(costs()) > 0 {
					t.Errorf("verify: %v, %v after %d hashes", ok, err, len(costs()))
				} else if strings.Contains(err.Error(), salt) || strings.Contains(err.Error(), key) {
					t.Errorf("the error contains the hash: %v", err)
				}
				return
			}
			if got != tt.want || encode(got, gotSalt, gotKey) != tt.in {
				t.Errorf("got %+v, want %+v; encoded %s", got, tt.want, encode(got, gotSalt, gotKey))
			}
		})
	}
}

func TestCheckPasswordLength(t *testing.T) {
	const length, typed = "A password must have 8 to 128 characters.", "A password must not contain control characters."
	tests := []struct{ name, in, clean, problem string }{
		{"8 characters", "12345687", "12345687", ""},
		{"7 characters", "1234567", "1234567", length},
		{"none", "", "", length},
		{"8 characters of three bytes", "密码要有八个字吗", "密码要有八个字吗", ""},
		{"7 characters of three bytes", "密码要有八个字", "密码要有八个字", length},
		{"128 characters", strings.Repeat("éa", 64), strings.Repeat("éa", 64), ""},
		{"129 characters", strings.Repeat("a", 129), strings.Repeat("a", 129), length},
		{"128 characters, decomposed", strings.Repeat("e\u0301a", 64), strings.Repeat("éa", 64), ""},
		{"7 characters, decomposed", strings.Repeat("e\u0301", 7), strings.Repeat("é", 7), length},
		{"spaces count", " pass wd ", " pass wd ", ""},
		{"full-width letters stay", "ｐａｓｓｗｏｒｄ", "ｐａｓｓｗｏｒｄ", ""},
		{"a tab", "pass\tword", "pass\tword", typed},
		{"a NUL", "password\x00", "password\x00", typed},
		{"a C1 control", "password\u0085", "password\u0085", typed},
		{"broken UTF-8", "password\xff", "password\xff", typed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clean, problem := checkPassword(tt.in, "")
			if clean != tt.clean || problem != tt.problem {
				t.Errorf("got %q, %q; want %q, %q", clean, problem, tt.clean, tt.problem)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	h := newHasher(1, 0)
	stored, err := h.hash(b.Context(), "correct horse")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if ok, _, err := h.verify(b.Context(), stored, "correct horse"); !ok || err != nil {
			b.Fatal(fmt.Errorf("%v, %w", ok, err))
		}
	}
}
