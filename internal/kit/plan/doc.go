// Package plan answers GraphQL queries of types that it knows, and leaves the others to
// gqlgen.
//
// gqlgen's executor asks for each field of each object by a closure, a context and an entry
// in a list, which costs a page of twenty shops ten times as much as reading them. A plan is
// made of an operation once. It reads a level of the answer at a time: of all objects that
// stand in one place, the children are asked for in one call, as a dataloader would. Then it
// writes the answer from left to right. Neighbouring fields that depend on nothing but their
// object are one run, whose bytes an object in memory keeps (see kept); what depends on who
// asks, or on other objects, is read each time and written in between.
//
// A plan never answers with an error. What it does not know (a directive, an interface, a
// field that is in no table), and whatever fails while it runs, is executed by gqlgen from
// the beginning, which says what is wrong. So there is one place that knows how errors look,
// and a query that fails is read twice: what a loader does besides reading goes through
// [After].
package plan
