package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const uploadImage = `mutation U($file: Upload!) { uploadImage(file: $file) { image { url width height thumbnailUrl } userErrors { code message field } } }`

// uploaded is the result of an upload.
type uploaded struct {
	UploadImage struct {
		Image *struct {
			URL, ThumbnailURL string
			Width, Height     int
		}
		UserErrors []apptest.UserError
	}
}

// upload sends a file by a GraphQL multipart request.
func upload(t *testing.T, s *apptest.Server, filename string, file []byte) (made uploaded) {
	t.Helper()
	a := s.Upload(t, uploadImage, filename, file)
	if len(a.Errors) > 0 {
		t.Fatalf("%s: %+v", filename, a.Errors)
	}
	if err := json.Unmarshal(a.Data, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// uploadURL uploads a picture of a width and returns its URL.
func uploadURL(t *testing.T, s *apptest.Server, width int) string {
	t.Helper()
	got := upload(t, s, "a.png", pictureOf(width, 20))
	if got.UploadImage.Image == nil {
		t.Fatalf("rejected: %+v", got.UploadImage.UserErrors)
	}
	return got.UploadImage.Image.URL
}

func pictureOf(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(i*7) | 0x80
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// got is a response with its body.
type got struct {
	status int
	header http.Header
	body   []byte
}

func get(t *testing.T, url string) got {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{res.StatusCode, res.Header, body}
}

func TestPicturesAreUsedInNotesShopsAndProfiles(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		ann := s.As(m.customers[0].token)
		got := upload(t, ann, "../../etc/passwd.exe", pictureOf(2000, 1000)).UploadImage
		if got.Image == nil || got.Image.Width != 1600 || got.Image.Height != 800 || len(got.UserErrors) > 0 {
			t.Fatalf("got %+v", got)
		}
		for url, size := range map[string]image.Point{got.Image.URL: {X: 1600, Y: 800}, got.Image.ThumbnailURL: {X: 320, Y: 160}} {
			res := get(t, s.URL+url)
			c, err := jpeg.DecodeConfig(bytes.NewReader(res.body))
			if err != nil || (image.Point{X: c.Width, Y: c.Height}) != size {
				t.Errorf("%s: %v, %v", url, c, err)
			}
			if res.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || res.header.Get("X-Content-Type-Options") != "nosniff" || res.header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("%s: %v", url, res.header)
			}
		}
		var note struct {
			PublishNote struct {
				Note *struct {
					Images []struct {
						URL, ThumbnailURL string
						Width             int
					}
				}
				UserErrors []apptest.UserError
			}
		}
		publish := func(urls ...string) {
			t.Helper()
			note.PublishNote.Note = nil
			ann.Must(t, `mutation P($i: PublishNoteInput!) { publishNote(input: $i) { note { images { url thumbnailUrl width } } userErrors { code field } } }`,
				map[string]any{"i": map[string]any{"shopId": m.shop, "title": "A", "content": "A", "images": urls}}, &note)
		}
		publish(got.Image.URL)
		if n := note.PublishNote.Note; n == nil || len(n.Images) != 1 || n.Images[0].ThumbnailURL != got.Image.ThumbnailURL || n.Images[0].Width != 1600 {
			t.Errorf("got note %+v, %+v", n, note.PublishNote.UserErrors)
		}
		for _, url := range []string{"/media/a.webp", "https://example.com" + got.Image.URL, strings.Replace(got.Image.URL, ".jpg", ".png", 1), got.Image.ThumbnailURL} {
			publish(url)
			if e := note.PublishNote.UserErrors; len(e) != 1 || e[0].Code != "IMAGE_REJECTED" || strings.Join(e[0].Field, ".") != "input.images" {
				t.Errorf("a note of %s: %+v", url, e)
			}
		}
		var profile struct {
			UpdateProfile struct {
				User       *struct{ AvatarURL *string }
				UserErrors []apptest.UserError
			}
		}
		const update = `mutation P($i: UpdateProfileInput!) { updateProfile(input: $i) { user { avatarUrl } userErrors { code field } } }`
		ann.Must(t, update, map[string]any{"i": map[string]any{"avatarUrl": got.Image.URL}}, &profile)
		if u := profile.UpdateProfile.User; u == nil || u.AvatarURL == nil || *u.AvatarURL != got.Image.URL {
			t.Errorf("got profile %+v", profile.UpdateProfile)
		}
		ann.Must(t, update, map[string]any{"i": map[string]any{"avatarUrl": "/media/a.webp"}}, &profile)
		if e := profile.UpdateProfile.UserErrors; len(e) != 1 || e[0].Code != "IMAGE_REJECTED" {
			t.Errorf("an unknown avatar: %+v", e)
		}
		var shop shopAnswer
		s.As(m.owner.token).Must(t, updateShop, map[string]any{"input": map[string]any{"id": m.shop, "images": []string{uploadURL(t, s.As(m.owner.token), 30)}}}, &shop)
		if len(shop.UpdateShop.UserErrors) > 0 {
			t.Errorf("the shop: %+v", shop.UpdateShop.UserErrors)
		}
		s.As(m.owner.token).Must(t, updateShop, map[string]any{"input": map[string]any{"id": m.shop, "images": []string{"/media/a.webp"}}}, &shop)
		if e := shop.UpdateShop.UserErrors; len(e) != 1 || e[0].Code != "IMAGE_REJECTED" {
			t.Errorf("an unknown picture: %+v", e)
		}
	})
}

