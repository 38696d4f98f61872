package note

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// Bounds of what is published together.
const (
	mostTogether = 100  // in one transaction
	mostWaiting  = 1000 // beyond, publishers are sent away
)

// errBusy is what publishers hear of whom too many wait already.
var errBusy = fault.New(fault.Unavailable, "Too many notes at the moment. Please try again.")

// A press has the publishers of one moment share one transaction: while it runs, the
// next ones gather, and one who is alone does not wait. All of them would wait for each
// other anyway, for the row that numbers notes, and each for a commit of its own; so a
// process publishes three times as many notes a second. This is group commit, as
// databases do it for their logs. It is safe for concurrent use.
type press struct {
	print func(ctx context.Context, all []*publication) (tell func())

	mu      sync.Mutex
	waiting []*publication
	running bool
}

// A publication is a note on its way.
type publication struct {
	ctx    context.Context // of its publisher
	author int64
	draft  Draft  // checked
	images string // as the row stores them
	done   chan struct{}

	note *Note
	err  error
}

// do publishes, and returns when it is told. Who goes while nobody has begun takes the note
// back; after that it is published, and waited for: what prints has a deadline.
func (p *press) do(ctx context.Context, author int64, d Draft, images string) (*Note, error) {
	one := &publication{ctx: ctx, author: author, draft: d, images: images, done: make(chan struct{})}
	p.mu.Lock()
	if len(p.waiting) >= mostWaiting {
		p.mu.Unlock()
		return nil, errBusy
	}
	p.waiting = append(p.waiting, one)
	p.start() //nolint:contextcheck // each publication has its own
	p.mu.Unlock()
	select {
	case <-one.done:
	case <-ctx.Done():
		if p.withdraw(one) {
			return nil, ctx.Err()
		}
		<-one.done
	}
	return one.note, one.err
}

// withdraw takes a note out of those that wait, if nobody has begun with it.
func (p *press) withdraw(one *publication) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, one)
	if i < 0 {
		return false
	}
	p.waiting = slices.Delete(slices.Clone(p.waiting), i, i+1) // what stands before it may be under way
	return true
}

// start prints what waits, unless somebody does. The caller holds mu.
func (p *press) start() {
	n := min(len(p.waiting), mostTogether)
	if n == 0 || p.running {
		return
	}
	all := p.waiting[:n:n]
	p.waiting = p.waiting[n:]
	p.running = true
	go p.run(all)
}

// run prints some publications, in the name of the first of them. The next ones are
// printed while these are told.
func (p *press) run(all []*publication) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(all[0].ctx), writeTimeout)
	defer cancel()
	tell := p.print(ctx, all)
	p.mu.Lock()
	p.running = false
	p.start()
	p.mu.Unlock()
	tell()
	for _, one := range all {
		close(one.done)
	}
}

// print stores notes in one transaction. If that fails for a reason that may be one
// note's own, each is stored by itself.
func (s *Service) print(ctx context.Context, all []*publication) (tell func()) {
	told, err := s.store(ctx, all)
	if err != nil && len(all) > 1 && !store.Away(err) && ctx.Err() == nil {
		var tells []func()
		for _, one := range all {
			tells = append(tells, s.print(ctx, []*publication{one}))
		}
		return func() {
			for _, tell := range tells {
				tell()
			}
		}
	}
	if err != nil {
		for _, one := range all {
			one.err = fmt.Errorf("publish a note of user %d: %w", one.author, err)
		}
		return func() {}
	}
	return func() { s.announce(ctx, told) }
}

// store is the transaction of publishing.
func (s *Service) store(ctx context.Context, all []*publication) (told announcement, err error) {
	err = s.tx(ctx, func(tx *ent.Tx) (err error) {
		writes := make([]*ent.NoteCreate, len(all))
		for i, one := range all {
			writes[i] = tx.Note.Create().SetAuthorID(one.author).SetShopID(one.draft.ShopID).SetTitle(one.draft.Title).
				SetContent(one.draft.Content).SetImages(one.images).SetCreatedAt(s.now().UnixMilli())
		}
		rows, err := insert(ctx, tx, writes)
		if err != nil {
			return err
		}
		shown, err := shownBy(rows, false)
		if err != nil {
			return err
		}
		if err := s.pictures.Show(ctx, tx, shown); err != nil {
			return err
		}
		if told, err = s.prepare(ctx, tx, rows, 1); err != nil {
			return err
		}
		last, follows, err := s.numberAll(ctx, tx, rows)
		if err != nil {
			return err
		}
		for i, one := range all {
			if one.note, err = fromRow(rows[i]); err != nil {
				return err
			}
		}
		return told.numbered(rows, last, follows)
	})
	return told, err
}

// insert inserts notes and their counts, and returns the rows in their order.
func insert(ctx context.Context, tx *ent.Tx, writes []*ent.NoteCreate) ([]*ent.Note, error) {
	rows, err := tx.Note.CreateBulk(writes...).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("insert %d notes: %w", len(writes), err)
	}
	counts := make([]*ent.NoteCountCreate, len(rows))
	for i, r := range rows {
		counts[i] = tx.NoteCount.Create().SetID(r.ID).SetHot(hotRank(r.CreatedAt, 0))
	}
	if err := tx.NoteCount.CreateBulk(counts...).Exec(ctx); err != nil {
		return nil, fmt.Errorf("insert the counts of %d notes: %w", len(rows), err)
	}
	return rows, nil
}

// numberOne is numberAll for a note alone, in one statement.
func (s *Service) numberOne(ctx context.Context, tx *ent.Tx, row *ent.Note) (seq, follows int64, err error) {
	seq, follows, err = s.number(ctx, tx, noteevent.KindADDED, row)
	row.Seq = &seq
	return seq, follows, err
}
