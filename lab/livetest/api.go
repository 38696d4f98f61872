package livetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

// callTimeout limits a call. Without an answer after this time, the server is dead.
const callTimeout = time.Minute

// api sends requests to the servers of a world. It is safe for concurrent use.
type api struct {
	world *faulttest.World
	http  *http.Client
}

func newAPI(world *faulttest.World) *api {
	return &api{world, &http.Client{Timeout: callTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func (a *api) close() { a.http.CloseIdleConnections() }

// errRefused reports a refusal: the operation did not happen and never will.
var errRefused = errors.New("refused")

// payload is the payload of any mutation.
type payload struct {
	Note       *struct{ ID string }
	UserErrors []struct{ Code string }
}

type answer struct {
	Data struct {
		PublishNote, DeleteNote, Follow, Unfollow *payload

		Me *struct {
			Feed *struct{ LiveCursor string }
		}
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// call sends one request. After an error other than [errRefused], the result is unknown.
func (a *api) call(ctx context.Context, server int, as faulttest.Person, query string, variables map[string]any) (*answer, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.world.URL(server)+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+as.Token)
	res, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err != nil {
		return nil, err
	}
	var got answer
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("answer %d is not GraphQL: %.80q", res.StatusCode, text)
	}
	if len(got.Errors) > 0 {
		return nil, fmt.Errorf("%s: %s", got.Errors[0].Extensions.Code, got.Errors[0].Message)
	}
	for _, p := range []*payload{got.Data.PublishNote, got.Data.DeleteNote, got.Data.Follow, got.Data.Unfollow} {
		if p != nil && len(p.UserErrors) > 0 {
			return nil, fmt.Errorf("%w: %s", errRefused, p.UserErrors[0].Code)
		}
	}
	return &got, nil
}

// callUntilDone sends a request to one server after the other until it is answered. If ctx ends,
// it returns the last error.
func (a *api) callUntilDone(ctx context.Context, r *rand.Rand, as faulttest.Person, query string, variables map[string]any) (*answer, error) {
	for server := r.IntN(a.world.Servers()); ; server = (server + 1) % a.world.Servers() {
		got, err := a.call(ctx, server, as, query, variables)
		if err == nil || errors.Is(err, errRefused) {
			return got, err
		}
		if clock.Sleep(ctx, 50*time.Millisecond) != nil {
			return nil, err
		}
	}
}
