package gqlserver

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/core"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// documents knows documents: those that clients name by a hash (automatic persisted queries,
// as Apollo's clients and urql send them), those that were found valid before, and what is
// too much about a new one. Each is parsed once, and what is expensive comes last.
type documents struct {
	es            graphql.ExecutableSchema
	schema        *ast.Schema
	limits        Limits
	introspection bool
	once          map[string]bool
	rules         []core.Rule
	valid         boundedCache[*document] // by text
	persisted     boundedCache[string]    // texts by SHA-256, in hex
	trusted       trusted
	texts         *request.Interner // of valid documents
	metrics       *metrics

	aboutSchema *introspectionCosts
	weighed     map[fieldName]bool     // fields whose points are a function of their arguments
	reading     *quota.WeightedLimiter // new documents at once, one of each caller
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

func newDocuments(es graphql.ExecutableSchema, cfg *Config, m *metrics, t *request.Interner) (*documents, error) {
	d := &documents{
		es: es, schema: WithoutDefer(es.Schema()), limits: cfg.Limits, introspection: cfg.Introspection, once: map[string]bool{},
		rules: ruleSet(cfg.Introspection), metrics: m, texts: t, weighed: weighedFields(es), reading: quota.NewWeightedLimiter(2*runtime.GOMAXPROCS(0), 1),
	}
	for _, name := range cfg.OncePerRequest {
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
	d.trusted, err = d.trust(cfg.TrustedDocuments)
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

// boundedCache is an otter. Behind an interface, its code is compiled here, and not in every package
// that knows a Door.
type boundedCache[V any] interface {
	GetIfPresent(key string) (V, bool)
	Set(key string, v V) (V, bool)
	WeightedSize() uint64
	EstimatedSize() int
}

// bounded returns a cache of so many bytes, by weight. It admits by frequency, so documents
// that are sent once do not drive out the others (W-TinyLFU).
func bounded[V any](bytes int, weigh func(string, V) int) (boundedCache[V], error) {
	return otter.New(&otter.Options[string, V]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(k string, v V) uint32 { return uint32(weigh(k, v)) }, //nolint:gosec // limited by the longest document
		Executor:      func(fn func()) { fn() },                                  // no goroutine of its own
	})
}

// find returns the document of a request, and puts its text there. The times of reading a
// new one go into stats.
func (d *documents) find(ctx context.Context, params *graphql.RawParams, stats *graphql.Stats) (*document, gqlerror.List) {
	if errcode.Exceeds(len(params.OperationName), d.limits.Name) {
		return nil, gqlerror.List{errcode.Errorf(errcode.BadRequest, "The operation's name is longer than %d bytes.", d.limits.Name)}
	}
	if err := d.named(params); err != nil {
		return nil, gqlerror.List{err}
	}
	doc, known := d.known(params.Query)
	switch {
	case params.Query == "":
		return nil, gqlerror.List{errcode.Errorf(errcode.BadRequest, "There is no query.")}
	case !known && errcode.Exceeds(len(params.Query), d.limits.Document):
		return nil, gqlerror.List{errcode.Errorf(errcode.DocumentTooLarge, "The document is longer than %d bytes.", d.limits.Document)}
	}
	d.metrics.document(known)
	if !known {
		var errs gqlerror.List
		if doc, errs = d.read(ctx, params.Query, stats); errs != nil {
			return nil, errs
		}
	} else {
		d.texts.Keep(doc.text)
	}
	params.Query = doc.text
	return doc, nil
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
func (d *documents) read(ctx context.Context, text string, stats *graphql.Stats) (*document, gqlerror.List) {
	c := callerOf(ctx)
	turn, err := d.reading.AcquireWithin(ctx, d.limits.RunningWait, c.key, 1)
	if err != nil {
		return nil, gqlerror.List{errcode.Busy()}
	}
	defer turn.Release()
	if doc, known := d.valid.GetIfPresent(text); known {
		return doc, nil
	}
	guess := len(text) * worstTree
	if d.limits.Tokens >= 0 {
		guess = min(guess, d.limits.Tokens*nodeBytes)
	}
	if !c.memory.Take(guess) {
		return nil, gqlerror.List{errcode.NoMemory()}
	}
	doc := &document{text: strings.Clone(text)} // it may be a piece of a longer one
	if refused := d.parse(doc, stats); refused != nil {
		return nil, refused
	}
	c.memory.Give(guess - max(0, doc.bytes()-freeTree))
	d.valid.Set(doc.text, doc)
	return doc, nil
}

// freeTree is what the tree of a document may need without being counted.
const freeTree = 32 << 10

// parse makes the tree of a document's text.
func (d *documents) parse(doc *document, stats *graphql.Stats) (refused gqlerror.List) {
	stats.Parsing.Start = graphql.Now()
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: doc.text}, max(d.limits.Tokens, 0))
	stats.Parsing.End = graphql.Now()
	if err != nil {
		return gqlerror.List{unparsed(err)}
	}
	doc.tree = tree
	stats.Validation.Start = stats.Parsing.End
	refused = d.check(doc, d.limits)
	stats.Validation.End = graphql.Now()
	return refused
}

// check measures and validates a document that was parsed.
func (d *documents) check(doc *document, limits Limits) (refused gqlerror.List) {
	if len(doc.tree.Operations) == 0 {
		return gqlerror.List{errcode.Errorf(errcode.ValidationFailed, "The document has no operation.")}
	}
	var tooMuch *gqlerror.Error
	if doc.nodes, tooMuch = measure(doc.tree, limits, d.introspection); tooMuch != nil {
		return gqlerror.List{tooMuch}
	}
	if errs := validate(d.schema, doc.tree, d.rules, limits.ValidationErrors); len(errs) > 0 {
		return errs
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
		return errcode.Errorf(errcode.ParseFailed, "The document cannot be read.")
	}
	code := errcode.ParseFailed
	if strings.HasPrefix(told.Message, "exceeded ") { // tokens or nesting
		code = errcode.DocumentTooLarge
	}
	return &gqlerror.Error{Message: errcode.Truncate(told.Message), Locations: told.Locations, Extensions: map[string]any{"code": code}}
}

// complexityPoints are what an operation costs.
type complexityPoints struct {
	complexity int // of what it asks for
	whole      int // with its questions about the schema, as much as it takes of what may run
}

// weigh says what an operation costs, unless it is too much, and then keeps the query under the
// hash that its client names it by.
func (d *documents) weigh(ctx context.Context, c *cost, oc *graphql.OperationContext) (p complexityPoints, refused *gqlerror.Error) {
	d.texts.Keep(oc.Operation.Name)
	if err := d.onceOnly(c, oc); err != nil {
		return p, err
	}
	p.complexity = d.calculate(ctx, c, oc)
	if c.schema > 0 && d.limits.Complexity >= 0 && c.schema > 2*d.aboutSchema.whole {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The operation asks for more than the whole schema, twice.")
	}
	if errcode.Exceeds(p.complexity, d.limits.Complexity) {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The operation has a complexity of %d points: at most %d are allowed.", p.complexity, d.limits.Complexity)
	}
	p.whole = sum(p.complexity, c.schema/introspectionShare)
	return p, d.persist(oc)
}

// onceOnly refuses a field that stands twice and must not.
func (d *documents) onceOnly(c *cost, oc *graphql.OperationContext) *gqlerror.Error {
	if !c.twice {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{d.es.Schema().Mutation.Name}) {
		if seen[f.Name] && d.once[f.Name] {
			return errcode.Errorf(errcode.ValidationFailed, "%s stands at most once in a request.", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
