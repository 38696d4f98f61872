package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entdevice "github.com/tandian-dev/tandian/ent/device"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/e164"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

const (
	// DeviceLife is the lifetime of a known device after its last login.
	DeviceLife = 180 * day

	devicesPerUser = 20 // one more removes the device with the oldest login
	deviceSecret   = "account.device.secret"
)

// An Origin describes the client of a request.
type Origin struct {
	Network   string // an IPv4 address or an IPv6 /64, see clientaddr.Network; "" if unknown
	Device    string // device token of an earlier login, or ""
	UserAgent string
	Remembers bool // the client can store a device token
}

// A device is a row id and a generation. The zero value is an unknown device.
type device struct{ id, generation int64 }

// devices issues and checks device tokens. A token gives its client its own limits for
// the codes and passwords of one phone, so that other clients cannot exhaust them.
//
// A token is signed for a phone. It contains a row id and a generation. Each login
// raises the generation, which invalidates earlier tokens. A password change and
// [Service.EndOtherSessions] delete the rows of all other devices.
type devices struct {
	db       *ent.Client
	secret   atomic.Pointer[[]byte] // nil before LoadSecret: all devices are unknown
	failures *observe.FailureLog
	now      func() time.Time
}

// LoadSecret reads the secret that signs device tokens, or creates it. Call it before
// the first request: until then all devices are unknown.
func (s *Service) LoadSecret(ctx context.Context) error {
	secret, err := ent.Secret(ctx, s.db, deviceSecret)
	if err != nil {
		return fmt.Errorf("load device secret: %w", err)
	}
	s.devices.secret.Store(&secret)
	return nil
}

const devicePayload = 16 // bytes: id and generation

// token returns the token of a device for a phone, or "" for an unknown device.
func (d *devices) token(p Phone, of device) string {
	secret := d.secret.Load()
	if secret == nil || of.id == 0 {
		return ""
	}
	payload := make([]byte, devicePayload, devicePayload+sha256.Size)
	binary.BigEndian.PutUint64(payload, uint64(of.id))
	binary.BigEndian.PutUint64(payload[8:], uint64(of.generation))
	return base64.RawURLEncoding.EncodeToString(append(payload, sign(*secret, payload, p)...))
}

func sign(secret, payload []byte, p Phone) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write(append(append([]byte("device\x00"), payload...), p.E164()...)) // never fails
	return h.Sum(nil)
}

func (d *devices) parse(p Phone, token string) (of device, ok bool) {
	secret := d.secret.Load()
	if secret == nil || len(token) != base64.RawURLEncoding.EncodedLen(devicePayload+sha256.Size) {
		return device{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != devicePayload+sha256.Size || !hmac.Equal(raw[devicePayload:], sign(*secret, raw[:devicePayload], p)) {
		return device{}, false
	}
	return device{int64(binary.BigEndian.Uint64(raw)), int64(binary.BigEndian.Uint64(raw[8:]))}, true
}

// known returns the device of a token. An invalid or outdated token and a database error give an
// unknown device. Only a token with a valid signature costs a statement.
func (d *devices) known(ctx context.Context, p, legacy Phone, token string) device {
	of, ok := d.parse(p, token)
	if !ok {
		return device{}
	}
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	exists, err := d.db.Device.Query().Where(
		entdevice.ID(of.id), entdevice.Generation(of.generation), entdevice.UsedAtGT(d.now().Add(-DeviceLife).UTC()),
		entdevice.HasUserWith(entuser.PhoneIn(numbersOf(p, legacy)...)),
	).Exist(ctx)
	if err != nil {
		d.failures.Record(ctx, "device", err)
		return device{}
	}
	if !exists {
		return device{}
	}
	return of
}

// numbersOf returns the numbers under which the account of a phone may be stored.
func numbersOf(p, legacy Phone) []string {
	return append(e164.Spellings(p.E164()), p.E164(), legacy.E164())
}

// renew raises the generation of a user's known device, or adds a new device. The
// caller has locked the user's row.
func (d *devices) renew(ctx context.Context, tx *ent.Tx, user int64, was device) (device, error) {
	now := d.now().UTC()
	if was.id != 0 {
		n, err := tx.Device.Update().Where(entdevice.ID(was.id), entdevice.UserID(user), entdevice.Generation(was.generation)).
			AddGeneration(1).SetUsedAt(now).Save(ctx)
		if err != nil {
			return device{}, fmt.Errorf("update device: %w", err)
		}
		if n == 1 {
			return device{was.id, was.generation + 1}, nil
		}
	}
	row, err := tx.Device.Create().SetUserID(user).SetCreatedAt(now).SetUsedAt(now).Save(ctx)
	if err != nil {
		return device{}, fmt.Errorf("insert device: %w", err)
	}
	old, err := tx.Device.Query().Where(entdevice.UserID(user), entdevice.IDNEQ(row.ID)).
		Order(ent.Desc(entdevice.FieldUsedAt, entdevice.FieldID)).Offset(devicesPerUser - 1).Limit(endBatch).IDs(ctx)
	if err == nil && len(old) > 0 {
		_, err = tx.Device.Delete().Where(entdevice.IDIn(old...)).Exec(ctx)
	}
	if err != nil {
		return device{}, fmt.Errorf("delete old devices: %w", err)
	}
	return device{row.ID, row.Generation}, nil
}

func deleteDevices(ctx context.Context, tx *ent.Tx, user int64, except *int64) error {
	q := tx.Device.Delete().Where(entdevice.UserID(user))
	if except != nil {
		q.Where(entdevice.IDNEQ(*except))
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("delete devices: %w", err)
	}
	return nil
}

func (d *devices) purge(ctx context.Context) error {
	old := entdevice.UsedAtLTE(d.now().Add(-DeviceLife).UTC())
	for {
		ids, err := d.db.Device.Query().Where(old).Limit(endBatch).IDs(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := d.db.Device.Delete().Where(entdevice.IDIn(ids...), old).Exec(ctx); err != nil {
			return fmt.Errorf("delete %d devices: %w", len(ids), err)
		}
		if len(ids) < endBatch {
			return nil
		}
	}
}

func (s *Service) client(ctx context.Context, p, legacy Phone, from Origin) client {
	return client{network: from.Network, device: s.devices.known(ctx, p, legacy, from.Device)}
}
