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
	// DeviceLife is how long a device is known after its last login.
	DeviceLife = 180 * day

	devicesPerUser = 20 // one more forgets the one with the oldest login
	deviceSecret   = "account.device.secret"
)

// An Origin is the client of a request.
type Origin struct {
	Network   string // as door.Network returns it; "" if unknown
	Device    string // device token of an earlier login; "" for none
	UserAgent string
	Remembers bool // whether the client can keep a device token
}

// A device is a row of a known device at one generation. The zero value is unknown.
type device struct{ id, generation int64 }

// devices issues and checks device tokens. A token gives its client limits of its own
// for the codes and passwords of one phone, so that other clients cannot use these up.
//
// A token is signed for a phone and names a row with a generation. Each login raises
// the generation, which voids earlier tokens. A change of the password and
// [Service.EndOtherSessions] delete the rows of all other devices.
type devices struct {
	db       *ent.Client
	secret   atomic.Pointer[[]byte] // nil before LearnSecret: no device is known then
	failures *observe.FailureLog
	now      func() time.Time
}

// LearnSecret reads the secret that signs device tokens, or makes it. Call it before
// the first request: without it no device is known.
func (s *Service) LearnSecret(ctx context.Context) error {
	secret, err := ent.Secret(ctx, s.db, deviceSecret)
	if err != nil {
		return fmt.Errorf("learn device secret: %w", err)
	}
	s.devices.secret.Store(&secret)
	return nil
}

const devicePayload = 16 // bytes: id and generation

// token returns the token of a device for a phone, "" if there is none.
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

// sign binds a payload to a phone.
func sign(secret, payload []byte, p Phone) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write(append(append([]byte("device\x00"), payload...), p.E164()...)) // never fails
	return h.Sum(nil)
}

// parse returns the device of a token that was signed for a phone.
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

// known returns the device of a token if the phone's user still has it at that
// generation. Only a token with a valid signature costs a statement. If that fails, the
// device is unknown.
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
// user's row must be locked.
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

// deleteDevices deletes the devices of a user, except the one that may stay.
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

// purge deletes devices that have not signed in for long.
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

// client returns the client of a request about a phone.
func (s *Service) client(ctx context.Context, p, legacy Phone, from Origin) client {
	return client{network: from.Network, device: s.devices.known(ctx, p, legacy, from.Device)}
}
