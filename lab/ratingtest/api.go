package ratingtest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

//go:embed graphql sql
var files embed.FS

// statement returns an embedded statement.
func statement(name string) string { return sqldb.Statement(file("sql/" + name + ".sql")) }

// document returns an embedded document, without its header comment.
func document(name string) string {
	_, rest, _ := strings.Cut(file("graphql/"+name+".graphql"), "\n")
	return rest
}

func file(path string) string {
	text, err := files.ReadFile(path)
	if err != nil {
		panic(err) // callers name existing files
	}
	return string(text)
}

const (
	// callTimeout limits a call. Without an answer after this time, the server is dead.
	callTimeout = time.Minute
	maxAnswer   = 8 << 20
)

// vars are the variables of a document.
type vars = map[string]any

// api sends requests to the servers of a world. It is safe for concurrent use.
type api struct {
	world *faulttest.World
	http  *http.Client
}

func newAPI(world *faulttest.World) *api {
	return &api{world, &http.Client{Timeout: callTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
}

func (a *api) close() { a.http.CloseIdleConnections() }

// call sends a request and decodes the data of its answer. After an error, the outcome of a
// mutation is unknown.
func (a *api) call(ctx context.Context, server int, as faulttest.Person, name string, variables vars, data any) error {
	body, err := json.Marshal(vars{"query": document(name), "variables": variables})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.world.URL(server)+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+as.Token)
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer %d is not GraphQL: %.80q", res.StatusCode, text)
	}
	if len(answer.Errors) > 0 {
		return fmt.Errorf("%s: %s", name, answer.Errors[0].Message)
	}
	return json.Unmarshal(answer.Data, data)
}

// payload is the payload of any mutation.
type payload struct {
	Shop       *struct{ ID string }
	Voucher    *struct{ ID string }
	Order      *struct{ ID, Status string }
	Rating     *value
	UserErrors []struct{ Code, Message string }
}

// errRefused reports a refusal: the operation did not happen and never will.
var errRefused = errors.New("refused")

// change sends a mutation, whose answer has one field.
func (a *api) change(ctx context.Context, server int, as faulttest.Person, name string, variables vars) (*payload, error) {
	var data map[string]*payload
	if err := a.call(ctx, server, as, name, variables, &data); err != nil {
		return nil, err
	}
	for _, p := range data {
		if p == nil {
			break
		}
		if len(p.UserErrors) > 0 {
			return nil, fmt.Errorf("%w: %s: %s", errRefused, name, p.UserErrors[0].Code)
		}
		return p, nil
	}
	return nil, fmt.Errorf("%s: no payload", name)
}
