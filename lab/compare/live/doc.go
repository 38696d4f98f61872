// Package live compares Tandian's live feed with other solutions for a Go server: the library of
// Centrifugo, with and without recovery, and gqlgen's own transport. All send items of the same
// size to their subscribers, through Redis. Tandian's items are notes, which are stored in
// PostgreSQL before they are published. In the table committed the items of the others are stored
// too, by Tandian's author.
//
// Each server has its own process and CPU. The other CPU runs the author in another process, the
// stores, and a client that holds all sockets and checks every item: a missing or repeated item
// fails the measurement. The servers take turns in one run, so the ratios are meaningful.
package live
