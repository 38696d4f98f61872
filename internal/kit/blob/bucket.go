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
	openTimeout = 10 * time.Second // limit of the first request
	maxRetries  = 3                // per request
	awsEndpoint = "https://s3.amazonaws.com"
)

// A bucket is a Store in a bucket of an S3-compatible server, optionally below a prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// checkBucket checks the URL of a bucket.
func checkBucket(u *url.URL) error {
	if u.Host == "" {
		return errors.New("invalid bucket: want s3://BUCKET")
	}
	for key, values := range u.Query() {
		if key != "endpoint" && key != "region" || len(values) != 1 {
			return fmt.Errorf("invalid parameter %.20q: want endpoint or region, once each", key)
		}
	}
	_, err := endpointOf(u)
	return err
}

func endpointOf(u *url.URL) (*url.URL, error) {
	text := u.Query().Get("endpoint")
	if text == "" {
		text = awsEndpoint
	}
	e, err := url.Parse(text)
	if err != nil || e.Scheme != "https" && e.Scheme != "http" || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" {
		return nil, errors.New("invalid endpoint: want a URL like https://minio.example.com")
	}
	return e, nil
}

func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	endpoint, err := endpointOf(u)
	if err != nil {
		return nil, err
	}
	style := minio.BucketLookupPath // other servers rarely have a host name per bucket
	if endpoint.String() == awsEndpoint {
		style = minio.BucketLookupAuto
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: endpoint.Scheme == "https", Region: u.Query().Get("region"), BucketLookup: style, MaxRetries: maxRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Host, err)
	}
	b := &bucket{client: client, name: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	switch exists, err := client.BucketExists(ctx, b.name); {
	case err != nil:
		return nil, fmt.Errorf("check bucket %s: %w: %w", b.name, ErrUnavailable, err)
	case !exists:
		return nil, fmt.Errorf("bucket %s not found", b.name)
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
	info, err := object.Stat() // sends the request
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
