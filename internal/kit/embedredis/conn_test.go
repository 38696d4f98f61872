package embedredis

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every test here runs in a synctest bubble: time is exact, and a Read that would wait forever
// fails the test.

func TestConnDeadlinesEndCalls(t *testing.T) {
	const full = 8
	start := func(c, s net.Conn) error {
		_, err := c.Write(make([]byte, full))
		_, err2 := s.Write([]byte("data"))
		return errors.Join(err, err2)
	}
	tests := []struct {
		name string
		do   func(c net.Conn) error
		took time.Duration
		want error
	}{
		{
			name: "read until the deadline",
			do: func(c net.Conn) error {
				drain(c)
				_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				return read(c)
			},
			took: 300 * time.Millisecond, want: os.ErrDeadlineExceeded,
		},
		{
			name: "read after the deadline with data",
			do: func(c net.Conn) error {
				_ = c.SetReadDeadline(time.Now().Add(-1))
				return read(c)
			},
			want: os.ErrDeadlineExceeded,
		},
		{
			name: "cleared deadline",
			do: func(c net.Conn) error {
				_ = c.SetReadDeadline(time.Now().Add(-1))
				_ = c.SetReadDeadline(time.Time{})
				return read(c)
			},
		},
		{
			name: "changed deadline during a read",
			do: func(c net.Conn) error {
				drain(c)
				_ = c.SetReadDeadline(time.Now().Add(time.Hour))
				time.AfterFunc(time.Second, func() { _ = c.SetReadDeadline(time.Now().Add(time.Second)) })
				return read(c)
			},
			took: 2 * time.Second, want: os.ErrDeadlineExceeded,
		},
		{
			name: "write until the deadline",
			do: func(c net.Conn) error {
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				_, err := c.Write([]byte("x"))
				return err
			},
			took: time.Second, want: os.ErrDeadlineExceeded,
		},
		{
			name: "SetDeadline sets both",
			do: func(c net.Conn) error {
				drain(c)
				_ = c.SetDeadline(time.Now().Add(time.Second))
				_, err := c.Write([]byte("x"))
				return errors.Join(err, read(c))
			},
			took: time.Second, want: os.ErrDeadlineExceeded,
		},
		{
			name: "close ends a waiting read",
			do: func(c net.Conn) error {
				drain(c)
				time.AfterFunc(time.Second, func() { c.Close() })
				return read(c)
			},
			took: time.Second, want: net.ErrClosed,
		},
		{
			name: "close ends a waiting write",
			do: func(c net.Conn) error {
				time.AfterFunc(time.Second, func() { c.Close() })
				_, err := c.Write([]byte("x"))
				return err
			},
			took: time.Second, want: net.ErrClosed,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newPipe(full, full, func() { t.Error("the client was disconnected") })
				if err := start(c, s); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err := tt.do(c)
				if !errors.Is(err, tt.want) {
					t.Errorf("error = %v, want %v", err, tt.want)
				}
				var timeout net.Error
				if isTimeout := errors.As(err, &timeout) && timeout.Timeout(); isTimeout != errors.Is(tt.want, os.ErrDeadlineExceeded) {
					t.Errorf("net.Error.Timeout() = %t for %v", isTimeout, err)
				}
				if diff := cmp.Diff(tt.took, time.Since(began)); diff != "" {
					t.Errorf("time taken (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestConnTransfersMoreThanItsBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := bytes.Repeat([]byte("0123456789"), 10_000)
		c, s := newPipe(64, 64, nil)
		go func() {
			if _, err := c.Write(want); err != nil {
				t.Error(err)
			}
			c.Close()
		}()
		got, err := io.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("bytes differ (-want +got):\n%s", diff)
		}
	})
}

func TestConnClosesLikeTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newPipe(64, 64, nil)
		if _, err := s.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		s.Close()
		got, err := io.ReadAll(c)
		if diff := cmp.Diff("last words", string(got)); diff != "" || err != nil {
			t.Errorf("after the peer closed: error %v, bytes (-want +got):\n%s", err, diff)
		}
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("a write to a closed peer succeeded")
		}
	})
}

func TestConnDisconnectsAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cuts := 0
		c, s := newPipe(64, 100, func() { cuts++ })
		if _, err := s.Write(make([]byte, 100)); err != nil {
			t.Fatalf("write up to the limit: %v", err)
		}
		if _, err := s.Write([]byte("x")); err == nil {
			t.Fatal("a write beyond the limit succeeded")
		}
		if diff := cmp.Diff(1, cuts); diff != "" {
			t.Errorf("disconnects (-want +got):\n%s", diff)
		}
		if err := read(c); !errors.Is(err, io.EOF) {
			t.Errorf("client read: got %v, want EOF", err)
		}
		if err := read(s); !errors.Is(err, io.EOF) {
			t.Errorf("server read: got %v, want EOF", err)
		}
	})
}

// read reads once and returns only the error.
func read(c net.Conn) error {
	_, err := c.Read(make([]byte, 16))
	return err
}

// drain reads the data that start wrote to the client.
func drain(c net.Conn) { _ = read(c) }
