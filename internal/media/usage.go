package media

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/ent/pictureuse"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Kind is the kind of thing that shows a picture.
type Kind = pictureuse.Kind

// The kinds of things that show pictures.
const (
	OfShop     = pictureuse.KindSHOP
	OfShopType = pictureuse.KindSHOP_TYPE
	OfNote     = pictureuse.KindNOTE
	OfUser     = pictureuse.KindUSER
)

// Usages records which pictures the things of one kind show. It is safe for concurrent use.
type Usages struct {
	s    *Service
	kind Kind
}

// UsagesOf returns the Usages of a kind.
func (s *Service) UsagesOf(k Kind) Usages { return Usages{s, k} }

// Sizes returns the sizes of the pictures that an editor may show, by path: uploads of the user,
// and pictures that the thing shows already.
func (h Usages) Sizes(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error) {
	names, ids := namesOf(paths)
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := h.s.db.Picture.Query().Where(picture.IDIn(ids...), picture.Stored(true), h.allowed(by)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d pictures: %w", len(ids), err)
	}
	known := make(map[string]mediapath.Size, len(rows))
	for _, r := range rows {
		path := nameOf(r).Path()
		if _, asked := names[path]; asked {
			known[path] = mediapath.Size{Width: r.Width, Height: r.Height}
		}
	}
	return known, nil
}

// allowed is the SQL condition for pictures that an editor may show.
func (h Usages) allowed(by mediapath.Editor) predicate.Picture {
	return func(s *sql.Selector) {
		if by.Any {
			return
		}
		own := sql.EQ(s.C(picture.FieldUploaderID), by.UserID)
		if by.ItemID == 0 {
			s.Where(own)
			return
		}
		use := sql.Table(pictureuse.Table)
		s.Where(sql.Or(own, sql.Exists(sql.Select(use.C(pictureuse.FieldID)).From(use).Where(sql.And(
			sql.ColumnsEQ(use.C(pictureuse.FieldPictureID), s.C(picture.FieldID)),
			sql.EQ(use.C(pictureuse.FieldKind), h.kind), sql.EQ(use.C(pictureuse.FieldOwnerID), by.ItemID),
		)))))
	}
}

const bulkSize = 500 // rows that one statement writes or names

// SetUsed records in tx the pictures that each thing shows from now on, in place of the previous
// ones. It returns [apierror.UserErrors] for an unknown path, and for a picture of another user
// that the thing does not show already.
//
// The rows of the things must be locked or new, so that concurrent changes of one thing see each
// other. SetUsed locks the rows of the pictures in share mode until tx ends, so that none is
// collected meanwhile. It may lock them after other rows: the collector and uploads lock them
// exclusively, and then wait for no other lock.
func (h Usages) SetUsed(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Usage) error {
	for owners := range slices.Chunk(slices.Sorted(maps.Keys(shown)), bulkSize) {
		if err := h.show(ctx, tx, owners, shown); err != nil {
			return fmt.Errorf("record picture uses of %d owners: %w", len(owners), err)
		}
	}
	return nil
}

func (h Usages) show(ctx context.Context, tx *ent.Tx, owners []int64, shown map[int64]mediapath.Usage) error {
	var paths []string
	for _, owner := range owners {
		paths = append(paths, shown[owner].Paths...)
	}
	names, ids := namesOf(paths)
	there, err := lock(ctx, tx, ids)
	if err != nil {
		return err
	}
	before, err := tx.PictureUse.Query().Where(pictureuse.KindEQ(h.kind), pictureuse.OwnerIDIn(owners...)).All(ctx)
	if err != nil {
		return fmt.Errorf("select previous pictures: %w", err)
	}
	have := make(map[[2]int64]int64, len(before)) // owner and picture → use
	for _, use := range before {
		have[[2]int64{use.OwnerID, use.PictureID}] = use.ID
	}
	var writes []*ent.PictureUseCreate
	for _, owner := range owners {
		by := shown[owner].By
		for _, path := range shown[owner].Paths {
			name := names[path]
			row := there[name]
			_, shows := have[[2]int64{owner, name.ID}]
			if row == nil || !shows && !mayShow(by, row) {
				return apierror.Refuse(mediapath.Rejected, "An image no longer exists. Please upload it again.", h.field()...)
			}
			if !shows {
				writes = append(writes, tx.PictureUse.Create().SetKind(h.kind).SetOwnerID(owner).SetPictureID(name.ID))
			}
			delete(have, [2]int64{owner, name.ID})
		}
	}
	for some := range slices.Chunk(slices.Collect(maps.Values(have)), bulkSize) {
		if _, err := tx.PictureUse.Delete().Where(pictureuse.IDIn(some...)).Exec(ctx); err != nil {
			return fmt.Errorf("delete uses: %w", err)
		}
	}
	for some := range slices.Chunk(writes, bulkSize) {
		if err := tx.PictureUse.CreateBulk(some...).Exec(ctx); err != nil {
			return fmt.Errorf("insert uses: %w", err)
		}
	}
	return nil
}

// mayShow reports whether an editor may show a picture that the thing does not show yet.
func mayShow(by mediapath.Editor, row *ent.Picture) bool {
	return by.Any || row.UploaderID != nil && *row.UploaderID == by.UserID
}

// field returns the GraphQL argument with the pictures of a kind.
func (h Usages) field() []string {
	if h.kind == OfUser {
		return []string{"input", "avatarUrl"}
	}
	return []string{"input", "images"}
}

// lock locks the rows of pictures in share mode, by id, and returns the stored ones by name.
func lock(ctx context.Context, tx *ent.Tx, ids []int64) (map[mediapath.Name]*ent.Picture, error) {
	there := make(map[mediapath.Name]*ent.Picture, len(ids))
	for some := range slices.Chunk(ids, bulkSize) {
		one := tx.Picture.Query().Where(picture.IDIn(some...), picture.Stored(true)).Order(ent.Asc(picture.FieldID))
		one.Modify(sqldb.ForShare)
		rows, err := one.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("lock %d pictures: %w", len(some), err)
		}
		for _, r := range rows {
			there[nameOf(r)] = r
		}
	}
	return there, nil
}

// namesOf parses paths. It returns their names, and their ids, sorted and unique.
func namesOf(paths []string) (names map[string]mediapath.Name, ids []int64) {
	names = make(map[string]mediapath.Name, len(paths))
	for _, path := range paths {
		if n, ok := mediapath.Parse(path); ok && !n.Small {
			names[path] = n
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	return names, slices.Compact(ids)
}

func nameOf(r *ent.Picture) mediapath.Name {
	return mediapath.Name{Hash: r.Hash, ID: r.ID, PNG: r.Format == picture.FormatPNG}
}
