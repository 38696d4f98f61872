// Package plan executes GraphQL queries from generated tables and leaves other operations to
// gqlgen.
//
// gqlgen's executor allocates a closure, a context and a list entry for each field of each object.
// For a page of twenty shops, that costs several times as much as reading them. A plan is compiled
// once per operation. It reads the response level by level: it calls a resolver once for all
// objects at one position, like a dataloader. Then it writes the response in the order of the query.
//
// A plan never returns an error to the client, so all errors come from gqlgen. gqlgen executes a
// query if a table lacks one of its fields or if it contains a directive such as @include. If a plan
// fails, gqlgen executes the query again. Resolvers use [Defer] for effects that must happen once,
// such as counting.
//
// # Use in another project
//
// Tables are generated. Package plangen is a gqlgen plugin that writes generated.Plans:
//
//	api.Generate(cfg, api.AddPlugin(plangen.Plugin{}))
//
// The server then uses the schema
//
//	plan.New(generated.NewExecutableSchema(cfg), generated.Plans(cfg), plan.Options{})
//
// in place of gqlgen's. Resolvers of fields with "batch: true" in gqlgen.yml are called once for
// all objects at a position, other resolvers once per object. In a plan, resolvers have no
// graphql.FieldContext.
package plan
