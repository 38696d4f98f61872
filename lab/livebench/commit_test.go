package livebench

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
)

// commits returns a client of a server that commits with publish. Both end with the test.
func commits(t *testing.T, publish func(ctx context.Context, title, content string) error) *CommitClient {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	server, err := ListenForCommits(t.Context(), path, publish)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	client := NewCommitClient(path)
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, client.Close()); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestNotesAreCommittedInParallelAndRepeatedly(t *testing.T) {
	const many = 5
	var together sync.WaitGroup
	client := commits(t, func(_ context.Context, title, content string) error {
		if title != "bench 1 2" || content != "茶" {
			t.Errorf("%q, %q", title, content)
		}
		together.Done()
		together.Wait() // all requests arrive before the first response
		return nil
	})
	for range 3 {
		together.Add(many)
		var group errgroup.Group
		for range many {
			group.Go(func() error { return client.Publish(t.Context(), "bench 1 2", "茶") })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(client.idle); n > many {
		t.Errorf("%d connections for %d at a time", n, many)
	}
}

func TestClientGetsTheCommitError(t *testing.T) {
	client := commits(t, func(_ context.Context, title, _ string) error {
		if title == "bad" {
			return errors.New("it is too short")
		}
		return nil
	})
	if err := client.Publish(t.Context(), "bad", ""); err == nil || !strings.Contains(err.Error(), "it is too short") {
		t.Errorf("got %v", err)
	}
	if err := client.Publish(t.Context(), "good", ""); err != nil {
		t.Errorf("behind it: %v", err)
	}
}

func TestCancelledClientDoesNotWaitForACommit(t *testing.T) {
	asked, giveUp := context.WithCancel(t.Context())
	client := commits(t, func(ctx context.Context, title, _ string) error {
		if title == "slow" {
			giveUp()
			<-ctx.Done()
		}
		return nil
	})
	if err := client.Publish(asked, "slow", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := client.Publish(t.Context(), "next", ""); err != nil {
		t.Errorf("behind it: %v", err)
	}
}

func TestMissingCommitServerIsAnError(t *testing.T) {
	if err := NewCommitClient(filepath.Join(t.TempDir(), "s")).Publish(t.Context(), "", ""); err == nil {
		t.Error("got none")
	}
}
