package comment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestEachColumnIsReadIntoItsField(t *testing.T) {
	each(t, func(t *testing.T, s, _ *process) {
		ctx := t.Context()
		create := s.db.Comment.Create().SetID(6)
		storetest.FillRow(t, create.Mutation(), ent.Comment{}, entcomment.Columns)
		create.ExecX(ctx)
		row := s.db.Comment.GetX(ctx, 6)
		found, err := s.load(ctx, []int64{6})
		must(t, err)
		loaded := found[6]
		storetest.CheckRow(t, row, loaded, map[string]any{"CreatedAt": fromMilli(row.CreatedAt)})

		must(t, ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
			added, err := s.addCounts(ctx, tx, map[int64]int{6: 7}, nil)
			loaded.LikeCount, loaded.Version = loaded.LikeCount+7, loaded.Version+1
			if d := cmp.Diff([]*Comment{&loaded}, added); d != "" {
				t.Errorf("with more likes (-want +got)\n%s", d)
			}
			return err
		}))
	})
}
