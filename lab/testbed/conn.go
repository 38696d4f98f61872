package testbed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// answerPatience limits one request, so that a hanging server does not hang the load.
const answerPatience = 20 * time.Second

// A Conn is one HTTP connection to a server, opened on first use. It is minimal, because it shares
// the machine with the measured server. It is not safe for concurrent use.
type Conn struct {
	Addr   string // of the server
	Status int    // HTTP status of the last answer

	conn net.Conn
	in   *bufio.Reader
	body []byte
}

// Close closes the connection. The next request opens it again.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is under way
		c.conn = nil
	}
}

// Ask sends a request and returns the body of the response, valid until the next request.
func (c *Conn) Ask(ctx context.Context, request []byte) (body []byte, err error) {
	if c.conn == nil {
		if c.conn, err = (&net.Dialer{Timeout: answerPatience}).DialContext(ctx, "tcp", c.Addr); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		c.in = bufio.NewReader(c.conn)
	}
	if err = c.conn.SetDeadline(time.Now().Add(answerPatience)); err == nil {
		if _, err = c.conn.Write(request); err == nil {
			err = c.read()
		}
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("send request: %w", err)
	}
	return c.body, nil
}

var (
	contentLength = []byte("Content-Length: ")
	closing       = []byte("Connection: close")
	errNoLength   = errors.New("response has no Content-Length")
	errNoStatus   = errors.New("response has no status")
)

// read reads one response with a Content-Length, as all responses of the server have.
func (c *Conn) read() error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if c.Status, err = statusOf(line); err != nil {
		return err
	}
	length, last := -1, false
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if text, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
		last = last || bytes.Equal(line, closing)
	}
	if length < 0 {
		return errNoLength
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.in, c.body)
	if last {
		c.Close()
	}
	return err
}

// statusOf reads the status from the first line of an answer: HTTP/1.1 200 OK.
func statusOf(line []byte) (int, error) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	status, err := strconv.Atoi(string(rest[:min(3, len(rest))]))
	if err != nil {
		return 0, fmt.Errorf("%w: %.100q", errNoStatus, line)
	}
	return status, nil
}
