package shop

import (
	"sync"
	"time"
	_ "time/tzdata" // for machines without time zones, such as slim images and Windows
)

// zones caches time zones by name, because loading one reads a file.
type zones struct {
	server *time.Location // of shops without a time zone

	mu    sync.Mutex
	known map[string]*time.Location
}

// newZones returns the zones of a server. The zone of the machine has no IANA name, so UTC
// replaces it.
func newZones(server *time.Location) *zones {
	if server == nil || server == time.Local {
		server = time.UTC
	}
	return &zones{server: server, known: map[string]*time.Location{}}
}

// location returns the zone with a name. For an unknown name, which edits and imports
// reject, it returns the zone of the server.
func (z *zones) location(name string) *time.Location {
	if name == "" {
		return z.server
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if l := z.known[name]; l != nil {
		return l
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		l = z.server
	}
	z.known[name] = l
	return l
}
