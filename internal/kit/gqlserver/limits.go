package gqlserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// Limits bounds the resources that clients can use. In a Config, a zero field means the default in
// its comment, and a negative one no limit. A cache of negative size stores nothing.
type Limits struct {
	// Reading a request.

	Body          int           // bytes of a JSON body; 1 MB
	QueryString   int           // bytes of the query string of a GET; 16 KB
	BodyTime      time.Duration // from the headers to the end of the body; 10 s
	Memory        int           // bytes of all large requests and responses, as estimated; 64 MB. A caller may use a quarter
	UploadBody    int           // bytes of a multipart body; 11 MB
	UploadTime    time.Duration // like BodyTime, for a multipart body; 60 s
	UploadPace    time.Duration // for each 64 KB of a multipart body, or its rest; 10 s
	UploadFiles   int           // files in a multipart body; 4
	Uploads       int           // concurrent multipart bodies of full length, by bytes received; 16. A caller may use a quarter
	VariableDepth int           // levels of nesting in variables and extensions; 12
	VariableNodes int           // values in variables and extensions together; 2000

	// The shape of a document, checked before validation.

	Document   int // bytes; 64 KB
	Name       int // bytes of an operation's name; 256
	Tokens     int // 5000
	Depth      int // nested fields, 20 for introspection alone; 15
	Fields     int // fields written; 500
	Expanded   int // fields after fragments are expanded; 1000
	Aliases    int // 30
	Directives int // 50
	Fragments  int // 50
	Operations int // 10
	Variables  int // 50
	RootFields int // of a query or a subscription; 20
	Mutations  int // root fields of a mutation; 5
	Overlaps   int // compared pairs of fields with the same response name, at all levels; 30 000

	// Running an operation.

	Complexity       int           // points of an operation: one for a field, as many for a list as it may have elements; 5000
	ValidationErrors int           // reported for a document; 5
	Errors           int           // in a response; 20
	Answer           int           // bytes of data in a response; 5 MB
	Running          int           // points of complexity that run at once; 50 000. A caller may use a quarter
	RunningWait      time.Duration // wait for running points; 2 s
	OperationTime    time.Duration // of a query or a mutation; 10 s
	WriteTime        time.Duration // to write a response, or a chunk of a stream; 5 s

	// Caches.

	DocumentCache  int // bytes of validated documents, as estimated; 8 MB
	PersistedCache int // bytes of automatic persisted queries; 4 MB

	// Callers. Rates are requests per second; negative means no limit.

	AnonymousRate, AnonymousBurst int // of a client address; 1000, 2000
	UserRate, UserBurst           int // of a user; 200, 400
	AuthLookups                   int // token lookups per second and client network, with a burst of twice as many; 5000
	AbsentReads                   int // reads by id that find nothing, per caller and minute, see [AllowRead]; 50

	// Sockets and event streams.

	SocketsPerAddress int           // sockets and event streams; 100
	SocketsPerUser    int           // sockets and event streams; 10. Another one closes the oldest
	InitTime          time.Duration // from the upgrade to connection_init; 5 s
	Message           int           // bytes of a message; 64 KB
	MessageRate       int           // messages a second, with a burst of twice as many; 50
	SocketOperations  int           // running on one socket; 20
	Queue             int           // bytes of shared events queued for a socket; 256 KB
	Ping              time.Duration // between pings; a socket silent for twice as long is dropped; 25 s
	KeepAlive         time.Duration // between comments in an event stream; 12 s
	Recheck           time.Duration // between session checks; 60 s
	SocketAge         time.Duration // lifetime of a socket, ±10 %; 60 min
}

const (
	kb = 1 << 10
	mb = 1 << 20
)

// A limit is one field of Limits with its setting name, empty if it has none, and its default.
type limit struct {
	name     string
	number   *int
	span     *time.Duration
	fallback int64
}

