// Package plan answers GraphQL queries from tables, and leaves the others to gqlgen.
//
// gqlgen's executor makes a closure, a context and an entry in a list for each field of each
// object. That costs a page of twenty shops several times as much as reading them. A plan is
// made once for an operation. It reads a level of the answer at a time: for all objects in
// one place it calls a resolver once, as a dataloader would. Then it writes the answer from
// left to right.
//
// A plan never answers with an error. gqlgen executes a query again from the beginning if a
// table does not have a field of it, if it contains a directive such as @include, or if
// anything fails in its plan. So errors are made in one place only. A query that fails is
// read twice: a resolver does through [Defer] what must happen once, such as counting.
//
// # Use in another project
//
// Tables are generated. Package plangen is a gqlgen plugin which writes generated.Plans:
//
//	api.Generate(cfg, api.AddPlugin(plangen.Plugin{}))
//
// The server then uses the schema
//
//	plan.New(generated.NewExecutableSchema(cfg), generated.Plans(cfg), plan.Options{})
//
// in place of gqlgen's. Resolvers of fields with "batch: true" in gqlgen.yml are called once
// for all objects in a place, other resolvers once for each. In a plan, resolvers have no
// graphql.FieldContext.
package plan
