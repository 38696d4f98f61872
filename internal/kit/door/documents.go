package door

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/core"
)

// documents is the gqlgen extension that knows documents: those that clients
// name by a hash (automatic persisted queries, as Apollo's clients and urql
// send them), those that were found valid before, and what is too much about a
// new one.
//
// It parses, measures and validates before gqlgen would, and hands the document
// over by the operation context, from where [handedOver] takes it: so each
// document is parsed once, and what is expensive comes last.
type documents struct {
	es            graphql.ExecutableSchema
	schema        *ast.Schema
	limits        Limits
	introspection bool
	once          map[string]bool
	rules         []core.Rule
	valid         *otter.Cache[string, *document] // by text
	persisted     *otter.Cache[string, string]    // texts by SHA-256, in hex
	trusted       trusted
	texts         *texts // of valid documents
	metrics       *metrics

	aboutSchema *introspectionCosts
	weighed     map[fieldName]bool // fields whose points are a function of their arguments
	reading     *places            // new documents at once, one of each caller
}

// A document was found valid. All requests share it, so nobody may change it;
// those that run for long keep its text and not their own.
type document struct {
	text  string
	tree  *ast.QueryDocument
	nodes int     // of the tree
	costs []*cost // of its operations
}

// What is kept of a document is taken to cost so many bytes, beside its text. A
// text that is not read yet may have a node for each two of its bytes.
const (
	nodeBytes  = 300
	entryBytes = 1024
	worstTree  = nodeBytes / 2
)

func (doc *document) bytes() int {
	n := len(doc.text) + doc.nodes*nodeBytes + entryBytes
	for _, c := range doc.costs {
		n += c.bytes()
	}
	return n
}

// cost is that of one of its operations.
func (doc *document) cost(of *ast.OperationDefinition) *cost {
	return doc.costs[slices.Index(doc.tree.Operations, of)]
}

func newDocuments(es graphql.ExecutableSchema, cfg *Config, m *metrics, t *texts) (*documents, error) {
	d := &documents{
		es: es, schema: WithoutDefer(es.Schema()), limits: cfg.Limits, introspection: cfg.Introspection, once: map[string]bool{},
		rules: ruleSet(cfg.Introspection), metrics: m, texts: t, weighed: weighedFields(es), reading: newPlaces(2*runtime.GOMAXPROCS(0), 1),
	}
	for _, name := range cfg.Once {
		d.once[name] = true
	}
	var err error
	if d.aboutSchema, err = newIntrospectionCosts(d.schema); err != nil {
		return nil, err
	}
	if d.valid, err = bounded(cfg.Limits.DocumentCache, func(_ string, doc *document) int { return doc.bytes() }); err != nil {
		return nil, err
	}
	if d.persisted, err = bounded(cfg.Limits.PersistedCache, func(hash, text string) int { return len(hash) + len(text) + entryBytes }); err != nil {
		return nil, err
	}
	d.trusted, err = d.trust(cfg.Documents)
	return d, err
}

// WithoutDefer returns a copy of a schema that does not know @defer, which the
// parser adds to every schema: there is no transport here that would deliver what
// is deferred. A door refuses @defer by itself; a schema that introspection shows
// should not offer it either.
func WithoutDefer(schema *ast.Schema) *ast.Schema {
	without := *schema
	without.Directives = maps.Clone(schema.Directives)
	delete(without.Directives, "defer")
	return &without
}

// bounded is a cache of so many bytes, by weight. It keeps what is asked for
// often, so documents that are sent once do not drive out the others (W-TinyLFU).
func bounded[V any](bytes int, weigh func(string, V) int) (*otter.Cache[string, V], error) {
	return otter.New(&otter.Options[string, V]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(k string, v V) uint32 { return uint32(weigh(k, v)) }, //nolint:gosec // limited by the longest document
		Executor:      func(fn func()) { fn() },                                  // no goroutine of its own
	})
}

// ExtensionName implements graphql.HandlerExtension.
func (*documents) ExtensionName() string { return "Documents" }

// Validate implements graphql.HandlerExtension.
func (*documents) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator.
func (d *documents) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if over(len(params.OperationName), d.limits.Name) {
		return refusal(codeBadRequest, "The operation's name is longer than %d bytes.", d.limits.Name)
	}
	if err := d.named(params); err != nil {
		return err
	}
	doc, known := d.known(params.Query)
	switch {
	case params.Query == "":
		return refusal(codeBadRequest, "There is no query.")
	case !known && over(len(params.Query), d.limits.Document):
		return refusal(codeDocument, "The document is longer than %d bytes.", d.limits.Document)
	}
	oc := graphql.GetOperationContext(ctx)
	d.metrics.document(known)
	if !known {
		var err *gqlerror.Error
		if doc, err = d.read(ctx, params.Query); err != nil {
			return err
		}
	} else {
		d.texts.keep(doc.text)
	}
	params.Query, oc.Doc = doc.text, doc.tree
	oc.Stats.SetExtension(documentKey, doc)
	return nil
}

// known is the document of a text that was found valid before.
func (d *documents) known(text string) (*document, bool) {
	if doc, ok := d.trusted.valid[text]; ok {
		return doc, true
	}
	return d.valid.GetIfPresent(text)
}

