package shop

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// TypesWithoutIcon returns the keys of the types in [Catalogue] that have no icon, in order.
func (s *Service) TypesWithoutIcon(ctx context.Context) ([]string, error) {
	rows, err := s.db.ShopType.Query().Where(shoptype.IconURLIsNil()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shop types without icons: %w", err)
	}
	bare := map[string]bool{}
	for _, r := range rows {
		bare[r.Key] = true
	}
	var keys []string
	for _, k := range Catalogue() {
		if bare[k.Key] {
			keys = append(keys, k.Key)
		}
	}
	return keys, nil
}

// SetIcons sets the icons of types to uploaded images, by type key. It skips types that
// already have an icon.
func (s *Service) SetIcons(ctx context.Context, paths map[string]string) error {
	var ids []int64
	var job []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		ids = nil
		shown := map[int64]mediapath.Usage{}
		for key, path := range paths {
			row, err := tx.ShopType.Query().Where(shoptype.Key(key), shoptype.IconURLIsNil()).Only(ctx)
			if ent.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			if err := tx.ShopType.UpdateOne(row).SetIconURL(path).Exec(ctx); err != nil {
				return err
			}
			ids, shown[row.ID] = append(ids, row.ID), mediapath.Usage{By: mediapath.SeedEditor(), Paths: []string{path}}
		}
		if len(ids) == 0 {
			return nil
		}
		err := s.icons.SetUsed(ctx, tx, shown)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, typesChanged, ids...)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("set icons of %d shop types: %w", len(paths), err)
	}
	if len(ids) > 0 {
		s.outbox.Finish(ctx, s.InvalidateTypes(ctx, ids...), job...)
	}
	return nil
}
