package account

import (
	"context"
	"crypto/rand"
	stdsql "database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var files embed.FS

type statements struct {
	byIDs, lockCounts sqldb.IDQuery
	addCounts         string
}

func openStatements(dialect string) (s statements) {
	var users, lockCounts string
	if err := sqldb.ReadStatements(files, dialect, map[string]*string{
		"users": &users, "lock_counts": &lockCounts, "add_counts": &s.addCounts,
	}); err != nil {
		panic(fmt.Sprintf("account: %v", err)) // the files are embedded
	}
	s.byIDs, s.lockCounts = sqldb.NewIDQuery(dialect, users), sqldb.NewIDQuery(dialect, lockCounts)
	return s
}

func fromRow(r *ent.User) *User {
	return &User{
		ID: r.ID, Nickname: r.Nickname, AvatarURL: r.AvatarURL, Phone: masked(r.Phone), Role: Role(r.Role), City: r.City, Bio: r.Bio,
		Gender: Gender(r.Gender), Birthday: dateOf(r.Birthday), Points: r.Points, CreatedAt: r.CreatedAt.UTC(), Counts: countsOf(r), Version: r.Version,
	}
}

func masked(phone *string) *string {
	if phone == nil {
		return nil
	}
	text := Phone(*phone).Masked()
	return &text
}

func dateOf(text *string) *civil.Date {
	if text == nil {
		return nil
	}
	d, err := civil.Parse(*text)
	if err != nil {
		return nil
	}
	return &d
}

// byPhone returns the account of a phone, or nil. Earlier versions stored some numbers as
// they were typed, so a phone may have several rows. It prefers the row stored as legacy,
// then the row of p, then the oldest row in another spelling. All cases cost the same.
func (s *Service) byPhone(ctx context.Context, p, legacy Phone) (*ent.User, error) {
	rows, err := s.db.User.Query().Where(entuser.PhoneIn(numbersOf(p, legacy)...)).Order(entuser.ByID()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select users by phone: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // no account is no error
	}
	row := rows[0]
	for _, number := range []Phone{p, legacy} {
		for _, r := range rows {
			if *r.Phone == number.E164() {
				row = r
			}
		}
	}
	s.users.MarkExisting(row.ID) // its creator may have crashed before the invalidation
	return row, nil
}

// register returns the row of a phone's account, and creates it if there is none.
// Concurrent calls for one phone return the same row: the unique index decides.
func (s *Service) register(ctx context.Context, p, legacy Phone) (row *ent.User, fresh bool, err error) {
	return s.registerAt(ctx, p, legacy, nil)
}

// registerAt is register with the creation time of a new account; nil is now.
func (s *Service) registerAt(ctx context.Context, p, legacy Phone, at *time.Time) (row *ent.User, fresh bool, err error) {
	if row, err = s.byPhone(ctx, p, legacy); row != nil || err != nil {
		return row, false, err
	}
	// The end of the request must not prevent the invalidation after the commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var id int64
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		id, err = tx.User.Create().SetPhone(p.E164()).SetNickname("user_" + strings.ToLower(rand.Text()[:10])).SetNillableCreatedAt(at).
			OnConflictColumns(entuser.FieldPhone).DoNothing().ID(ctx)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, id)
		}
		return err
	})
	if errors.Is(err, stdsql.ErrNoRows) { // a concurrent call was faster
		row, err = s.byPhone(ctx, p, legacy)
		if row == nil && err == nil {
			err = errors.New("insert user: account disappeared concurrently")
		}
		return row, false, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("insert user: %w", err)
	}
	// A reader may have cached that this id does not exist.
	s.afterCommit(ctx, job, id)
	row, err = s.db.User.Get(ctx, id)
	if err != nil {
		return nil, false, fmt.Errorf("select user %d: %w", id, err)
	}
	return row, true, nil
}

// A Draft is a synthetic user without an id.
type Draft struct {
	ExternalID string // identifies the user in the seed; a stored user with it is not inserted again
	Nickname   string
	Role       Role
	City       string // "" if unknown
	Bio        string // may be ""
	AvatarURL  string // path of a stored picture, or ""
}

const bulk = 500 // rows per statement

// BulkInsert stores the drafts that are not stored yet, in one transaction, and returns
// the ids of all drafts, in order. It does not change stored users.
func (s *Service) BulkInsert(ctx context.Context, drafts []Draft, progress func(done int)) ([]int64, error) {
	ids := make([]int64, 0, len(drafts))
	var jobs []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		for batch := range slices.Chunk(drafts, bulk) {
			some, err := s.insertBatch(ctx, tx, batch)
			if err != nil {
				return err
			}
			ids = append(ids, some...)
			progress(len(ids))
		}
		var err error
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, ids...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store %d users: %w", len(drafts), err)
	}
	s.afterCommit(ctx, jobs, ids...)
	return ids, nil
}

func (s *Service) insertBatch(ctx context.Context, tx *ent.Tx, batch []Draft) ([]int64, error) {
	names := make([]string, len(batch))
	writes := make([]*ent.UserCreate, len(batch))
	for i, d := range batch {
		names[i] = d.ExternalID
		writes[i] = tx.User.Create().SetExternalID(d.ExternalID).SetNickname(d.Nickname).SetRole(entuser.Role(d.Role)).
			SetNillableCity(optional.OrNil(d.City)).SetNillableBio(optional.OrNil(d.Bio)).SetNillableAvatarURL(optional.OrNil(d.AvatarURL))
	}
	err := tx.User.CreateBulk(writes...).OnConflictColumns(entuser.FieldExternalID).DoNothing().Exec(ctx)
	if err != nil && !errors.Is(err, stdsql.ErrNoRows) { // all rows exist
		return nil, fmt.Errorf("insert %d users: %w", len(batch), err)
	}
	rows, err := tx.User.Query().Where(entuser.ExternalIDIn(names...)).Select(entuser.FieldID, entuser.FieldExternalID, entuser.FieldAvatarURL).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d users: %w", len(batch), err)
	}
	byName := make(map[string]int64, len(rows))
	shown := map[int64]mediapath.Usage{}
	for _, r := range rows {
		byName[*r.ExternalID] = r.ID
		if _, ok := mediapath.Parse(optional.Value(r.AvatarURL)); ok {
			shown[r.ID] = mediapath.Usage{By: mediapath.SeedEditor(), Paths: []string{*r.AvatarURL}}
		}
	}
	if err := s.cfg.Pictures.SetUsed(ctx, tx, shown); err != nil {
		return nil, err
	}
	ids := make([]int64, len(batch))
	for i, name := range names {
		if ids[i] = byName[name]; ids[i] == 0 {
			return nil, fmt.Errorf("insert user %s: row disappeared concurrently", name)
		}
	}
	return ids, nil
}

// IsNode marks User as a GraphQL Node.
func (User) IsNode() {}

// DeletedUser returns the placeholder for a user without a row, for content that is left.
func DeletedUser(id int64) *User {
	return &User{ID: id, Nickname: "—", Role: Customer, Gender: Unspecified}
}
