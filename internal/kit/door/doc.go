// Package door is the public face of a gqlgen server: HTTP, server-sent events
// and WebSockets as their specifications want them, with limits on everything
// that a stranger can ask for.
//
// Stock gqlgen accepts bodies of any size, validates documents of any shape,
// keeps sockets that never read, and tells strangers what went wrong inside.
// This package replaces its transports, and what stands between them and the
// schema; extensions that intercept work as with gqlgen's own server. A [Server]
// is an http.Handler over any executable schema:
//
//	d, err := door.New(generated.NewExecutableSchema(…), door.Config{})
//	http.Handle("/graphql", d)
//
// What is cheap is checked before what is expensive: the connection, the rate,
// the headers, the size, the shape of the document, and only then is it
// validated, and only then run.
package door
