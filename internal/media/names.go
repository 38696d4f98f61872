package media

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/setting"
)

// secretSetting is the row of the secret key for names of uploads.
const secretSetting = "media.names"

// hashes returns the hashes in the names of pictures. Those of uploads are HMACs with the user:
// an upload of another user's picture reveals nothing about it, and its name cannot be computed.
func (s *Service) hashes(ctx context.Context, uploader *int64, made []encoded) ([]string, error) {
	names := make([]string, len(made))
	if uploader == nil {
		for i, e := range made {
			names[i] = e.hash()
		}
		return names, nil
	}
	secret, err := s.nameSecret(ctx)
	if err != nil {
		return nil, err
	}
	for i, e := range made {
		h := hmac.New(sha256.New, secret)
		_, _ = h.Write([]byte(strconv.FormatInt(*uploader, 10) + "\x00" + e.hash())) // never fails
		names[i] = hex.EncodeToString(h.Sum(nil)[:hashBytes])
	}
	return names, nil
}

// nameSecret returns the secret, and creates it at the first upload.
func (s *Service) nameSecret(ctx context.Context) ([]byte, error) {
	if known := s.secret.Load(); known != nil {
		return *known, nil
	}
	row, err := s.db.Setting.Get(ctx, secretSetting)
	if ent.IsNotFound(err) {
		made := make([]byte, sha256.Size)
		_, _ = rand.Read(made) // never fails
		// Ignore instead of DoNothing, which returns an error if it inserts nothing.
		err = s.db.Setting.Create().SetID(secretSetting).SetValue(base64.RawURLEncoding.EncodeToString(made)).
			OnConflict(entsql.ConflictColumns(setting.FieldID)).Ignore().Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("store secret of picture names: %w", err)
		}
		row, err = s.db.Setting.Get(ctx, secretSetting)
	}
	if err != nil {
		return nil, fmt.Errorf("read secret of picture names: %w", err)
	}
	secret, err := base64.RawURLEncoding.DecodeString(row.Value)
	if err != nil || len(secret) < sha256.Size {
		return nil, fmt.Errorf("invalid setting %s: want %d bytes in base64", secretSetting, sha256.Size)
	}
	s.secret.Store(&secret)
	return secret, nil
}