// read parses, measures and validates a document, unless somebody else did so
// while it waited. A caller's are read one after the other, for the worst that
// are allowed take milliseconds. What the tree needs is counted as long as the
// request runs.
func (d *documents) read(ctx context.Context, text string) (*document, *gqlerror.Error) {
	waiting, cancel := timeout(ctx, d.limits.RunningWait)
	defer cancel()
	c := callerOf(ctx)
	leave, err := d.reading.enter(waiting, c.key, 1)
	if err != nil {
		return nil, busy()
	}
	defer leave()
	if doc, known := d.valid.GetIfPresent(text); known {
		return doc, nil
	}
	guess := len(text) * worstTree
	if d.limits.Tokens >= 0 {
		guess = min(guess, d.limits.Tokens*nodeBytes)
	}
	if !c.memory.take(guess) {
		return nil, noMemory().Error
	}
	doc := &document{text: strings.Clone(text)} // it may be a piece of a longer one
	if refused := d.parse(ctx, doc); refused != nil {
		return nil, refused
	}
	c.memory.give(guess - max(0, doc.bytes()-freeTree))
	d.valid.Set(doc.text, doc)
	return doc, nil
}

// freeTree is what the tree of a document may need without being counted.
const freeTree = 32 << 10

// parse makes the tree of a document's text.
func (d *documents) parse(ctx context.Context, doc *document) (refused *gqlerror.Error) {
	begin := graphql.Now()
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: doc.text}, max(d.limits.Tokens, 0))
	graphql.GetOperationContext(ctx).Stats.SetExtension(timesKey, times{graphql.TraceTiming{Start: begin, End: graphql.Now()}})
	if err != nil {
		return unparsed(err)
	}
	doc.tree = tree
	return d.check(doc, d.limits)
}

// check measures and validates a document that was parsed.
func (d *documents) check(doc *document, limits Limits) (refused *gqlerror.Error) {
	if len(doc.tree.Operations) == 0 {
		return refusal(codeValidation, "The document has no operation.")
	}
	if doc.nodes, refused = measure(doc.tree, limits, d.introspection); refused != nil {
		return refused
	}
	if errs := validate(d.schema, doc.tree, d.rules, limits.ValidationErrors); len(errs) > 0 {
		return together(errs)
	}
	doc.costs = make([]*cost, len(doc.tree.Operations))
	for i, op := range doc.tree.Operations {
		doc.costs[i] = d.newCost(op)
	}
	return nil
}

// unparsed is the refusal of a text that is no document.
func unparsed(err error) *gqlerror.Error {
	told, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		return refusal(codeParse, "The document cannot be read.")
	}
	code := codeParse
	if strings.HasPrefix(told.Message, "exceeded ") { // tokens or nesting
		code = codeDocument
	}
	return &gqlerror.Error{Message: cut(told.Message), Locations: told.Locations, Extensions: map[string]any{"code": code}}
}

// together makes one error of several, for gqlgen's hooks return one; apart
// takes them out again.
func together(errs gqlerror.List) *gqlerror.Error {
	if len(errs) == 1 {
		return errs[0]
	}
	all := *errs[0]
	all.Err = errs
	return &all
}

func apart(errs gqlerror.List) gqlerror.List {
	if len(errs) == 1 {
		if all, ok := errs[0].Err.(gqlerror.List); ok { //nolint:errorlint // exactly what together made
			return all
		}
	}
	return errs
}

// handedOver is a gqlgen document cache that holds nothing: it takes what the
// extension put into the operation context.
type handedOver struct{}

func (handedOver) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	doc := graphql.GetOperationContext(ctx).Doc
	return doc, doc != nil
}

func (handedOver) Add(context.Context, string, *ast.QueryDocument) {}

// MutateOperationContext implements graphql.OperationContextMutator.
func (d *documents) MutateOperationContext(ctx context.Context, oc *graphql.OperationContext) *gqlerror.Error {
	oc.DisableIntrospection = !d.introspection
	doc, _ := oc.Stats.GetExtension(documentKey).(*document)
	c := doc.cost(oc.Operation)
	d.texts.keep(oc.Operation.Name)
	if err := d.onceOnly(c, oc); err != nil {
		return err
	}
	points := d.calculate(ctx, c, oc)
	if c.schema > 0 {
		if d.limits.Complexity >= 0 && c.schema > 2*d.aboutSchema.whole {
			return refusal(codeComplexity, "The operation asks for more than the whole schema, twice.")
		}
		oc.Stats.SetExtension(schemaKey, c.schema/introspectionShare)
	}
	if over(points.Complexity, d.limits.Complexity) {
		return refusal(codeComplexity, "The operation has a complexity of %d points: at most %d are allowed.", points.Complexity, d.limits.Complexity)
	}
	oc.Stats.SetExtension(pointsKey, points)
	if t, ok := oc.Stats.GetExtension(timesKey).(times); ok {
		oc.Stats.Parsing, oc.Stats.Validation.Start = t.parsing, t.parsing.End
	}
	return d.persist(oc)
}

// Where what is known of an operation is kept. The complexity is where gqlgen's
// own extension keeps it, so that extension.GetComplexityStats finds it.
const (
	pointsKey   = "ComplexityLimit"
	schemaKey   = "door.schema"
	timesKey    = "door.times"
	documentKey = "door.document"
)

// times is when a new document was parsed.
type times struct{ parsing graphql.TraceTiming }

// pointsOf is what an operation that passed the extension costs, questions about
// the schema included.
func pointsOf(oc *graphql.OperationContext) int {
	points, _ := oc.Stats.GetExtension(schemaKey).(int)
	if stats, ok := oc.Stats.GetExtension(pointsKey).(*extension.ComplexityStats); ok {
		points = sum(points, stats.Complexity)
	}
	return points
}

// onceOnly refuses a field that stands twice and must not.
func (d *documents) onceOnly(c *cost, oc *graphql.OperationContext) *gqlerror.Error {
	if !c.twice {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{d.es.Schema().Mutation.Name}) {
		if seen[f.Name] && d.once[f.Name] {
			return refusal(codeValidation, "%s stands at most once in a request.", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
