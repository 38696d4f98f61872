// Package connlimit limits the open connections of a listener, in total and for
// each client network.
package connlimit

import (
	"net"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// Config says how many connections a listener keeps open. A number of
// no more than 0 is no limit.
type Config struct {
	PerAddress int                // of one client network, see [clientaddr.Network]
	Total      int                // of all together
	Trusted    clientaddr.Proxies // our own proxies, whom PerAddress does not count

	Refused func() // called for each connection that is closed at once, just before; may be nil
}

// Listen returns a listener that accepts from inner, and closes connections
// that are too many at once instead of letting them wait: others come in while
// one client knocks. Closing a connection frees its place. A peer without an IP
// address, of a Unix socket for example, counts for the total only.
//
// The connections are fit for http.Server: those over TCP can do all that a
// *net.TCPConn can.
func Listen(inner net.Listener, cfg Config) net.Listener {
	return &listener{
		Listener:  inner,
		cfg:       cfg,
		all:       quota.NewConnCounter(cfg.Total),
		byAddress: quota.NewConnCounter(cfg.PerAddress),
	}
}

type listener struct {
	net.Listener
	cfg            Config
	all, byAddress *quota.ConnCounter
}

// Accept waits for a connection for which there is a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, ok := l.enter(conn.RemoteAddr())
		if !ok {
			l.refuse(conn)
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			return &placedTCP{tcp, leave}, nil
		}
		return &placedConn{conn, leave}, nil
	}
}

func (l *listener) enter(remote net.Addr) (leave func(), ok bool) {
	leaveAll, ok := l.all.Acquire("")
	if !ok {
		return nil, false
	}
	tcp, known := remote.(*net.TCPAddr)
	if !known {
		return leaveAll, true
	}
	addr := tcp.AddrPort().Addr()
	if l.cfg.Trusted.Contains(addr) {
		return leaveAll, true
	}
	leaveAddress, ok := l.byAddress.Acquire(clientaddr.Network(addr).String())
	if !ok {
		leaveAll()
		return nil, false
	}
	return func() { leaveAddress(); leaveAll() }, true
}

func (l *listener) refuse(conn net.Conn) {
	if l.cfg.Refused != nil {
		l.cfg.Refused()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// A reset leaves nothing behind in the kernel: no unsent data, no TIME_WAIT.
		// If it can't be asked for, an ordinary close will do.
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// placedTCP keeps what http.Server looks for beyond net.Conn: ReadFrom sends
// files without copying them, and CloseWrite lets an answer arrive whose
// request was not read to its end.
type placedTCP struct {
	*net.TCPConn
	leave func()
}

func (c *placedTCP) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

type placedConn struct {
	net.Conn
	leave func()
}

func (c *placedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
