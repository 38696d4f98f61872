// Package faulttest runs servers with a PostgreSQL and a Redis, injects faults while clients
// buy, and checks that nothing was lost.
//
// The checks compare both stores with the answers that clients received. The package knows
// the server only as a program and by its API, and imports no domain package. It implements
// its checks independently, so they share no mistake with the server.
package faulttest

// System is the deployment under test, as clients and checks see it.
type System interface {
	// Servers returns the number of servers.
	Servers() int
	// URL returns the base URL of a server. It stays the same when the server restarts.
	URL(server int) string
	// DatabaseURL returns the address of the database, without proxies: a postgres:// URL, or
	// sqlite:// and a file path. No process has the file open when the checks begin.
	DatabaseURL() string
	// RedisURL returns the address of Redis, without proxies. It is empty if Redis is
	// embedded in the server's process.
	RedisURL() string
	// People returns the accounts: first an administrator, then the merchant who owns the
	// shop, then customers.
	People() []Person
	// Shop returns the global id of the merchant's shop.
	Shop() string
}

// Person is an account with a session.
type Person struct {
	ID    string // global id of the user
	Token string
}
