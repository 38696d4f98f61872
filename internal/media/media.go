// Package media takes pictures from people, and from the program itself, keeps them in a
// blob store, and serves them below /media.
//
// Nothing of a file that was sent is kept but what it looks like. It is known by its
// content and not by its name; it is measured before it is decoded, and decoded one at a
// time, so that no picture takes more memory than there is; and it is encoded anew, which
// leaves out places, cameras, comments and whatever else a file may carry.
//
// A picture has a row and two files: one for the screen and a thumbnail. Its name has a hash
// of its user and content in it (names.go), so the content of a name never changes and may
// be cached forever. The same picture of the same user has the same name again. Only that
// user can show it, and delete it (delete.go). Things record the pictures that they show in
// the transaction in which they begin to ([Usages.Show]); what nothing shows for a day is
// collected (orphans.go).
package media

import (
	"context"
	"image"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

const (
	// readTimeout bounds one statement that looks.
	readTimeout = 2 * time.Second
	// writeTimeout bounds what stores a picture, its two files included.
	writeTimeout = 8 * time.Second
)

// Config holds the dependencies and limits of a Service. All but PerHour are required.
type Config struct {
	Blobs      blob.Store
	PerHour    int // pictures that a user may add in an hour; 0 for no limit
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Service answers for pictures. It is safe for concurrent use.
type Service struct {
	db      *ent.Client
	outbox  *outbox.Box
	cfg     Config
	turns   userQueue
	tries   uploadAttempts
	slot    chan struct{} // who has it decodes
	now     func() time.Time
	patient time.Duration // how long somebody waits for the slot
	uploads *prometheus.CounterVec
	gone    prometheus.Counter

	secret   atomic.Pointer[[]byte] // of names; nil until the first upload
	onDelete map[Kind]func(ctx context.Context, owner int64, path string) error
}

// What became of an upload, as a metric.
const (
	uploadStored   = "stored"
	uploadRejected = "rejected"
	uploadBusy     = "busy"
	uploadFailed   = "failed"
)

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, outbox: box, cfg: cfg, slot: make(chan struct{}, 1), now: time.Now, patient: slotPatience, onDelete: map[Kind]func(context.Context, int64, string) error{},
		uploads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_media_uploads_total", Help: "Pictures that were sent, by what became of them.",
		}, []string{"outcome"}),
		gone: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_media_collected_total", Help: "Pictures that nothing showed and that were deleted.",
		}),
	}
	for _, outcome := range []string{uploadStored, uploadRejected, uploadBusy, uploadFailed} {
		s.uploads.WithLabelValues(outcome)
	}
	cfg.Registerer.MustRegister(s.uploads, s.gone)
	s.openOutbox()
	return s
}

// Upload takes a picture of a user, of at most [MaxBytes], and returns it as it is served.
// The same picture of the same user is the same again.
//
// What is no picture, or a too large one, is a [fault.UserErrors] with
// [mediapath.Rejected]; so is one too many in an hour, with [quota.LimitReached]. If others keep
// the decoder busy it is a [fault.Unavailable]. Any other error means that the database or
// the blob store failed.
func (s *Service) Upload(ctx context.Context, user int64, file io.ReadSeeker) (*mediapath.Image, error) {
	ctx, span := observe.Span(ctx, "media.Upload")
	defer span.End()
	if err := s.mayAdd(ctx, user); err != nil {
		return nil, err
	}
	leave, err := s.turns.enter(ctx, user)
	if err != nil {
		return nil, err
	}
	made, err := s.decode(ctx, file)
	leave()
	if err != nil {
		s.uploads.WithLabelValues(outcomeOf(err)).Inc()
		return nil, err
	}
	kept, err := s.keep(ctx, &user, made)
	if err != nil {
		s.uploads.WithLabelValues(uploadFailed).Inc()
		return nil, err
	}
	s.uploads.WithLabelValues(uploadStored).Inc()
	return &kept[0], nil
}

// Save keeps pictures that the program has drawn, and returns them in their order.
func (s *Service) Save(ctx context.Context, drawn []image.Image) ([]mediapath.Image, error) {
	made, err := encodeAll(drawn)
	if err != nil {
		return nil, err
	}
	return s.keep(ctx, nil, made...)
}
