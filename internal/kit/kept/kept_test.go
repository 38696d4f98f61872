package kept

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func keyOf(n int) *Key {
	var k Key
	binary.BigEndian.PutUint64(k[:], uint64(n)) //nolint:gosec // small
	return &k
}

// has says whether a piece is kept, without a hit: asking for it would keep it longer.
func (b *Bytes) has(key *Key) bool {
	if list := b.pieces.Load(); list != nil {
		for _, p := range *list {
			if p.key == *key {
				return true
			}
		}
	}
	return false
}

// count is how many pieces there are, and what they cost.
func (b *Bytes) count() (pieces int, cost int64) {
	if list := b.pieces.Load(); list != nil {
		for _, p := range *list {
			pieces, cost = pieces+1, cost+p.cost()
		}
	}
	return pieces, cost
}

func TestPiecesAreFoundByTheirKeys(t *testing.T) {
	budget := NewBudget(1 << 20)
	b := New(budget)
	if _, ok := b.Append(nil, keyOf(1)); ok {
		t.Error("a new object has a piece")
	}
	b.Keep(keyOf(1), []byte(`"id":"1"`))
	b.Keep(keyOf(2), []byte(`"name":"Ann"`))
	for n, want := range map[int]string{1: `{"id":"1"`, 2: `{"name":"Ann"`} {
		if got, ok := b.Append([]byte("{"), keyOf(n)); !ok || string(got) != want {
			t.Errorf("piece %d: %q, %t; want %q behind what was written before", n, got, ok, want)
		}
	}
	if got, ok := b.Append([]byte("{"), keyOf(3)); ok || string(got) != "{" {
		t.Errorf("a piece that nobody kept: %q, %t", got, ok)
	}
	want := Stats{Hits: 2, Misses: 2, Bytes: int64(len(`"id":"1"`) + len(`"name":"Ann"`) + 2*overhead), Most: 1 << 20}
	if got := budget.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	runtime.KeepAlive(b)
}

func TestWhatIsKeptIsACopy(t *testing.T) {
	b := New(NewBudget(1 << 20))
	buffer := []byte("before")
	b.Keep(keyOf(1), buffer)
	copy(buffer, "behind")
	out, _ := b.Append(nil, keyOf(1))
	if string(out) != "before" {
		t.Errorf("the piece is %q after its writer used the buffer for something else", out)
	}
	copy(out, "behind")
	if again, _ := b.Append(nil, keyOf(1)); string(again) != "before" {
		t.Errorf("the piece is %q after its reader used the answer for something else", again)
	}
}

func TestWhatIsKeptFirstStays(t *testing.T) {
	budget := NewBudget(1 << 20)
	b := New(budget)
	b.Keep(keyOf(1), []byte("first"))
	used := budget.Stats().Bytes
	b.Keep(keyOf(1), []byte("the second one"))
	if out, _ := b.Append(nil, keyOf(1)); string(out) != "first" || budget.Stats().Bytes != used {
		t.Errorf("%q, %+v; want the first, and no byte more", out, budget.Stats())
	}
}

func TestNoBudgetKeepsNothing(t *testing.T) {
	for name, budget := range map[string]*Budget{"none": nil, "of nothing": NewBudget(0), "below nothing": NewBudget(-1)} {
		if New(budget) != nil {
			t.Errorf("a budget %s has bytes", name)
		}
	}
	budget := NewBudget(overhead + 4)
	b := New(budget)
	if b.Keep(keyOf(1), []byte("12345")); b.has(keyOf(1)) || budget.Stats().Bytes != 0 {
		t.Errorf("more than there may be is kept: %+v", budget.Stats())
	}
	if b.Keep(keyOf(1), []byte("1234")); !b.has(keyOf(1)) {
		t.Error("what fits exactly is not kept")
	}
}

func TestAnObjectHasEightPieces(t *testing.T) {
	b := New(NewBudget(1 << 20))
	for n := range mostPieces {
		b.Keep(keyOf(n), []byte("piece"))
	}
	for n := range mostPieces {
		if n != 3 {
			b.Append(nil, keyOf(n))
		}
	}
	b.Keep(keyOf(8), []byte("piece"))
	if pieces, _ := b.count(); pieces != mostPieces || b.has(keyOf(3)) || !b.has(keyOf(8)) {
		t.Errorf("%d pieces; the one that nobody asked for is there: %t, the new one: %t", pieces, b.has(keyOf(3)), b.has(keyOf(8)))
	}
}

// All that is kept was asked for. A new piece has to be offered until the others were not
// asked for any more, which takes as long as they were asked for often.
func TestWhatIsAskedForStays(t *testing.T) {
	b := New(NewBudget(1 << 20))
	for n := range mostPieces {
		b.Keep(keyOf(n), []byte("piece"))
		for range 1 + n*n*n {
			b.Append(nil, keyOf(n))
		}
	}
	offered := 0
	for ; !b.has(keyOf(8)); offered++ {
		b.Keep(keyOf(8), []byte("piece"))
	}
	if offered < 2 || b.has(keyOf(0)) || !b.has(keyOf(7)) {
		t.Errorf("after %d offers; the one asked for least is there: %t, the most: %t", offered, b.has(keyOf(0)), b.has(keyOf(7)))
	}
}

