package cache

import "context"

// deleteFirst is "cache first, database second" with a delete: it deletes and then writes the row.
//
// Wrong: in between, every reader loads and caches the old row. Unlike cache-aside, this needs only
// a reader, not a slow load.
type deleteFirst struct{ aside }

func newDeleteFirst(p Process) (Scheme, error) {
	return &deleteFirst{aside{Process: p, single: true}}, nil
}

func (s *deleteFirst) Write(ctx context.Context, key string) (int64, error) {
	if err := s.drop(ctx, key); err != nil {
		return 0, err
	}
	r, err := s.DB.Update(ctx, key, nil)
	return r.Version, err
}

// setFirst is "cache first, database second" with an update: it sets the new value and then writes
// the row.
//
// Wrong: readers see a value that is not committed and may never be (a rollback leaves it there),
// loads put the old row back (A1), and two writers may set in one order and commit in the other
// (A25).
type setFirst struct{ aside }

func newSetFirst(p Process) (Scheme, error) {
	return &setFirst{aside{Process: p, single: true}}, nil
}

func (s *setFirst) Write(ctx context.Context, key string) (int64, error) {
	r := s.DB.Reserve(ctx, key)
	if err := s.set(ctx, r); err != nil {
		return 0, err
	}
	return r.Version, s.DB.Apply(ctx, r)
}

// deleteInside deletes after the UPDATE but before the COMMIT: the code says "database first", the
// transaction around it makes it cache first (A14).
//
// Wrong: until the commit, every reader loads and caches the old row.
type deleteInside struct{ aside }

func newDeleteInside(p Process) (Scheme, error) {
	return &deleteInside{aside{Process: p, single: true}}, nil
}

func (s *deleteInside) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, func(Row) error { return s.drop(ctx, key) })
	return r.Version, err
}

// update sets the new value after the commit instead of deleting it.
//
// Right: no miss after a write. Wrong: two writers may set in another order
// than they committed, and the loser stays for the whole TTL (A25); a load from
// before the write may set last (A1).
type update struct{ aside }

func newUpdate(p Process) (Scheme, error) {
	return &update{aside{Process: p, single: true}}, nil
}

func (s *update) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.set(ctx, r)
}
