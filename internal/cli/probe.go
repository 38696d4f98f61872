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

// probeTimeout bounds a probe. The server waits at most a second for its database.
const probeTimeout = 2500 * time.Millisecond

var errNotReady = errors.New("not ready")

// probe checks whether the server at --addr on this machine is ready.
func (c *commands) probe(cmd *cobra.Command, _ []string) error {
	host, port, err := net.SplitHostPort(c.cfg.Addr)
	if err != nil {
		return cmdline.Refuse("--addr: %w", err)
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1" // every interface
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("probe %s: %w", c.cfg.Addr, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // ignores proxy variables
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("probe %s: %w", c.cfg.Addr, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 200))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.cfg.Addr, err)
	}
	answer := strings.TrimSpace(string(text))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errNotReady, answer)
	}
	_, err = fmt.Fprintln(c.stdout, answer)
	return err
}
