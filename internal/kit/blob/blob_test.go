package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tandian-dev/tandian/internal/kit/blob"
)

// eachStore runs a test on a folder, and on a bucket of an S3-compatible server.
func eachStore(t *testing.T, test func(*testing.T, blob.Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { test(t, open(t, "file://"+t.TempDir()+"/new/folder")) })
	t.Run("bucket", func(t *testing.T) {
		test(t, open(t, "s3://pictures/some/where?region=eu-1&endpoint="+s3(t, "pictures")))
	})
}

func open(t *testing.T, rawURL string) blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// s3 starts a server with a bucket, and returns its URL.
func s3(t *testing.T, bucket string) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "something secret")
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return server.URL
}

func read(t *testing.T, s blob.Store, name string) string {
	t.Helper()
	f, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if f.Modified.IsZero() {
		t.Error("got no modification time")
	}
	return string(text)
}

func TestFilesAreReadUntilDeleted(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for range 2 { // writing again does no harm
			if err := s.Put(t.Context(), "ab-1.jpg", "image/jpeg", []byte("a picture")); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, s, "ab-1.jpg"); got != "a picture" {
			t.Errorf("got %q, want %q", got, "a picture")
		}
		if _, err := s.Get(t.Context(), "ab-2.jpg"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("other name: got %v, want ErrNotFound", err)
		}
		for range 2 {
			if err := s.Delete(t.Context(), "ab-1.jpg"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Get(t.Context(), "ab-1.jpg"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("after deletion: got %v, want ErrNotFound", err)
		}
	})
}

func TestFilesAreSeekable(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		if err := s.Put(t.Context(), "a", "text/plain", []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		f, err := s.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil || size != 10 {
			t.Fatalf("got %d bytes, %v, want 10", size, err)
		}
		if _, err := f.Seek(7, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(f); err != nil || string(rest) != "789" {
			t.Errorf("got %q, %v, want 789", rest, err)
		}
	})
}

func TestInvalidNamesAreRejected(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for _, name := range []string{"", ".", "..", "../a", "a/b", `a\b`, ".hidden", "-a", "a\x00", "a b", "ä", strings.Repeat("a", 201)} {
			_, err := s.Get(t.Context(), name)
			if err == nil || errors.Is(err, blob.ErrNotFound) {
				t.Errorf("get %q: got %v, want an invalid name", name, err)
			}
			if s.Put(t.Context(), name, "", nil) == nil || s.Delete(t.Context(), name) == nil {
				t.Errorf("put or delete %q: got nil, want an error", name)
			}
		}
	})
}

func TestFolderWritesAreAtomic(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	content := []byte(strings.Repeat("x", 1<<20))
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			if err := s.Put(context.Background(), "same", "", content); err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		f, err := s.Get(t.Context(), "same")
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, f)
		_ = f.Close()
		if n != 1<<20 || err != nil {
			t.Fatalf("got %d bytes, %v, want %d", n, err, 1<<20)
		}
	}
	writers.Wait()
	if left, err := filepath.Glob(dir + "/*/*"); err != nil || len(left) != 1 {
		t.Errorf("got files %v, %v", left, err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.MkdirAll(dir+"/ta/taken", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "taken", "", []byte("a")); err == nil {
		t.Error("got nil, want an error")
	}
	if left, err := filepath.Glob(dir + "/.drafts/*"); err != nil || len(left) != 0 {
		t.Errorf("got files %v, %v", left, err)
	}
}

func TestOldDraftsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	old, young := dir+"/.drafts/old", dir+"/.drafts/young"
	before := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(young, nil, 0o600), os.Chtimes(old, before, before)); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if left, err := filepath.Glob(dir + "/.drafts/*"); err != nil || len(left) != 1 || left[0] != young {
		t.Errorf("got %v, %v, want %s", left, err, young)
	}
}

func TestLinksCannotLeaveFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Mkdir(dir+"/se", 0o700), os.Symlink(outside, dir+"/se/secret")); err != nil {
		t.Fatal(err)
	}
	if f, err := open(t, dir).Get(t.Context(), "secret"); err == nil {
		_ = f.Close()
		t.Error("got the secret, want an error")
	}
}

func TestInvalidURLsAreRejected(t *testing.T) {
	server := s3(t, "pictures")
	for rawURL, want := range map[string]string{
		"":                                     "invalid folder: want file:///PATH",
		"file://host/a":                        "invalid folder: want file:///PATH",
		"file:///a?b=c":                        "invalid folder: want file:///PATH",
		"gs://bucket":                          `unknown scheme "gs"`,
		"%":                                    "invalid URL",
		"s3://":                                "invalid bucket: want s3://BUCKET",
		"s3://key:secret@pictures":             "keys must be in AWS_ACCESS_KEY_ID",
		"s3://pictures?acl=public":             `invalid parameter "acl"`,
		"s3://pictures?endpoint=ftp://x":       "invalid endpoint: want",
		"s3://pictures?endpoint=https://a:b@x": "invalid endpoint: want",
		"s3://others?region=eu-1&endpoint=" + server:   "bucket others not found",
		"s3://pictures?endpoint=http://127.0.0.1:1":    "check bucket pictures",
		fmt.Sprintf("file://%s/blob_test.go", here(t)): "create blob folder",
	} {
		_, err := blob.Open(t.Context(), rawURL)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want %q", rawURL, err, want)
		}
	}
}

func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
