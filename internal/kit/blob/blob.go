// Package blob keeps files under names: in a folder, or in a bucket of an S3-compatible
// store. A file is written once and never changed; to write the same again does no harm.
// Which of the two it is says a URL, see [Open].
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

// ErrNotFound says that there is no file of a name.
var ErrNotFound = errors.New("there is no such file")

// ErrUnavailable says that a store does not answer now.
var ErrUnavailable = errors.New("the blob store does not answer")

// A Store keeps files. It is safe for concurrent use. Names are letters, digits, dots,
// dashes and underscores, and begin with a letter or a digit: what is not is refused.
type Store interface {
	// Put stores a file, whole or not at all.
	Put(ctx context.Context, name, contentType string, content []byte) error
	// Get opens a file, or returns [ErrNotFound]. The caller closes it.
	Get(ctx context.Context, name string) (*File, error)
	// Delete deletes a file. That there is none is no error.
	Delete(ctx context.Context, name string) error
	// String is where that is, without secrets.
	String() string
}

// A File is open for reading. It is used by one goroutine.
type File struct {
	io.ReadSeekCloser
	Modified time.Time
}

// Open opens the store that a URL names. It creates a folder, but no bucket. A
// bucket that cannot be asked now is [ErrUnavailable].
//
//	file:///var/lib/tandian/media    a folder; also a path without a scheme
//	s3://BUCKET/PREFIX?endpoint=https://minio.example.com&region=us-east-1
//
// Without an endpoint it is that of AWS. Keys come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), from the file that AWS_SHARED_CREDENTIALS_FILE names, or
// from the role of the machine, and never from the URL.
func Open(ctx context.Context, place string) (Store, error) {
	if err := CheckURL(place); err != nil {
		return nil, err
	}
	u, _ := url.Parse(place) // it was checked
	if u.Scheme == "s3" {
		return openBucket(ctx, u)
	}
	return openFolder(u.Path)
}

// CheckURL says what is wrong with a URL.
func CheckURL(place string) error {
	u, err := url.Parse(place)
	switch {
	case err != nil: // its text shows the URL
		return errors.New("it is no URL")
	case u.User != nil:
		return errors.New("keys do not stand in the URL, but in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Scheme == "s3":
		return checkBucket(u)
	case u.Scheme != "" && u.Scheme != "file":
		return fmt.Errorf("its scheme is %s, and neither file nor s3", u.Scheme)
	case u.Host != "" || u.Path == "" || u.RawQuery != "":
		return errors.New("a folder is file:///PATH")
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`) //nolint:gochecknoglobals // a constant that Go cannot say

func checkName(n string) error {
	if !name.MatchString(n) {
		return fmt.Errorf("%.40q is no name of a file", n)
	}
	return nil
}
