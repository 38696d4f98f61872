package account

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// openCaches opens the cache of users. Requests that need a role read their user, so the
// cache is Essential: other load must not crowd it out.
func (s *Service) openCaches(hub *cache.Client) {
	s.users = cache.New(hub, cache.Policy{
		Name: "user", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute, Essential: true,
		// Active users are read often. StaleIfError is 0, because the user may have lost
		// the admin role.
		Local: cache.Local{Share: 0.2, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, User]{
		Key: decimal, Load: s.loadUsers, All: s.allUsers, Parse: parseDecimal,
		Version: func(u User) int64 { return u.Version },
	})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) loadUsers(ctx context.Context, ids []int64) (map[int64]User, error) {
	found := make(map[int64]User, len(ids))
	scan := ent.Scanner[ent.User]()
	err := s.sql.byIDs.Each(ctx, s.db, ids, func(rows *sql.Rows) error {
		r, err := scan(rows)
		if err == nil {
			found[r.ID] = *fromRow(r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d users: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) allUsers(ctx context.Context) iter.Seq2[int64, error] {
	return ent.AllIDs(func(after int64, limit int) ([]int64, error) {
		return s.db.User.Query().Where(entuser.IDGT(after)).Order(entuser.ByID()).Limit(limit).IDs(ctx)
	})
}
