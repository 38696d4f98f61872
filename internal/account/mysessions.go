package account

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// A Session is one login, as shown to its user.
type Session struct {
	ID         int64
	CreatedAt  time.Time
	LastUsedAt time.Time // may lag by an hour
	IsCurrent  bool
	Device     *string // browser and system; nil if unknown
}

// Sessions returns the viewer's sessions, the last used first. A user has at most 100.
func (s *Service) Sessions(ctx context.Context, v Viewer) ([]Session, error) {
	ctx, span := observe.Span(ctx, "account.Sessions")
	defer span.End()
	rows, err := s.db.Session.Query().Where(s.sessions.running(v.ID)...).Limit(2 * sessionsPerUser).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select sessions of user %d: %w", v.ID, err)
	}
	list := make([]Session, len(rows))
	for i, r := range rows {
		list[i] = Session{numberOf(r.ID), r.CreatedAt, lastUse(r.UsedAt, r.ExpiresAt), r.ID == v.session, r.Device}
	}
	slices.SortFunc(list, func(a, b Session) int {
		return cmp.Or(b.LastUsedAt.Compare(a.LastUsedAt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// lastUse returns the last use of a session. A row of an earlier version has only the expiry.
func lastUse(used *time.Time, ends time.Time) time.Time {
	if used != nil {
		return *used
	}
	return ends.Add(-sessionLife)
}

// numberOf returns the number of a session in its global id: the first 63 bits of its id,
// which is the SHA-256 of the token.
func numberOf(id string) int64 {
	var sum [tokenBytes]byte
	_, _ = base64.RawURLEncoding.Decode(sum[:], []byte(id))
	return max(int64(binary.BigEndian.Uint64(sum[:8])>>1), 1)
}

func (s *sessions) running(user int64) []predicate.Session {
	now := s.now()
	return []predicate.Session{
		entsession.UserID(user), entsession.EndedAtIsNil(), entsession.ExpiresAtGT(now.UTC()), entsession.CreatedAtGT(now.Add(-sessionMax).UTC()),
	}
}

// EndSession ends one session of the viewer. It removes the session's device, unless the
// viewer's current session uses it. It reports whether the session was the current one.
// It returns an [apierror.UserErrors] if the viewer has no such session.
func (s *Service) EndSession(ctx context.Context, v Viewer, number int64) (own bool, err error) {
	ctx, span := observe.Span(ctx, "account.EndSession")
	defer span.End()
	var over []string
	var job []outbox.JobRef
	err = s.sessions.asViewer(ctx, v, func(ctx context.Context, tx *ent.Tx, _ *ent.User, current *ent.Session) error {
		rows, err := tx.Session.Query().Where(s.sessions.running(v.ID)...).All(ctx)
		if err != nil {
			return fmt.Errorf("select sessions: %w", err)
		}
		i := slices.IndexFunc(rows, func(r *ent.Session) bool { return numberOf(r.ID) == number })
		if i < 0 {
			return apierror.Refuse(apierror.NotFound, "This session doesn't exist. It may have already ended.", "id")
		}
		own = rows[i].ID == v.session
		if of := rows[i].DeviceID; of != nil && !own && *of != optional.Value(current.DeviceID) {
			if err := tx.Device.DeleteOneID(*of).Exec(ctx); err != nil && !ent.IsNotFound(err) {
				return fmt.Errorf("delete device: %w", err)
			}
		}
		over, job, err = s.sessions.endAll(ctx, tx, entsession.ID(rows[i].ID))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end session of user %d: %w", v.ID, err)
	}
	s.sessions.afterCommit(ctx, job, over...)
	return own, nil
}

// EndOtherSessions ends all sessions of the viewer except the current one, and removes
// all other devices.
func (s *Service) EndOtherSessions(ctx context.Context, v Viewer) error {
	ctx, span := observe.Span(ctx, "account.EndOtherSessions")
	defer span.End()
	err := s.sessions.endOthers(ctx, v, func(context.Context, *ent.Tx, *ent.User) error { return nil })
	if err != nil {
		return fmt.Errorf("end other sessions of user %d: %w", v.ID, err)
	}
	return nil
}

// endOthers runs work in a transaction that also ends the viewer's other sessions and
// deletes the other devices.
func (s *sessions) endOthers(ctx context.Context, v Viewer, work func(context.Context, *ent.Tx, *ent.User) error) error {
	var over []string
	var job []outbox.JobRef
	err := s.asViewer(ctx, v, func(ctx context.Context, tx *ent.Tx, user *ent.User, current *ent.Session) error {
		if err := work(ctx, tx, user); err != nil {
			return err
		}
		if err := deleteDevices(ctx, tx, v.ID, current.DeviceID); err != nil {
			return err
		}
		var err error
		over, job, err = s.endAll(ctx, tx, entsession.UserID(v.ID), entsession.IDNEQ(v.session))
		return err
	})
	if err == nil {
		s.afterCommit(ctx, job, over...)
	}
	return err
}

// asViewer runs work in a transaction that locks the viewer's row. It returns
// UNAUTHENTICATED for an ended session, even if it is in this process's memory.
func (s *sessions) asViewer(ctx context.Context, v Viewer, work func(context.Context, *ent.Tx, *ent.User, *ent.Session) error) error {
	return s.inTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		user, err := lockUser(ctx, tx, v.ID)
		if err != nil {
			return err
		}
		current, err := tx.Session.Query().Where(append(s.running(v.ID), entsession.ID(v.session))...).Only(ctx)
		if ent.IsNotFound(err) {
			return apierror.New(apierror.Unauthenticated, "Sign in first.")
		}
		if err != nil {
			return fmt.Errorf("select session: %w", err)
		}
		return work(ctx, tx, user, current)
	})
}
