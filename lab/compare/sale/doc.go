// Package sale compares Tandian's flash sales with other strategies to sell limited stock, with one
// interface and one checker.
//
// An [Admitter] is one strategy. [Servers.Figures] runs each with the same callers on the same servers, in
// turns. It reports admitted and stored orders per second, and their cost. After each sale
// [Servers] compares the answers with the rows: it counts items sold twice, users with two orders,
// promised orders without a row, and refusals although stock is left.
//
// [Servers.Wrong] runs commonly taught strategies, correct and wrong, in two processes, and forces
// each interleaving step by step. The checker finds exactly the predicted errors, so its zeros
// elsewhere are credible.
package sale