// The client sends no part of the file.
func TestAnonymousUploadIsRejectedBeforeReading(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(8 * time.Second)) // shorter than the body timeout of the server
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nGraphQL-Require-Preflight: 1\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), "UNAUTHENTICATED") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// testdata/hostile has invalid pictures, some of which are larger than declared or need too
// much memory. The first word of a file name is the expected result.
func TestHostilePicturesAreRejected(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	ann, _ := s.Login(t, "+99900000101")
	files, err := filepath.Glob("testdata/hostile/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		// The memory guard of decoders measures the growth of the process, so garbage of other
		// tests would hide their use.
		runtime.GC()
		got := upload(t, ann, name, content).UploadImage
		word, _, _ := strings.Cut(name, "-")
		switch {
		case word == "rejected" && (got.Image != nil || len(got.UserErrors) != 1 || got.UserErrors[0].Code != "IMAGE_REJECTED" || strings.Join(got.UserErrors[0].Field, ".") != "file"):
			t.Errorf("%s is not rejected: %+v", name, got)
		case word == "taken":
			if got.Image == nil {
				t.Errorf("%s is rejected: %+v", name, got.UserErrors)
				continue
			}
			for _, url := range []string{got.Image.URL, got.Image.ThumbnailURL} {
				body := get(t, s.URL+url).body
				if _, _, err := image.DecodeConfig(bytes.NewReader(body)); err != nil {
					t.Errorf("%s: the server returns an invalid picture: %v", name, err)
				}
				for _, rest := range []string{"<script", "PK\x03\x04", "Exif", "GPS", "<?php"} {
					if bytes.Contains(body, []byte(rest)) {
						t.Errorf("%s: %q is stored", name, rest)
					}
				}
			}
		case word != "rejected":
			t.Errorf("%s has no expected result", name)
		}
	}
}

func TestPicturesAreStoredInABucket(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("pictures"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	defer bucket.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "unknown")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "unknown")
	stack := apptest.Real(t)
	stack.Config.MediaURL = "s3://pictures/town?region=eu-1&endpoint=" + bucket.URL
	a, b := stack.Start(t), stack.Start(t)
	ann, _ := a.Login(t, "+99900000102")
	url := uploadURL(t, ann, 40)
	if res := get(t, b.URL+url); res.status != http.StatusOK || len(res.body) == 0 {
		t.Fatalf("another instance: got %d", res.status)
	}
	if _, err := os.Stat(filepath.Join(stack.Config.DataDir, "media")); err == nil {
		t.Error("pictures are in a folder, too")
	}
	bucket.Close()
	if res := get(t, b.URL+url); res.status != http.StatusServiceUnavailable || res.header.Get("Cache-Control") != "no-store" {
		t.Errorf("without the bucket: %d, %v", res.status, res.header)
	}
	if got := ann.Upload(t, uploadImage, "a.png", pictureOf(41, 20)); len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "UNAVAILABLE" {
		t.Errorf("an upload without the bucket: %+v", got.Errors)
	}
}

