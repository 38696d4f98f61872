// Package document parses, measures and validates the documents of GraphQL requests,
// once each. It calculates the points of their operations and prepares them for
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

// Store caches valid documents and the texts of automatic persisted queries, and
// enforces limits on new documents. It parses each document once, and runs expensive
// checks last. It is safe for concurrent use.
type Store struct {
	es             graphql.ExecutableSchema
	schema         *ast.Schema
	limits         Limits
	introspection  bool
	oncePerRequest map[string]bool
	rules          []core.Rule
	valid          boundedCache[*Document] // by text
	persisted      boundedCache[string]    // texts by SHA-256, in hex
	trusted        trusted
	interner       *request.Interner
	onDocument     func(known bool)
	onPersisted    func(known bool)

	introspectionCosts *introspectionCosts
	weighted           map[fieldName]bool     // fields with a complexity function
	readers            *quota.WeightedLimiter // concurrent new documents, one per caller
}

// Document is a valid document. All requests share it, so it is immutable. Requests
// retain its text instead of their own.
type Document struct {
	text  string
	tree  *ast.QueryDocument
	nodes int     // of the tree
	costs []*cost // of the operations
}

// Estimated sizes of a cached document, in bytes, in addition to its text.
const (
	nodeBytes        = 300
	entryBytes       = 1024
	treeBytesPerByte = nodeBytes / 2 // per byte of text: a text has at most one node per two bytes
)

func (doc *Document) bytes() int {
	n := len(doc.text) + doc.nodes*nodeBytes + entryBytes
	for _, c := range doc.costs {
		n += c.bytes()
	}
	return n
}

func (doc *Document) cost(of *ast.OperationDefinition) *cost {
	return doc.costs[slices.Index(doc.tree.Operations, of)]
}

// Limits holds the limits of documents. A negative limit means no limit. A cache of
// negative size holds nothing.
type Limits struct {
	Document, Name int // bytes of the text and of an operation name

	Tokens, Depth, Fields, Expanded, Aliases, Directives, Fragments, Operations, Variables int

	RootFields, Mutations int // root fields of a query or subscription, and of a mutation
	Overlaps              int // pairs of fields of one response name, with those below them
	ValidationErrors      int // errors per response
	Complexity            int // points per operation

	Wait                          time.Duration // of a new document for other new documents of its caller
	DocumentCache, PersistedCache int           // bytes
}

// Config configures a [Store].
type Config struct {
	Limits        Limits
	Introspection bool // allows introspection, and suggestions of names in errors

	OncePerRequest []string // mutation fields that may occur once per request

	// TrustedDocuments holds texts by their SHA-256 in lower-case hex. They are never
	// evicted. TrustedLimits applies to them.
	TrustedDocuments map[string]string
	TrustedLimits    Limits

	Interner    *request.Interner // stores the texts of valid documents; may be nil
	OnDocument  func(known bool)  // called for each lookup of a document; may be nil
	OnPersisted func(known bool)  // called for each lookup of a hash without a text; may be nil
}

// New returns a store of documents of a schema. It returns an error if a trusted
// document is invalid.
func New(es graphql.ExecutableSchema, cfg Config) (*Store, error) {
	d := &Store{
		es: es, schema: WithoutDefer(es.Schema()), limits: cfg.Limits, introspection: cfg.Introspection, oncePerRequest: map[string]bool{},
		rules: ruleSet(cfg.Introspection), interner: cfg.Interner, onDocument: cfg.OnDocument, onPersisted: cfg.OnPersisted,
		weighted: weightedFields(es), readers: quota.NewWeightedLimiter(2*runtime.GOMAXPROCS(0), 1),
	}
	if d.onDocument == nil {
		d.onDocument = func(bool) {}
	}
	if d.onPersisted == nil {
		d.onPersisted = func(bool) {}
	}
	for _, name := range cfg.OncePerRequest {
		d.oncePerRequest[name] = true
	}
	var err error
	if d.introspectionCosts, err = newIntrospectionCosts(d.schema); err != nil {
		return nil, err
	}
	if d.valid, err = newBoundedCache(cfg.Limits.DocumentCache, func(_ string, doc *Document) int { return doc.bytes() }); err != nil {
		return nil, err
	}
	if d.persisted, err = newBoundedCache(cfg.Limits.PersistedCache, func(hash, text string) int { return len(hash) + len(text) + entryBytes }); err != nil {
		return nil, err
	}
	d.trusted, err = d.loadTrusted(cfg.TrustedDocuments, cfg.TrustedLimits)
	return d, err
}

