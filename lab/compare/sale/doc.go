// Package sale sets the field's ways to sell what is limited beside those of
// Tandian, behind one interface and under one checker.
//
// An [Admitter] is one such way. [Figures] has each sell to the same callers on the
// same servers, in turns, and counts what was admitted and stored a second, and what
// that took. After each sale [Servers] compares what the callers were told with the
// rows: pieces that were sold twice, users who have two orders, orders that were
// promised and are not there, pieces that were kept from somebody who was told that
// none is left.
//
// [Wrong] does the same to ways that are taught and are wrong, in two processes,
// each interleaving forced step by step: that the checker finds there what theory
// says is why its zeros are to be believed.
package sale