func (l *Limits) all() []limit {
	number := func(name string, field *int, normal int64) limit {
		return limit{name: name, number: field, fallback: normal}
	}
	span := func(name string, field *time.Duration, normal time.Duration) limit {
		return limit{name: name, span: field, fallback: int64(normal)}
	}
	return []limit{
		number("body", &l.Body, mb),
		number("query-string", &l.QueryString, 16*kb),
		span("body-time", &l.BodyTime, 10*time.Second),
		number("memory", &l.Memory, 64*mb),
		number("upload-body", &l.UploadBody, 11*mb),
		span("upload-time", &l.UploadTime, time.Minute),
		span("upload-pace", &l.UploadPace, 10*time.Second),
		number("upload-files", &l.UploadFiles, 4),
		number("uploads", &l.Uploads, 16),
		number("variable-depth", &l.VariableDepth, 12),
		number("variable-nodes", &l.VariableNodes, 2000),

		number("document", &l.Document, 64*kb),
		number("name", &l.Name, 256),
		number("tokens", &l.Tokens, 5000),
		number("depth", &l.Depth, 15),
		number("fields", &l.Fields, 500),
		number("expanded", &l.Expanded, 1000),
		number("aliases", &l.Aliases, 30),
		number("directives", &l.Directives, 50),
		number("fragments", &l.Fragments, 50),
		number("operations", &l.Operations, 10),
		number("variables", &l.Variables, 50),
		number("root-fields", &l.RootFields, 20),
		number("mutations", &l.Mutations, 5),
		number("overlaps", &l.Overlaps, 30_000),

		number("complexity", &l.Complexity, 5000),
		number("validation-errors", &l.ValidationErrors, 5),
		number("errors", &l.Errors, 20),
		number("answer", &l.Answer, 5*mb),
		number("running", &l.Running, 50_000),
		span("running-wait", &l.RunningWait, 2*time.Second),
		span("operation-time", &l.OperationTime, 10*time.Second),
		span("write-time", &l.WriteTime, 5*time.Second),

		number("document-cache", &l.DocumentCache, 8*mb),
		number("persisted-cache", &l.PersistedCache, 4*mb),

		number("", &l.AnonymousRate, 1000),
		number("", &l.AnonymousBurst, 2000),
		number("", &l.UserRate, 200),
		number("", &l.UserBurst, 400),
		number("looks", &l.AuthLookups, 5000),
		number("", &l.AbsentReads, 50),

		number("", &l.SocketsPerAddress, 100),
		number("", &l.SocketsPerUser, 10),
		span("init-time", &l.InitTime, 5*time.Second),
		number("message", &l.Message, 64*kb),
		number("message-rate", &l.MessageRate, 50),
		number("socket-operations", &l.SocketOperations, 20),
		number("queue", &l.Queue, 256*kb),
		span("ping", &l.Ping, 25*time.Second),
		span("keep-alive", &l.KeepAlive, 12*time.Second),
		span("recheck", &l.Recheck, time.Minute),
		span("socket-age", &l.SocketAge, time.Hour),
	}
}

func (l Limits) orDefaults() Limits {
	for _, one := range l.all() {
		if one.number != nil {
			*one.number = cmp.Or(*one.number, int(one.fallback))
		} else {
			*one.span = cmp.Or(*one.span, time.Duration(one.fallback))
		}
	}
	return l
}

// Check returns an error if limits exclude each other: one caller's share of Memory must fit the
// longest body and the largest response.
func (l Limits) Check() error {
	l = l.orDefaults()
	for name, n := range map[string]int{"body": bodyFactor * l.Body, "answer": answerFactor * l.Answer} {
		if share := l.Memory / 4; l.Memory > 0 && n > share {
			return fmt.Errorf("invalid limit memory: a caller's quarter of %d bytes is below the memory of the longest %s, %d bytes", l.Memory, name, n)
		}
	}
	return nil
}

func (l *Limits) documents() document.Limits {
	return document.Limits{
		Document: l.Document, Name: l.Name, Tokens: l.Tokens, Depth: l.Depth, Fields: l.Fields, Expanded: l.Expanded,
		Aliases: l.Aliases, Directives: l.Directives, Fragments: l.Fragments, Operations: l.Operations, Variables: l.Variables,
		RootFields: l.RootFields, Mutations: l.Mutations, Overlaps: l.Overlaps, ValidationErrors: l.ValidationErrors,
		Complexity: l.Complexity, Wait: l.RunningWait, DocumentCache: l.DocumentCache, PersistedCache: l.PersistedCache,
	}
}

func (l *Limits) json() request.JSONLimits {
	return request.JSONLimits{Depth: l.VariableDepth, Values: l.VariableNodes}
}

// Set sets a limit by name: its field name in lower case with dashes ("body-time"). The value is
// a number, optionally with KB or MB, a duration ("10s"), or "off" for no limit.
func (l *Limits) Set(name, value string) error {
	all := l.all()
	i := slices.IndexFunc(all, func(one limit) bool { return one.name == name })
	if i < 0 || name == "" {
		return fmt.Errorf("unknown limit %q (want one of %s)", name, strings.Join(limitNames(all), ", "))
	}
	off := value == "off"
	if span := all[i].span; span != nil {
		d, err := time.ParseDuration(value)
		switch {
		case off:
			*span = -1
		case err != nil || d <= 0:
			return fmt.Errorf("invalid limit %s: %q is not a positive duration such as 10s", name, value)
		default:
			*span = d
		}
		return nil
	}
	n, err := parseNumber(value)
	switch {
	case off:
		*all[i].number = -1
	case err != nil || n <= 0:
		return fmt.Errorf("invalid limit %s: %q is not a positive number", name, value)
	default:
		*all[i].number = n
	}
	return nil
}

func limitNames(all []limit) []string {
	var names []string
	for _, one := range all {
		if one.name != "" {
			names = append(names, one.name)
		}
	}
	return names
}

// parseNumber parses "5000", "64KB" or "10MB".
func parseNumber(text string) (int, error) {
	unit := 1
	if digits, ok := strings.CutSuffix(text, "KB"); ok {
		text, unit = digits, kb
	} else if digits, ok := strings.CutSuffix(text, "MB"); ok {
		text, unit = digits, mb
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n) * unit, err
}
