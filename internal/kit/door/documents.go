package door

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/complexity"
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
	valid         *otter.Cache[string, *ast.QueryDocument] // by text
	persisted     *otter.Cache[string, string]             // texts by SHA-256, in hex
	metrics       *metrics
}

// What a cached entry is taken to cost: a document's tree has about 38 bytes for
// each byte of its text.
const (
	treeFactor = 38
	entryBytes = 1024
)

func newDocuments(es graphql.ExecutableSchema, cfg *Config, m *metrics) (*documents, error) {
	d := &documents{
		es: es, schema: WithoutDefer(es.Schema()), limits: cfg.Limits, introspection: cfg.Introspection, once: map[string]bool{},
		rules: ruleSet(cfg.Introspection), metrics: m,
	}
	for _, name := range cfg.Once {
		d.once[name] = true
	}
	var err error
	d.valid, err = bounded(cfg.Limits.DocumentCache, func(text string, _ *ast.QueryDocument) int { return len(text)*(treeFactor+1) + entryBytes })
	if err != nil {
		return nil, err
	}
	d.persisted, err = bounded(cfg.Limits.PersistedCache, func(hash, text string) int { return len(hash) + len(text) + entryBytes })
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
	switch {
	case params.Query == "":
		return refusal(codeBadRequest, "There is no query.")
	case over(len(params.Query), d.limits.Document):
		return refusal(codeDocument, "The document is longer than %d bytes.", d.limits.Document)
	}
	oc := graphql.GetOperationContext(ctx)
	doc, known := d.valid.GetIfPresent(params.Query)
	d.metrics.document(known)
	if !known {
		var err *gqlerror.Error
		if doc, err = d.read(params.Query, oc); err != nil {
			return err
		}
		d.valid.Set(params.Query, doc)
	}
	oc.Doc = doc
	return nil
}

var sha256Hex = regexp.MustCompile(`^[0-9a-fA-F]{64}$`) //nolint:gochecknoglobals // a constant that Go cannot say

// named puts in the text of a query that the client only names, and checks the
// name of one that it sends with its text.
func (d *documents) named(params *graphql.RawParams) *gqlerror.Error {
	hash, err := persistedHash(params.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if params.Query == "" {
		text, known := d.persisted.GetIfPresent(hash)
		d.metrics.persistedQuery(known)
		if !known {
			return refusal(codeNotPersisted, "PersistedQueryNotFound")
		}
		params.Query = text
		return nil
	}
	if sum := sha256.Sum256([]byte(params.Query)); hex.EncodeToString(sum[:]) != hash {
		return refusal(codeBadRequest, "The hash of the persisted query is not that of the query.")
	}
	return nil
}

// persistedHash is the hash that a request names its query by, "" for none.
func persistedHash(extensions map[string]any) (string, *gqlerror.Error) {
	if extensions["persistedQuery"] == nil {
		return "", nil
	}
	fields, _ := extensions["persistedQuery"].(map[string]any)
	hash, _ := fields["sha256Hash"].(string)
	if !sha256Hex.MatchString(hash) {
		return "", refusal(codeBadRequest, "extensions.persistedQuery is not {version: 1, sha256Hash: 64 hex digits}.")
	}
	return strings.ToLower(hash), nil
}

// read parses, measures and validates a document.
func (d *documents) read(text string, oc *graphql.OperationContext) (*ast.QueryDocument, *gqlerror.Error) {
	begin := graphql.Now()
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, max(d.limits.Tokens, 0))
	oc.Stats.SetExtension(timesKey, times{graphql.TraceTiming{Start: begin, End: graphql.Now()}})
	if err != nil {
		return nil, unparsed(err)
	}
	if len(doc.Operations) == 0 {
		return nil, refusal(codeValidation, "The document has no operation.")
	}
	if err := measure(doc, d.limits, d.introspection); err != nil {
		return nil, err
	}
	if errs := validate(d.schema, doc, d.rules, d.limits.ValidationErrors); len(errs) > 0 {
		return nil, together(errs)
	}
	return doc, nil
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
	if err := d.onceOnly(oc); err != nil {
		return err
	}
	points := complexity.Calculate(ctx, d.es, oc.Operation, oc.Variables)
	if over(points, d.limits.Complexity) {
		return refusal(codeComplexity, "The operation has a complexity of %d points: at most %d are allowed.", points, d.limits.Complexity)
	}
	oc.Stats.SetExtension(pointsKey, &extension.ComplexityStats{Complexity: points, ComplexityLimit: d.limits.Complexity})
	if t, ok := oc.Stats.GetExtension(timesKey).(times); ok {
		oc.Stats.Parsing, oc.Stats.Validation.Start = t.parsing, t.parsing.End
	}
	return d.persist(oc)
}

// Where what is known of an operation is kept. The complexity is where gqlgen's
// own extension keeps it, so that extension.GetComplexityStats finds it.
const (
	pointsKey = "ComplexityLimit"
	timesKey  = "door.times"
)

// times is when a new document was parsed.
type times struct{ parsing graphql.TraceTiming }

// pointsOf is the complexity of an operation that passed the extension.
func pointsOf(oc *graphql.OperationContext) int {
	if stats, ok := oc.Stats.GetExtension(pointsKey).(*extension.ComplexityStats); ok {
		return stats.Complexity
	}
	return 0
}

// onceOnly refuses a field that stands twice and must not.
func (d *documents) onceOnly(oc *graphql.OperationContext) *gqlerror.Error {
	if len(d.once) == 0 || oc.Operation.Operation != ast.Mutation {
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

// persist keeps a query under its hash, last of all: what is refused drives out
// nothing.
func (d *documents) persist(oc *graphql.OperationContext) *gqlerror.Error {
	hash, err := persistedHash(oc.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if _, known := d.persisted.GetIfPresent(hash); !known {
		d.persisted.Set(hash, oc.RawQuery)
	}
	return nil
}
