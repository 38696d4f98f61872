package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

// probeTimeout is how long a server has to say whether it is ready; it asks its database
// for a second at most.
const probeTimeout = 2500 * time.Millisecond

// errNotReady says that a server answers, and is not ready.
var errNotReady = errors.New("not ready")

// probe asks the server at --addr, on this machine, whether it is ready: an image without
// a shell has nothing else to do so with.
func (c *commands) probe(cmd *cobra.Command, _ []string) error {
	host, port, err := net.SplitHostPort(c.cfg.Addr)
	if err != nil {
		return cmdline.Refuse("--addr: %w", err)
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1" // it listens on every interface
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.cfg.Addr, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // of no proxy that the environment names
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.cfg.Addr, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 200))
	if err != nil {
		return fmt.Errorf("read what %s answers: %w", c.cfg.Addr, err)
	}
	said := strings.TrimSpace(string(text))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errNotReady, said)
	}
	_, err = fmt.Fprintln(c.stdout, said)
	return err
}
