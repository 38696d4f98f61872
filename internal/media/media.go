// Package media accepts pictures from users and from the program, stores them in a blob store,
// and serves them below /media.
//
// It decodes each upload and encodes it again, which drops locations, cameras, comments and all
// other metadata. The content determines the format, not the file name. To limit memory, it
// measures pictures before it decodes them, one at a time.
//
// A picture has a row and two files, one for the screen and a thumbnail. Its name contains a hash
// of its user and content (names.go). So the content of a name never changes, and can be cached
// forever. Repeated uploads by one user share a name. Only that user can show the picture, and only
// that user and admins can delete it (delete.go). Things record their pictures in the transaction
// that begins to show them ([Usages.SetUsed]). Pictures that are unused a day after their upload are
// deleted (orphans.go).
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
	readTimeout  = 2 * time.Second // of one read
	writeTimeout = 8 * time.Second // to store or delete a picture with its two files
)

// Config holds the dependencies and limits of a [Service]. Only PerHour is optional.
type Config struct {
	Blobs      blob.Store
	PerHour    int // uploads per user and hour; 0: no limit
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Service stores and serves pictures. It is safe for concurrent use.
type Service struct {
	db          *ent.Client
	outbox      *outbox.Box
	cfg         Config
	queues      userQueue
	attempts    uploadAttempts
	slot        chan struct{} // semaphore of the decoder
	now         func() time.Time
	slotTimeout time.Duration // maximum wait for slot
	uploads     *prometheus.CounterVec
	collected   prometheus.Counter

	secret   atomic.Pointer[[]byte] // key of names; nil until the first upload
	onDelete map[Kind]func(ctx context.Context, owner int64, path string) error
}

// Outcomes of uploads, for the metric.
const (
	uploadStored   = "stored"
	uploadRejected = "rejected"
	uploadBusy     = "busy"
	uploadFailed   = "failed"
)

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, outbox: box, cfg: cfg, slot: make(chan struct{}, 1), now: time.Now, slotTimeout: slotTimeout, onDelete: map[Kind]func(context.Context, int64, string) error{},
		uploads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_media_uploads_total", Help: "Uploaded pictures by outcome.",
		}, []string{"outcome"}),
		collected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_media_collected_total", Help: "Unused pictures that were deleted.",
		}),
	}
	for _, outcome := range []string{uploadStored, uploadRejected, uploadBusy, uploadFailed} {
		s.uploads.WithLabelValues(outcome)
	}
	cfg.Registerer.MustRegister(s.uploads, s.collected)
	s.openOutbox()
	return s
}

// Upload stores a picture of a user, of at most [MaxBytes], and returns it as it is served. The
// same picture of the same user returns the same result.
//
// It returns [apierror.UserErrors] with [mediapath.Rejected] for a file that is not a picture or
// too large, and with [quota.LimitReached] above the hourly limit. It returns an
// [apierror.Unavailable] error if the decoder is busy, the blob store fails, or the picture is
// deleted meanwhile. Any other error means that the file or the database failed.
func (s *Service) Upload(ctx context.Context, user int64, file io.ReadSeeker) (*mediapath.Image, error) {
	ctx, span := observe.Span(ctx, "media.Upload")
	defer span.End()
	if err := s.checkQuota(ctx, user); err != nil {
		return nil, err
	}
	leave, err := s.queues.enter(ctx, user)
	if err != nil {
		return nil, err
	}
	made, err := s.decode(ctx, file)
	leave()
	if err != nil {
		s.uploads.WithLabelValues(outcomeOf(err)).Inc()
		return nil, err
	}
	stored, err := s.store(ctx, &user, made)
	if err != nil {
		s.uploads.WithLabelValues(uploadFailed).Inc()
		return nil, err
	}
	s.uploads.WithLabelValues(uploadStored).Inc()
	return &stored[0], nil
}

// Save stores pictures that the program has drawn, and returns them in order.
func (s *Service) Save(ctx context.Context, drawn []image.Image) ([]mediapath.Image, error) {
	made, err := encodeAll(drawn)
	if err != nil {
		return nil, err
	}
	return s.store(ctx, nil, made...)
}