// Len returns the approximate number of cached documents, without trusted documents.
func (d *Store) Len() int { return d.valid.EstimatedSize() }

// Wait waits until a caller, identified by key, may parse a new document. Call release
// afterwards. Wait returns an error if ctx ends or [Limits].Wait passes first.
func (d *Store) Wait(ctx context.Context, key string) (release func(), err error) {
	permit, err := d.readers.AcquireWithin(ctx, d.limits.Wait, key, 1)
	if err != nil {
		return nil, err
	}
	return permit.Release, nil
}

// WithoutDefer returns a copy of a schema without @defer, which the parser adds to
// every schema. No transport here delivers deferred results, so introspection must not
// offer it. The store rejects @defer in any case.
func WithoutDefer(schema *ast.Schema) *ast.Schema {
	without := *schema
	without.Directives = maps.Clone(schema.Directives)
	delete(without.Directives, "defer")
	return &without
}

// boundedCache is an otter cache. The interface spares packages that use the server
// the compilation of otter's generic code.
type boundedCache[V any] interface {
	GetIfPresent(key string) (V, bool)
	Set(key string, v V) (V, bool)
	WeightedSize() uint64
	EstimatedSize() int
}

// newBoundedCache returns a cache limited by the total weight, in bytes. It admits
// entries by frequency (W-TinyLFU), so documents that are sent once do not evict the
// others.
func newBoundedCache[V any](bytes int, weigh func(string, V) int) (boundedCache[V], error) {
	return otter.New(&otter.Options[string, V]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(k string, v V) uint32 { return uint32(weigh(k, v)) }, //nolint:gosec // limited by the longest document
		Executor:      func(fn func()) { fn() },                                  // no goroutine of its own
	})
}

// find returns the document of a request, and stores its text in params. It records
// the times of parsing and validation in stats.
func (d *Store) find(ctx context.Context, key string, memory *quota.Memory, params *graphql.RawParams, stats *graphql.Stats) (*Document, gqlerror.List) {
	if errcode.Exceeds(len(params.OperationName), d.limits.Name) {
		return nil, gqlerror.List{errcode.Errorf(errcode.BadRequest, "The operation name must be at most %d bytes.", d.limits.Name)}
	}
	if err := d.resolvePersisted(params); err != nil {
		return nil, gqlerror.List{err}
	}
	doc, known := d.known(params.Query)
	switch {
	case params.Query == "":
		return nil, gqlerror.List{errcode.Errorf(errcode.BadRequest, "The request has no query.")}
	case !known && errcode.Exceeds(len(params.Query), d.limits.Document):
		return nil, gqlerror.List{errcode.Errorf(errcode.DocumentTooLarge, "The document is too long. The limit is %d bytes.", d.limits.Document)}
	}
	d.onDocument(known)
	if !known {
		var errs gqlerror.List
		if doc, errs = d.read(ctx, key, memory, params.Query, stats); errs != nil {
			return nil, errs
		}
	} else {
		d.interner.Add(doc.text)
	}
	params.Query = doc.text
	return doc, nil
}

func (d *Store) known(text string) (*Document, bool) {
	if doc, ok := d.trusted.valid[text]; ok {
		return doc, true
	}
	return d.valid.GetIfPresent(text)
}

