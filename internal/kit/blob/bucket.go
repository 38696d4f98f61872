package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	opening = 10 * time.Second // for the bucket to answer at the start
	tries   = 3                // of one request
	aws     = "https://s3.amazonaws.com"
)

// A bucket is one of an S3-compatible store, or what there begins with a prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// checkBucket says what is wrong with the URL of a bucket.
func checkBucket(u *url.URL) error {
	if u.Host == "" {
		return errors.New("a bucket is s3://BUCKET")
	}
	for key, values := range u.Query() {
		if key != "endpoint" && key != "region" || len(values) != 1 {
			return fmt.Errorf("%.20q is neither endpoint nor region, once", key)
		}
	}
	_, err := endpointOf(u)
	return err
}

func endpointOf(u *url.URL) (*url.URL, error) {
	text := u.Query().Get("endpoint")
	if text == "" {
		text = aws
	}
	e, err := url.Parse(text)
	if err != nil || e.Scheme != "https" && e.Scheme != "http" || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" {
		return nil, errors.New("the endpoint is not like https://minio.example.com")
	}
	return e, nil
}

func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	endpoint, err := endpointOf(u)
	if err != nil {
		return nil, err
	}
	style := minio.BucketLookupPath // what runs elsewhere seldom has a host name for each bucket
	if endpoint.String() == aws {
		style = minio.BucketLookupAuto
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: endpoint.Scheme == "https", Region: u.Query().Get("region"), BucketLookup: style, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", u.Host, err)
	}
	b := &bucket{client: client, name: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	switch there, err := client.BucketExists(ctx, b.name); {
	case err != nil:
		return nil, fmt.Errorf("look for the bucket %s: %w: %w", b.name, ErrUnavailable, err)
	case !there:
		return nil, fmt.Errorf("there is no bucket %s", b.name)
	}
	return b, nil
}

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// Put implements [Store].
func (b *bucket) Put(ctx context.Context, name, contentType string, content []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{
		ContentType: contentType, DisableMultipart: true,
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	return nil
}

// Get implements [Store].
func (b *bucket) Get(ctx context.Context, name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	object, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	info, err := object.Stat() // the request itself
	if err == nil {
		return &File{object, info.LastModified}, nil
	}
	_ = object.Close()
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		return nil, ErrNotFound
	}
	return nil, fmt.Errorf("open %s: %w", name, err)
}

// Delete implements [Store].
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}
