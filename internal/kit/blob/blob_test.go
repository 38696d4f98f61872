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

// eachStore runs a test on a folder and on a bucket of an S3-compatible server.
func eachStore(t *testing.T, test func(*testing.T, blob.Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { test(t, open(t, "file://"+t.TempDir()+"/new/folder")) })
	t.Run("bucket", func(t *testing.T) {
		test(t, open(t, "s3://pictures/some/where?region=eu-1&endpoint="+s3(t, "pictures")))
	})
}

func open(t *testing.T, place string) blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// s3 starts a server with a bucket, and returns its URL.
func s3(t *testing.T, bucket string) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
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
		t.Error("nobody knows when it was written")
	}
	return string(text)
}

func TestAFileIsReadAsItWasWrittenUntilItIsDeleted(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for range 2 { // the second time does no harm
			if err := s.Put(t.Context(), "ab-1.jpg", "image/jpeg", []byte("a picture")); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, s, "ab-1.jpg"); got != "a picture" {
			t.Errorf("it is %q", got)
		}
		if _, err := s.Get(t.Context(), "ab-2.jpg"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("another one: %v", err)
		}
		for range 2 {
			if err := s.Delete(t.Context(), "ab-1.jpg"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Get(t.Context(), "ab-1.jpg"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestAFileIsReadFromAnyPlace(t *testing.T) {
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
			t.Fatalf("it has %d bytes, %v", size, err)
		}
		if _, err := f.Seek(7, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(f); err != nil || string(rest) != "789" {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

func TestOnlyNamesAreServed(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for _, name := range []string{"", ".", "..", "../a", "a/b", `a\b`, ".hidden", "-a", "a\x00", "a b", "ä", strings.Repeat("a", 201)} {
			_, err := s.Get(t.Context(), name)
			if err == nil || errors.Is(err, blob.ErrNotFound) {
				t.Errorf("%q is looked for: %v", name, err)
			}
			if s.Put(t.Context(), name, "", nil) == nil || s.Delete(t.Context(), name) == nil {
				t.Errorf("%q is written or deleted", name)
			}
		}
	})
}

func TestAFolderNeverShowsHalfAFile(t *testing.T) {
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
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	writers.Wait()
	if left, err := filepath.Glob(dir + "/*/*"); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestWhatCannotBeStoredIsSaidAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.MkdirAll(dir+"/ta/taken", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "taken", "", []byte("a")); err == nil {
		t.Error("a folder gave way")
	}
	if left, err := filepath.Glob(dir + "/.drafts/*"); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestDraftsOfTheDeadAreRemoved(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	old, young := dir+"/.drafts/old", dir+"/.drafts/young"
	before := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(young, nil, 0o600), os.Chtimes(old, before, before)); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if left, err := filepath.Glob(dir + "/.drafts/*"); err != nil || len(left) != 1 || left[0] != young {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestALinkDoesNotLeadOutOfAFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Mkdir(dir+"/se", 0o700), os.Symlink(outside, dir+"/se/secret")); err != nil {
		t.Fatal(err)
	}
	if f, err := open(t, dir).Get(t.Context(), "secret"); err == nil {
		_ = f.Close()
		t.Error("it is read")
	}
}

func TestAWrongPlaceIsRefusedInWords(t *testing.T) {
	server := s3(t, "pictures")
	for place, want := range map[string]string{
		"":                                     "a folder is file:///PATH",
		"file://host/a":                        "a folder is file:///PATH",
		"file:///a?b=c":                        "a folder is file:///PATH",
		"gs://bucket":                          "its scheme is gs",
		"%":                                    "it is no URL",
		"s3://":                                "a bucket is s3://BUCKET",
		"s3://key:secret@pictures":             "keys do not stand in the URL",
		"s3://pictures?acl=public":             `"acl" is neither`,
		"s3://pictures?endpoint=ftp://x":       "the endpoint is not like",
		"s3://pictures?endpoint=https://a:b@x": "the endpoint is not like",
		"s3://others?region=eu-1&endpoint=" + server:   "there is no bucket others",
		"s3://pictures?endpoint=http://127.0.0.1:1":    "look for the bucket pictures",
		fmt.Sprintf("file://%s/blob_test.go", here(t)): "make the folder of files",
	} {
		_, err := blob.Open(t.Context(), place)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", place, err, want)
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
