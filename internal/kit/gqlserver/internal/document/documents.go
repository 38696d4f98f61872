// Package document reads the documents of GraphQL requests: it parses, measures and
// validates each once, calculates the points of its operations, and prepares them for
// execution.
package document

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

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

// Store knows documents: those that clients name by a hash (automatic persisted queries,
// as Apollo's clients and urql send them), those that were found valid before, and what is
// too much about a new one. Each is parsed once, and what is expensive comes last.
type Store struct {
	es            graphql.ExecutableSchema
	schema        *ast.Schema
	limits        Limits
	introspection bool
	once          map[string]bool
	rules         []core.Rule
	valid         boundedCache[*Document] // by text
	persisted     boundedCache[string]    // texts by SHA-256, in hex
	trusted       trusted
	texts         *request.Interner // of valid documents
	onDocument    func(known bool)
	onPersisted   func(known bool)

	aboutSchema *introspectionCosts
	weighed     map[fieldName]bool     // fields whose points are a function of their arguments
	reading     *quota.WeightedLimiter // new documents at once, one of each caller
}

// A Document was found valid. All requests share it, so nobody may change it;
// those that run for long keep its text and not their own.
type Document struct {
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

func (doc *Document) bytes() int {
	n := len(doc.text) + doc.nodes*nodeBytes + entryBytes
	for _, c := range doc.costs {
		n += c.bytes()
	}
	return n
}

// cost is that of one of its operations.
func (doc *Document) cost(of *ast.OperationDefinition) *cost {
	return doc.costs[slices.Index(doc.tree.Operations, of)]
}

// Limits are the limits of documents. A negative limit is none; a cache of
// negative size holds nothing.
type Limits struct {
	Document, Name int // bytes of the text, and of an operation's name

	Tokens, Depth, Fields, Expanded, Aliases, Directives, Fragments, Operations, Variables int

	RootFields, Mutations int // root fields of a query or a subscription, and of a mutation
	Overlaps              int // pairs of fields of one name, and of those below them
	ValidationErrors      int // in a response
	Complexity            int // points of an operation

	Wait                          time.Duration // of a new document, for others of its caller
	DocumentCache, PersistedCache int           // bytes
}

// Config configures a store of documents.
type Config struct {
	Limits        Limits
	Introspection bool // whether operations may read the schema; errors suggest names then

	OncePerRequest []string // fields of mutations that a request may have once

	// TrustedDocuments are known from the start, by their SHA-256 in lower-case hex.
	// TrustedLimits apply to them.
	TrustedDocuments map[string]string
	TrustedLimits    Limits

	Interner    *request.Interner // gets the texts of valid documents; may be nil
	OnDocument  func(known bool)  // called for each lookup of a document; may be nil
	OnPersisted func(known bool)  // called for each lookup of a hash without a text; may be nil
}

// New returns a store of documents of a schema. It returns an error if a trusted
// document is not valid.
func New(es graphql.ExecutableSchema, cfg Config) (*Store, error) {
	d := &Store{
		es: es, schema: WithoutDefer(es.Schema()), limits: cfg.Limits, introspection: cfg.Introspection, once: map[string]bool{},
		rules: ruleSet(cfg.Introspection), texts: cfg.Interner, onDocument: cfg.OnDocument, onPersisted: cfg.OnPersisted,
		weighed: weighedFields(es), reading: quota.NewWeightedLimiter(2*runtime.GOMAXPROCS(0), 1),
	}
	if d.onDocument == nil {
		d.onDocument = func(bool) {}
	}
	if d.onPersisted == nil {
		d.onPersisted = func(bool) {}
	}
	for _, name := range cfg.OncePerRequest {
		d.once[name] = true
	}
	var err error
	if d.aboutSchema, err = newIntrospectionCosts(d.schema); err != nil {
		return nil, err
	}
	if d.valid, err = bounded(cfg.Limits.DocumentCache, func(_ string, doc *Document) int { return doc.bytes() }); err != nil {
		return nil, err
	}
	if d.persisted, err = bounded(cfg.Limits.PersistedCache, func(hash, text string) int { return len(hash) + len(text) + entryBytes }); err != nil {
		return nil, err
	}
	d.trusted, err = d.trust(cfg.TrustedDocuments, cfg.TrustedLimits)
	return d, err
}

// Len returns the number of documents in the cache, without the trusted ones.
func (d *Store) Len() int { return d.valid.EstimatedSize() }

// Wait waits until the caller may read a new document. The caller must call release
// when it is read. The error is that of ctx or of the longest wait.
func (d *Store) Wait(ctx context.Context, key string) (release func(), err error) {
	turn, err := d.reading.AcquireWithin(ctx, d.limits.Wait, key, 1)
	if err != nil {
		return nil, err
	}
	return turn.Release, nil
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
func (d *Store) find(ctx context.Context, key string, memory *quota.Memory, params *graphql.RawParams, stats *graphql.Stats) (*Document, gqlerror.List) {
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
	d.onDocument(known)
	if !known {
		var errs gqlerror.List
		if doc, errs = d.read(ctx, key, memory, params.Query, stats); errs != nil {
			return nil, errs
		}
	} else {
		d.texts.Keep(doc.text)
	}
	params.Query = doc.text
	return doc, nil
}

// known is the document of a text that was found valid before.
func (d *Store) known(text string) (*Document, bool) {
	if doc, ok := d.trusted.valid[text]; ok {
		return doc, true
	}
	return d.valid.GetIfPresent(text)
}

// read parses, measures and validates a document, unless somebody else did so
// while it waited. A caller's are read one after the other, for the worst that
// are allowed take milliseconds. What the tree needs is counted as long as the
// request runs.
func (d *Store) read(ctx context.Context, key string, memory *quota.Memory, text string, stats *graphql.Stats) (*Document, gqlerror.List) {
	release, err := d.Wait(ctx, key)
	if err != nil {
		return nil, gqlerror.List{errcode.Busy()}
	}
	defer release()
	if doc, known := d.valid.GetIfPresent(text); known {
		return doc, nil
	}
	guess := len(text) * worstTree
	if d.limits.Tokens >= 0 {
		guess = min(guess, d.limits.Tokens*nodeBytes)
	}
	if !memory.Take(guess) {
		return nil, gqlerror.List{errcode.NoMemory()}
	}
	doc := &Document{text: strings.Clone(text)} // it may be a piece of a longer one
	if refused := d.parse(doc, stats); refused != nil {
		return nil, refused
	}
	memory.Give(guess - max(0, doc.bytes()-freeTree))
	d.valid.Set(doc.text, doc)
	return doc, nil
}

// freeTree is what the tree of a document may need without being counted.
const freeTree = 32 << 10

// parse makes the tree of a document's text.
func (d *Store) parse(doc *Document, stats *graphql.Stats) (refused gqlerror.List) {
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
func (d *Store) check(doc *Document, limits Limits) (refused gqlerror.List) {
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

// Points are what an operation costs.
type Points struct {
	Complexity int // of what it asks for
	Whole      int // with its questions about the schema, as much as it takes of what may run
}

// weigh says what an operation costs, unless it is too much, and then keeps the query under the
// hash that its client names it by.
func (d *Store) weigh(ctx context.Context, c *cost, oc *graphql.OperationContext) (p Points, refused *gqlerror.Error) {
	d.texts.Keep(oc.Operation.Name)
	if err := d.onceOnly(c, oc); err != nil {
		return p, err
	}
	p.Complexity = d.calculate(ctx, c, oc)
	if c.schema > 0 && d.limits.Complexity >= 0 && c.schema > 2*d.aboutSchema.whole {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The operation asks for more than the whole schema, twice.")
	}
	if errcode.Exceeds(p.Complexity, d.limits.Complexity) {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The operation has a complexity of %d points: at most %d are allowed.", p.Complexity, d.limits.Complexity)
	}
	p.Whole = sum(p.Complexity, c.schema/introspectionShare)
	return p, d.persist(oc)
}

// onceOnly refuses a field that stands twice and must not.
func (d *Store) onceOnly(c *cost, oc *graphql.OperationContext) *gqlerror.Error {
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
