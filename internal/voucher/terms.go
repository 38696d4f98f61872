package voucher

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/voucherterms"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Terms is one version of the texts and the value of a voucher. An order refers to the version
// at its insert.
type Terms struct {
	Title     string  `json:"title"`
	SubTitle  *string `json:"sub_title,omitempty"`
	Rules     *string `json:"rules,omitempty"`
	FaceValue int     `json:"face_value"` // minor units
}

// Terms returns the current terms of the voucher.
func (v *Voucher) Terms() *Terms {
	return &Terms{Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, FaceValue: v.FaceValue}
}

// TermsByIDs returns the versions that exist. Versions never change, so a cached one is always
// correct. If Redis is unavailable, it reads the rows.
func (s *Service) TermsByIDs(ctx context.Context, ids []int64) (map[int64]*Terms, error) {
	ctx, span := observe.Span(ctx, "voucher.TermsByIDs")
	defer span.End()
	found, err := s.terms.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d terms of vouchers: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) loadTerms(ctx context.Context, ids []int64) (map[int64]Terms, error) {
	rows, err := s.db.VoucherTerms.Query().Where(voucherterms.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d terms of vouchers: %w", len(ids), err)
	}
	found := make(map[int64]Terms, len(rows))
	for _, r := range rows {
		found[r.ID] = Terms{Title: r.Title, SubTitle: r.SubTitle, Rules: r.Rules, FaceValue: r.FaceValue}
	}
	return found, nil
}

func saveTerms(ctx context.Context, tx *ent.Tx, v *ent.Voucher) (int64, error) {
	row, err := tx.VoucherTerms.Create().SetTitle(v.Title).SetNillableSubTitle(v.SubTitle).SetNillableRules(v.Rules).
		SetFaceValue(v.FaceValue).Save(ctx)
	if err != nil {
		return 0, fmt.Errorf("insert terms: %w", err)
	}
	return row.ID, nil
}
