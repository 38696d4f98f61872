// Package faulttest runs whole servers, a PostgreSQL and a Redis, harms them in
// every way it knows while clients buy, and then proves from both stores and from
// what the clients were told that nothing was lost.
//
// It knows the server only as a program and by its API: it imports no room. Its
// checks are written anew, so that they do not share the mistakes of what they check.
package faulttest

// A Place is what clients and checks see of the servers of a run.
type Place interface {
	// Servers is how many there are.
	Servers() int
	// URL is where a server answers, without a path. It stays the same when the server
	// is started again.
	URL(server int) string
	// DatabaseURL is the address of the database, past all proxies: a postgres:// URL,
	// or sqlite:// and the path of a file, which nobody has open when checks begin.
	DatabaseURL() string
	// RedisURL is that of Redis, past all proxies; "" if it lived in the server's process.
	RedisURL() string
	// People are those who can sign in: first an administrator, then the merchant who
	// owns the shop, then customers.
	People() []Person
	// Shop is the global id of the merchant's shop.
	Shop() string
}

// A Person has an account and a session.
type Person struct {
	ID    string // global id of the user
	Token string
}
