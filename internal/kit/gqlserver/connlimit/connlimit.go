// Package connlimit limits the open connections of a listener, in total and per
// client network.
package connlimit

import (
	"net"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// Config limits the open connections of a listener. A limit of 0 or less means no
// limit.
type Config struct {
	PerAddress int                // connections per client network, see [clientaddr.Network]
	Total      int                // connections in total
	Trusted    clientaddr.Proxies // trusted proxies, which PerAddress does not limit

	Refused func() // called before an excess connection is closed; may be nil
}

// Listen returns a listener that accepts connections from inner. It closes excess
// connections at once instead of queueing them, so that one client cannot block
// others. A peer without an IP address, for example of a Unix socket, counts
// towards the total only.
//
// TCP connections have all methods of *net.TCPConn, for [net/http.Server].
func Listen(inner net.Listener, cfg Config) net.Listener {
	return &listener{
		Listener:  inner,
		cfg:       cfg,
		total:     quota.NewConnCounter(cfg.Total),
		byAddress: quota.NewConnCounter(cfg.PerAddress),
	}
}

type listener struct {
	net.Listener
	cfg              Config
	total, byAddress *quota.ConnCounter
}

// Accept waits for a connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		release, ok := l.acquire(conn.RemoteAddr())
		if !ok {
			l.refuse(conn)
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			return &limitedTCPConn{tcp, release}, nil
		}
		return &limitedConn{conn, release}, nil
	}
}

func (l *listener) acquire(remote net.Addr) (release func(), ok bool) {
	releaseTotal, ok := l.total.Acquire("")
	if !ok {
		return nil, false
	}
	tcp, known := remote.(*net.TCPAddr)
	if !known {
		return releaseTotal, true
	}
	addr := tcp.AddrPort().Addr()
	if l.cfg.Trusted.Contains(addr) {
		return releaseTotal, true
	}
	releaseAddress, ok := l.byAddress.Acquire(clientaddr.Network(addr).String())
	if !ok {
		releaseTotal()
		return nil, false
	}
	return func() { releaseAddress(); releaseTotal() }, true
}

func (l *listener) refuse(conn net.Conn) {
	if l.cfg.Refused != nil {
		l.cfg.Refused()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// A reset leaves nothing in the kernel: no unsent data, no TIME_WAIT. If
		// SetLinger fails, an ordinary close suffices.
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// limitedTCPConn has the methods that http.Server uses in addition to net.Conn.
// ReadFrom sends files without copying them. CloseWrite lets a response arrive
// when the request was not read completely.
type limitedTCPConn struct {
	*net.TCPConn
	release func()
}

func (c *limitedTCPConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