func TestAnObjectHas16KB(t *testing.T) {
	budget := NewBudget(1 << 20)
	b := New(budget)
	b.Keep(keyOf(0), make([]byte, mostBytes-overhead+1))
	if b.has(keyOf(0)) {
		t.Error("a piece of more than all is kept")
	}
	for n := range 4 {
		b.Keep(keyOf(n), make([]byte, mostBytes/4-overhead))
	}
	if pieces, cost := b.count(); pieces != 4 || cost != mostBytes {
		t.Errorf("%d pieces of %d bytes, want four that fill it", pieces, cost)
	}
	b.Append(nil, keyOf(2))
	b.Keep(keyOf(4), make([]byte, mostBytes/2-overhead))
	if pieces, cost := b.count(); pieces != 3 || cost != mostBytes || !b.has(keyOf(2)) || !b.has(keyOf(4)) || budget.Stats().Bytes != mostBytes {
		t.Errorf("%d pieces of %d bytes, %+v; want two that nobody asked for to have given way to one", pieces, cost, budget.Stats())
	}
}

// One piece can go and a second one cannot: then the new one is not kept, and nothing is
// gone, of the pieces or of what is counted of them.
func TestAPieceThatFindsTooLittlePlaceTakesNothing(t *testing.T) {
	budget := NewBudget(1 << 20)
	b := New(budget)
	for n := range 4 {
		b.Keep(keyOf(n), make([]byte, mostBytes/4-overhead))
		if n > 0 {
			b.Append(nil, keyOf(n))
		}
	}
	b.Keep(keyOf(4), make([]byte, mostBytes/2-overhead))
	if pieces, cost := b.count(); pieces != 4 || cost != budget.Stats().Bytes {
		t.Errorf("%d pieces of %d bytes, and the budget says %d", pieces, cost, budget.Stats().Bytes)
	}
}

// An object whose own pieces are all that the budget has may have others in their place.
func TestAFullBudgetDoesNotFreezeAnObject(t *testing.T) {
	budget := NewBudget(mostPieces * (overhead + 100))
	b := New(budget)
	for n := range mostPieces + 1 {
		b.Keep(keyOf(n), make([]byte, 100))
	}
	if !b.has(keyOf(mostPieces)) {
		t.Error("the new piece found no place")
	}
	if s := budget.Stats(); s.Bytes != s.Most {
		t.Errorf("%+v", s)
	}
}

func TestTheBudgetIsNeverExceeded(t *testing.T) {
	seed := testkit.Seed(t)
	const most = 64 << 10
	budget := NewBudget(most)
	objects := make([]*Bytes, 40)
	for i := range objects {
		objects[i] = New(budget)
	}
	done, watched := make(chan struct{}), make(chan int64, 1)
	go func() {
		var highest int64
		for {
			highest = max(highest, budget.Stats().Bytes)
			select {
			case <-done:
				watched <- highest
				return
			default:
			}
		}
	}()
	var all sync.WaitGroup
	for worker := range uint64(16) {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(seed, worker))
			for range 3000 {
				b, n := objects[draw.IntN(len(objects))], draw.IntN(20)
				text := bytes.Repeat([]byte{byte(n)}, 10+n*200)
				out, ok := b.Append(nil, keyOf(n))
				if ok && !bytes.Equal(out, text) {
					t.Errorf("piece %d is another one", n)
				}
				if !ok {
					b.Keep(keyOf(n), text)
				}
			}
		})
	}
	all.Wait()
	close(done)
	if highest := <-watched; highest > most || highest < most/2 {
		t.Errorf("%d bytes were kept at once, of %d", highest, most)
	}
	var sum int64
	for i, b := range objects {
		pieces, cost := b.count()
		if pieces > mostPieces || cost > mostBytes || cost != b.held.bytes.Load() {
			t.Errorf("object %d has %d pieces of %d bytes, and says %d", i, pieces, cost, b.held.bytes.Load())
		}
		sum += cost
	}
	if s := budget.Stats(); sum != s.Bytes {
		t.Errorf("all pieces are %d bytes, and the budget says %d", sum, s.Bytes)
	}
}

func TestAnObjectThatIsForgottenGivesItsBytesBack(t *testing.T) {
	budget := NewBudget(1 << 20)
	stays := New(budget)
	stays.Keep(keyOf(1), []byte("stays"))
	want := budget.Stats().Bytes
	for range 100 {
		b := New(budget)
		for n := range mostPieces + 3 {
			b.Keep(keyOf(n), make([]byte, 100))
		}
	}
	if budget.Stats().Bytes < 100*mostPieces*100 {
		t.Errorf("a hundred objects have %d bytes", budget.Stats().Bytes)
	}
	returned := func(bytes int64) {
		t.Helper()
		testkit.Eventually(t, 10*time.Second, func() bool {
			runtime.GC()
			return budget.Stats().Bytes == bytes
		})
	}
	returned(want)
	runtime.KeepAlive(stays)
	returned(0)
}

// Who asks whether there is place and then takes it finds that somebody was quicker.
func TestTheLastPlaceIsTakenByOne(t *testing.T) {
	for range 2000 {
		budget := NewBudget(overhead + 10)
		var objects [4]*Bytes
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range objects {
			objects[i] = New(budget)
			all.Go(func() {
				<-begin
				objects[i].Keep(keyOf(1), make([]byte, 10))
			})
		}
		close(begin)
		all.Wait()
		n := 0
		for _, b := range objects {
			pieces, _ := b.count()
			n += pieces
		}
		if n != 1 || budget.Stats().Bytes != overhead+10 {
			t.Fatalf("%d objects took the place of one, %+v", n, budget.Stats())
		}
	}
}
