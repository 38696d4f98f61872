package testkit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreePort returns a loopback port that was free during the call. It is below the ephemeral range,
// so no outgoing connection takes it.
func FreePort(tb testing.TB) string {
	tb.Helper()
	ports, err := freePorts(tb.Context(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return ports[0]
}

// freePorts is [FreePort] for n different ports.
func freePorts(ctx context.Context, n int) (ports []string, err error) {
	for tries := 0; len(ports) < n; tries++ {
		port := strconv.Itoa(20_000 + rand.IntN(12_000)) //nolint:gosec // no secret
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			defer func() { _ = l.Close() }() // open until the return, so that all ports differ
			ports = append(ports, port)
		} else if tries > 1000 {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return ports, nil
}