func TestDemoTownHasPictures(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	stack.Config.DemoPictures = true
	s := stack.Start(t)
	var seen struct {
		ShopTypes []struct{ IconURL *string }
		Shops     struct {
			Edges []struct {
				Node struct {
					Images []struct{ URL, ThumbnailURL string }
				}
			}
		}
		HotNotes struct {
			Edges []struct {
				Node struct {
					Images []struct{ URL string }
					Author struct{ AvatarURL *string }
				}
			}
		}
	}
	s.Must(t, `{ shopTypes { iconUrl } shops(first: 50) { edges { node { images { url thumbnailUrl } } } } hotNotes(first: 50) { edges { node { images { url } author { avatarUrl } } } } }`, nil, &seen)
	urls := map[string]bool{}
	for _, typ := range seen.ShopTypes {
		if typ.IconURL == nil {
			t.Fatal("a type has no icon")
		}
		urls[*typ.IconURL] = true
	}
	if len(urls) != len(seen.ShopTypes) {
		t.Errorf("%d types have %d icons", len(seen.ShopTypes), len(urls))
	}
	shops, notes, faces := 0, 0, 0
	for _, e := range seen.Shops.Edges {
		for _, i := range e.Node.Images {
			urls[i.URL], urls[i.ThumbnailURL] = true, true
			shops++
		}
	}
	for _, e := range seen.HotNotes.Edges {
		for _, i := range e.Node.Images {
			urls[i.URL] = true
			notes++
		}
		if url := e.Node.Author.AvatarURL; url != nil {
			urls[*url] = true
			faces++
		}
	}
	if shops < len(seen.Shops.Edges) || notes == 0 || faces == 0 {
		t.Errorf("got %d shops with %d pictures, %d pictures of notes, %d of authors", len(seen.Shops.Edges), shops, notes, faces)
	}
	for url := range urls {
		if res := get(t, s.URL+url); res.status != http.StatusOK {
			t.Errorf("%s: got %d", url, res.status)
		}
	}
}

// After two concurrent changes of an avatar, only the final picture is recorded as used.
func TestAvatarUsageIsRecorded(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	m := openMarket(t, stack, 1)
	s := stack.Start(t)
	ann := s.As(m.customers[0].token)
	x, y := uploadURL(t, ann, 30), uploadURL(t, ann, 31)
	set := func(url string) {
		a := ann.Do(t, `mutation P($i: UpdateProfileInput!) { updateProfile(input: $i) { userErrors { code } } }`, map[string]any{"i": map[string]any{"avatarUrl": url}}, nil)
		if len(a.Errors) > 0 {
			t.Errorf("%+v", a.Errors)
		}
	}
	scans, err := s.Components().Scans().ByName("picture-uses")
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		set(x)
		var both sync.WaitGroup
		for _, url := range []string{y, x} {
			both.Go(func() { set(url) })
		}
		both.Wait()
		found, err := s.Components().Scans().RunOnce(t.Context(), scans[0], reconcile.Options{DryRun: true, Rate: -1})
		if err != nil || found.Found > 0 {
			t.Fatalf("%v, %v", found.Lines, err)
		}
	}
}

// One of them is in the format of an earlier release.
func TestShopMayResendItsPictures(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		owner := s.As(m.owner.token)
		const old = "/media/2025/old.webp"
		if _, err := s.Components().DB.ExecContext(t.Context(), `UPDATE shops SET images = $1, version = version + 1`, `[{"url": "`+old+`", "width": 7}]`); err != nil {
			t.Fatal(err)
		}
		fresh := uploadURL(t, owner, 30)
		var shop shopAnswer
		owner.Must(t, updateShop, map[string]any{"input": map[string]any{"id": m.shop, "images": []string{fresh, old}}}, &shop)
		want := []any{map[string]any{"url": fresh}, map[string]any{"url": old}}
		if d := gocmp.Diff(want, shop.UpdateShop.Shop["images"]); d != "" || len(shop.UpdateShop.UserErrors) > 0 {
			t.Errorf("%+v\n%s", shop.UpdateShop.UserErrors, d)
		}
		owner.Must(t, updateShop, map[string]any{"input": map[string]any{"id": m.shop, "images": []string{"/media/2025/other.webp"}}}, &shop)
		if e := shop.UpdateShop.UserErrors; len(e) != 1 || e[0].Code != "IMAGE_REJECTED" {
			t.Errorf("an unknown picture: %+v", e)
		}
	})
}
