// Package blob stores files by name, in a folder or in a bucket of an S3-compatible store. Files
// are immutable: writing the same content again does no harm. A URL selects the store, see
// [Open].
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"time"
)

// ErrNotFound is returned if no file has the name.
var ErrNotFound = errors.New("file not found")

// ErrUnavailable is returned by [Open] if a bucket does not respond or denies access.
var ErrUnavailable = errors.New("blob store unavailable")

// A Store stores files. It is safe for concurrent use. Names consist of letters, digits, dots,
// dashes and underscores, begin with a letter or digit, and have at most 200 bytes. Methods
// return an error for other names.
type Store interface {
	// Put stores a file atomically.
	Put(ctx context.Context, name, contentType string, content []byte) error
	// Get opens a file, or returns [ErrNotFound]. The caller closes it.
	Get(ctx context.Context, name string) (*File, error)
	// Delete deletes a file. It returns nil if the file does not exist.
	Delete(ctx context.Context, name string) error
	// String returns the location, without secrets.
	String() string
}

// A File is open for reading. It is not safe for concurrent use.
type File struct {
	io.ReadSeekCloser
	Modified time.Time
}

// Open opens the store of a URL. It creates a missing folder, but no bucket. It returns
// [ErrUnavailable] if it cannot check a bucket within 10 seconds.
//
//	file:///var/lib/tandian/media    a folder; also a path without a scheme
//	s3://BUCKET/PREFIX?endpoint=https://minio.example.com&region=us-east-1
//
// The default endpoint is AWS. Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and
// AWS_SESSION_TOKEN), from the file that AWS_SHARED_CREDENTIALS_FILE names, or from the role of
// the machine. The URL must not contain keys.
func Open(ctx context.Context, rawURL string) (Store, error) {
	if err := CheckURL(rawURL); err != nil {
		return nil, err
	}
	u, _ := url.Parse(rawURL) // CheckURL parsed it
	if u.Scheme == "s3" {
		return openBucket(ctx, u)
	}
	return openFolder(u.Path)
}

// CheckURL returns an error if [Open] does not accept a URL. The error contains no secrets.
func CheckURL(rawURL string) error {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil: // its text contains the URL
		return errors.New("invalid URL")
	case u.User != nil:
		return errors.New("invalid URL: keys must be in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Scheme == "s3":
		return checkBucket(u)
	case u.Scheme != "" && u.Scheme != "file":
		return fmt.Errorf("unknown scheme %q (want file or s3)", u.Scheme)
	case u.Host != "" || u.Path == "" || u.RawQuery != "":
		return errors.New("invalid folder: want file:///PATH")
	}
	return nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`) //nolint:gochecknoglobals // a constant

func checkName(n string) error {
	if !validName.MatchString(n) {
		return fmt.Errorf("invalid file name %.40q", n)
	}
	return nil
}
