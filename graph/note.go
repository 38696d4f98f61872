package graph

import (
	"context"
	"errors"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/note"
)

// Fields that relate the viewer to an object.
const (
	noteLiked    = "Note.isLiked"
	commentLiked = "Comment.isLiked"
	userFollowed = "User.isFollowed"
	shopSaved    = "Shop.isSaved"
	noteSaved    = "Note.isSaved"
)

func noteID(n *note.Note) int64 { return n.ID }

// orNil returns v, or nil without an error if the object does not exist.
func orNil[V any](v *V, err error) (*V, error) {
	if errors.Is(err, apierror.ErrNotFound) {
		return nil, nil //nolint:nilnil // null in the schema
	}
	return v, err
}

// afterLike adds or removes a like of the viewer and returns the changed object, or the
// reasons for a rejection.
func afterLike[V any](ctx context.Context, field string, id int64, likes bool, change func(context.Context, int64, int64) error, read func(context.Context, int64) (*V, error)) (*V, []apierror.UserError, error) {
	if wrong, err := userErrors(change(ctx, viewer(ctx).ID, id)); wrong != nil || err != nil {
		return nil, wrong, err
	}
	callerOf(ctx).remember(field, id, likes)
	liked, err := read(ctx, id)
	if errors.Is(err, apierror.ErrNotFound) { // no like to remove, or deleted in the meantime
		return nil, apierror.Refuse(apierror.NotFound, "This was deleted.", "id"), nil
	}
	return liked, nil, err
}

// noteCounts reads the counters of notes, once for all fields that show them.
func (r *Resolver) noteCounts(ctx context.Context, objs []*note.Note) ([]note.Counts, error) {
	return loadSiblingsAs(ctx, "(counts)", objs, func(all []*note.Note) ([]note.Counts, error) {
		return readBy(ctx, all, noteID, r.services.Notes.Counts)
	})
}

// authors reads users by id. A deleted user is replaced by [account.DeletedUser], because
// their notes and comments stay.
func (r *Resolver) authors(ctx context.Context, ids []int64) ([]*account.User, error) {
	found, err := r.services.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	return convert(ids, func(id int64) *account.User {
		if u := found[id]; u != nil {
			return u
		}
		return account.DeletedUser(id)
	}), nil
}

// firstLikers reads the first users that liked each note. It omits deleted users.
func (r *Resolver) firstLikers(ctx context.Context, notes []int64, first int) ([][]account.User, error) {
	lists, err := r.services.NoteLikes.FirstLikers(ctx, notes, first)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, list := range lists {
		ids = append(ids, list...)
	}
	found, err := r.services.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	return convert(notes, func(id int64) []account.User {
		users := make([]account.User, 0, len(lists[id]))
		for _, liker := range lists[id] {
			if u := found[liker]; u != nil {
				users = append(users, *u)
			}
		}
		return users
	}), nil
}
