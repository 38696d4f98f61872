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

// Kind is what shows a picture.
type Kind = pictureuse.Kind

// All kinds.
const (
	OfShop     = pictureuse.KindSHOP
	OfShopType = pictureuse.KindSHOP_TYPE
	OfNote     = pictureuse.KindNOTE
	OfUser     = pictureuse.KindUSER
)

// A Usages is the pictures as those need them who show some. It is safe for concurrent
// use.
type Usages struct {
	s    *Service
	kind Kind
}

// UsagesOf returns the pictures for things of a kind.
func (s *Service) UsagesOf(k Kind) Usages { return Usages{s, k} }

// Known returns the sizes of those pictures among some paths that the editor may show, by
// path: those that the user uploaded, and those that the thing shows already.
func (h Usages) Known(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error) {
	names, ids := namesOf(paths)
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := h.s.db.Picture.Query().Where(picture.IDIn(ids...), picture.Stored(true), h.allowed(by)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for %d pictures: %w", len(ids), err)
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

// allowed is the condition that an editor may show a picture.
func (h Usages) allowed(by mediapath.Editor) predicate.Picture {
	return func(s *sql.Selector) {
		if by.Any {
			return
		}
		own := sql.EQ(s.C(picture.FieldUploaderID), by.UserID)
		if by.ThingID == 0 {
			s.Where(own)
			return
		}
		use := sql.Table(pictureuse.Table)
		s.Where(sql.Or(own, sql.Exists(sql.Select(use.C(pictureuse.FieldID)).From(use).Where(sql.And(
			sql.ColumnsEQ(use.C(pictureuse.FieldPictureID), s.C(picture.FieldID)),
			sql.EQ(use.C(pictureuse.FieldKind), h.kind), sql.EQ(use.C(pictureuse.FieldOwnerID), by.ThingID),
		)))))
	}
}

// bulk is how many rows one statement writes or names.
const bulk = 500

// Show records in tx which pictures things show from now on: those of each id, and no
// others. It returns a [fault.UserErrors] for a path that names no picture here, or one
// that another user uploaded, unless the thing shows it already. The rows of the
// things must be locked, or be new: of two who say it of one thing at once, the second one
// must see what the first one wrote. The rows of the pictures stay locked, shared, until tx ends:
// none of them is collected meanwhile. They may be locked behind any others: who locks
// them for himself alone, the collector and an upload of the same, waits for nobody then.
func (h Usages) Show(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Shown) error {
	for owners := range slices.Chunk(slices.Sorted(maps.Keys(shown)), bulk) {
		if err := h.show(ctx, tx, owners, shown); err != nil {
			return fmt.Errorf("write down what pictures %d things show: %w", len(owners), err)
		}
	}
	return nil
}

func (h Usages) show(ctx context.Context, tx *ent.Tx, owners []int64, shown map[int64]mediapath.Shown) error {
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
		return fmt.Errorf("select what they show: %w", err)
	}
	have := make(map[[2]int64]int64, len(before)) // owner and picture → the use
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
				return apierror.Refuse(mediapath.Rejected, "A picture is not here any more: upload it again.", h.field()...)
			}
			if !shows {
				writes = append(writes, tx.PictureUse.Create().SetKind(h.kind).SetOwnerID(owner).SetPictureID(name.ID))
			}
			delete(have, [2]int64{owner, name.ID})
		}
	}
	for some := range slices.Chunk(slices.Collect(maps.Values(have)), bulk) {
		if _, err := tx.PictureUse.Delete().Where(pictureuse.IDIn(some...)).Exec(ctx); err != nil {
			return fmt.Errorf("delete what they show no more: %w", err)
		}
	}
	for some := range slices.Chunk(writes, bulk) {
		if err := tx.PictureUse.CreateBulk(some...).Exec(ctx); err != nil {
			return fmt.Errorf("insert what they show: %w", err)
		}
	}
	return nil
}

// mayShow reports whether an editor may show a picture that the thing does not show yet.
func mayShow(by mediapath.Editor, row *ent.Picture) bool {
	return by.Any || row.UploaderID != nil && *row.UploaderID == by.UserID
}

// field is the argument that names the pictures of a kind of thing.
func (h Usages) field() []string {
	if h.kind == OfUser {
		return []string{"input", "avatarUrl"}
	}
	return []string{"input", "images"}
}

// lock locks the rows of pictures, in one order, and returns those that are stored, by name.
func lock(ctx context.Context, tx *ent.Tx, ids []int64) (map[mediapath.Name]*ent.Picture, error) {
	there := make(map[mediapath.Name]*ent.Picture, len(ids))
	for some := range slices.Chunk(ids, bulk) {
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

// namesOf reads paths, and returns the ids in them, sorted, each once.
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