// read parses, measures and validates a document, unless another request did so while
// it waited. It reads one document per caller at a time, because the most expensive
// allowed documents take milliseconds. The memory of the tree counts until the request
// ends.
func (d *Store) read(ctx context.Context, key string, memory *quota.Memory, text string, stats *graphql.Stats) (*Document, gqlerror.List) {
	release, err := d.Wait(ctx, key)
	if err != nil {
		return nil, gqlerror.List{errcode.Busy()}
	}
	defer release()
	if doc, known := d.valid.GetIfPresent(text); known {
		return doc, nil
	}
	guess := len(text) * treeBytesPerByte
	if d.limits.Tokens >= 0 {
		guess = min(guess, d.limits.Tokens*nodeBytes)
	}
	if !memory.Take(guess) {
		return nil, gqlerror.List{errcode.NoMemory()}
	}
	doc := &Document{text: strings.Clone(text)} // text may be part of a longer string
	if refused := d.parse(doc, stats); refused != nil {
		return nil, refused
	}
	memory.Give(guess - max(0, doc.bytes()-uncountedTreeBytes))
	d.valid.Set(doc.text, doc)
	return doc, nil
}

// uncountedTreeBytes is the part of a tree that is not charged to the memory budget.
const uncountedTreeBytes = 32 << 10

func (d *Store) parse(doc *Document, stats *graphql.Stats) (refused gqlerror.List) {
	stats.Parsing.Start = graphql.Now()
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: doc.text}, max(d.limits.Tokens, 0))
	stats.Parsing.End = graphql.Now()
	if err != nil {
		return gqlerror.List{parseError(err)}
	}
	doc.tree = tree
	stats.Validation.Start = stats.Parsing.End
	refused = d.check(doc, d.limits)
	stats.Validation.End = graphql.Now()
	return refused
}

func (d *Store) check(doc *Document, limits Limits) (refused gqlerror.List) {
	if len(doc.tree.Operations) == 0 {
		return gqlerror.List{errcode.Errorf(errcode.ValidationFailed, "The document has no operation.")}
	}
	var exceeded *gqlerror.Error
	if doc.nodes, exceeded = measure(doc.tree, limits, d.introspection); exceeded != nil {
		return gqlerror.List{exceeded}
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

func parseError(err error) *gqlerror.Error {
	parsed, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		return errcode.Errorf(errcode.ParseFailed, "The document cannot be parsed.")
	}
	code := errcode.ParseFailed
	if strings.HasPrefix(parsed.Message, "exceeded ") { // tokens or nesting
		code = errcode.DocumentTooLarge
	}
	return &gqlerror.Error{Message: errcode.Truncate(parsed.Message), Locations: parsed.Locations, Extensions: map[string]any{"code": code}}
}

// Points is the cost of an operation.
type Points struct {
	Complexity int // without introspection
	Whole      int // with introspection: the weight of the operation in the limit of running operations
}

// checkPoints returns the points of an operation, or an error if it exceeds a limit. It
// stores an accepted persisted query under its hash.
func (d *Store) checkPoints(ctx context.Context, c *cost, oc *graphql.OperationContext) (p Points, refused *gqlerror.Error) {
	d.interner.Add(oc.Operation.Name)
	if err := d.checkOnce(c, oc); err != nil {
		return p, err
	}
	p.Complexity = d.calculate(ctx, c, oc)
	if c.introspection > 0 && d.limits.Complexity >= 0 && c.introspection > 2*d.introspectionCosts.whole {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The introspection query is too large: it reads more than twice the whole schema.")
	}
	if errcode.Exceeds(p.Complexity, d.limits.Complexity) {
		return p, errcode.Errorf(errcode.ComplexityExceeded, "The operation has a complexity of %d points. The limit is %d.", p.Complexity, d.limits.Complexity)
	}
	p.Whole = sum(p.Complexity, c.introspection/introspectionShare)
	return p, d.persist(oc)
}

// checkOnce rejects an operation that repeats a field of OncePerRequest.
func (d *Store) checkOnce(c *cost, oc *graphql.OperationContext) *gqlerror.Error {
	if !c.repeated {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{d.es.Schema().Mutation.Name}) {
		if seen[f.Name] && d.oncePerRequest[f.Name] {
			return errcode.Errorf(errcode.ValidationFailed, "%s is allowed once per request.", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
