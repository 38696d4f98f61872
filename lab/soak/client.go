package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/lab/testbed"
)

const (
	requestPatience = 10 * time.Second // per request
	maxAnswer       = 4 << 20
)

// A client sends requests like the web app: persisted queries by hash.
type client struct {
	servers   []string // base URLs
	documents map[string]string
	http      *http.Client
}

// operation matches the operation name of a document.
var operation = regexp.MustCompile(`^(?:query|mutation|subscription) (\w+)`) //nolint:gochecknoglobals // a constant that Go cannot say

// newClient returns a client for the app's documents, by hash.
func newClient(servers []string, documents map[string]string) *client {
	c := &client{servers: servers, documents: map[string]string{}, http: &http.Client{
		Timeout: requestPatience,
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: requestPatience}).DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
		},
	}}
	for hash, text := range documents {
		if name := operation.FindStringSubmatch(text); name != nil {
			c.documents[name[1]] = hash
		}
	}
	return c
}

// A person is a user or an anonymous client.
type person struct {
	n       int    // determines the address and the server
	token   string // "" for an anonymous client
	id      string // global
	visitor string // the cookie
}

// address returns the person's address in a private network.
func (p person) address() string { return testbed.Address(p.n) }

// vars are the variables of a document.
type vars map[string]any

// ask sends one of the app's documents and decodes the data of the response into data. A GraphQL
// error is a failure with its code, even if there is data.
func (c *client) ask(ctx context.Context, who person, name string, variables vars, data any) error {
	hash, ok := c.documents[name]
	if !ok {
		return failure{"NO_DOCUMENT", name}
	}
	body, err := json.Marshal(map[string]any{
		"operationName": name, "variables": variables,
		"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}},
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	status, text, err := c.post(ctx, who, "/graphql", body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", name, err)
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Message    string `json:"message"`
			Extensions struct {
				Code string `json:"code"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return failure{fmt.Sprintf("HTTP_%d", status), name + ": response is not JSON"}
	}
	if len(answer.Errors) > 0 {
		e := answer.Errors[0]
		if e.Extensions.Code == "" {
			e.Extensions.Code = fmt.Sprintf("HTTP_%d", status)
		}
		return failure{e.Extensions.Code, name + ": " + e.Message}
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		return failure{"WRONG", fmt.Sprintf("%s: %v", name, err)}
	}
	return nil
}

// post sends JSON to a path of the person's server.
func (c *client) post(ctx context.Context, who person, path string, body []byte) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.servers[who.n%len(c.servers)]+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Mozilla/5.0 (soak)")
	req.Header.Set("X-Forwarded-For", who.address())
	if who.token != "" {
		req.Header.Set("Authorization", "Bearer "+who.token)
	}
	if who.visitor != "" {
		req.Header.Set("Cookie", who.visitor)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err //nolint:wrapcheck // it names the operation
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, text, err
}

// get reads a page of a server.
func (c *client) get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("make a request: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	defer func() { _ = res.Body.Close() }()
	var b strings.Builder
	if _, err := io.Copy(&b, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get %s: %d, %w", url, res.StatusCode, err)
	}
	return b.String(), nil
}
