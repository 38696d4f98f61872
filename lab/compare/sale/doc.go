// Package sale compares common ways to sell limited stock with those of Tandian, behind one
// interface and under one checker.
//
// An [Admitter] is one such way. [Figures] runs each with the same callers on the same servers, in
// turns. It reports admitted and stored orders per second, and their cost. After each sale
// [Servers] compares the answers with the rows: it counts items sold twice, users with two orders,
// promised orders without a row, and refusals although stock is left.
//
// [Wrong] does the same to ways that are commonly taught and wrong, in two processes, and forces
// each interleaving step by step. The checker finds the errors there that theory predicts; that
// makes its zeros elsewhere credible.
package sale
