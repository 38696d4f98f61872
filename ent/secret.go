package ent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent/setting"
)

// Written by hand, unlike its neighbours.

// Secret returns the random secret in a setting. The first process creates it. It
// never changes and is the same for all processes.
func Secret(ctx context.Context, client *Client, name string) ([]byte, error) {
	row, err := client.Setting.Get(ctx, name)
	if IsNotFound(err) {
		made := make([]byte, sha256.Size)
		_, _ = rand.Read(made) // never fails
		// Ignore: DoNothing reports as an error that it inserted nothing.
		err = client.Setting.Create().SetID(name).SetValue(base64.RawURLEncoding.EncodeToString(made)).
			OnConflict(sql.ConflictColumns(setting.FieldID)).Ignore().Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("store secret %s: %w", name, err)
		}
		row, err = client.Setting.Get(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read secret %s: %w", name, err)
	}
	secret, err := base64.RawURLEncoding.DecodeString(row.Value)
	if err != nil || len(secret) < sha256.Size {
		return nil, fmt.Errorf("invalid secret %s: want %d bytes", name, sha256.Size)
	}
	return secret, nil
}
