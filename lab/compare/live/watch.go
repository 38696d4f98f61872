package live

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// watched is a connection that the server has closed.
type watched struct {
	full time.Time // when the last byte went into the buffers of the kernel
	gone time.Time
}

// established is the state of an open connection in /proc/net/tcp.
const established = "01"

// watch polls the server's side of a connection until it is closed. The client's side cannot detect
// that before it has read all pending data.
func watch(ctx context.Context, server string, client int) (w watched, err error) {
	addr, err := netip.ParseAddrPort(server)
	if err != nil {
		return w, fmt.Errorf("parse the server's address: %w", err)
	}
	queued := int64(-1)
	for {
		text, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			return w, fmt.Errorf("read the connections: %w", err)
		}
		now := time.Now()
		state, queue := connection(text, int(addr.Port()), client)
		if state != established {
			w.gone = now
			if w.full.IsZero() {
				w.full = now
			}
			return w, nil
		}
		if queue > queued {
			queued, w.full = queue, now
		}
		if err := clock.Sleep(ctx, eachLook); err != nil {
			return w, err
		}
	}
}

// connection returns the state of a connection, "" if there is none, and its unsent bytes. local
// and remote are ports in the form of the table.
func connection(table []byte, local, remote int) (state string, queue int64) {
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		if len(fields) < 5 || port(fields[1]) != local || port(fields[2]) != remote {
			continue
		}
		waiting, _, _ := bytes.Cut(fields[4], []byte(":"))
		queue, _ = strconv.ParseInt(string(waiting), 16, 64) // of the kernel's own making
		return string(fields[3]), queue
	}
	return "", 0
}

func port(addr []byte) int {
	_, hex, _ := bytes.Cut(addr, []byte(":"))
	n, err := strconv.ParseInt(string(hex), 16, 32)
	if err != nil {
		return -1 // the heading
	}
	return int(n)
}

func sleep(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, d) }
