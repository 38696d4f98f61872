// Package live sets Tandian's live feed beside what else a Go server could use for it:
// the library of Centrifugo, with and without recovery, and gqlgen's own transport. All
// tell their subscribers of items of the same size that reach them through Redis.
// Tandian's items are notes, which are in PostgreSQL before anybody is told; in the table
// committed the others' are too, committed for them by Tandian's author.
//
// Each server is a process of its own on a processor of its own. On the other one are
// the author, in another process, the stores, and a client that holds all sockets and
// checks every item: one that is missing or comes twice fails the measurement. They take
// turns in one run, so what is to be believed are the ratios.
package live
