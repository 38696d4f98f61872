package request

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Media types of answers.
const (
	MediaJSON    = "application/json"                  // of old: 200 for every well-formed request
	MediaGraphQL = "application/graphql-response+json" // of the GraphQL over HTTP specification
	MediaStream  = "text/event-stream"
)

// Accepted is what a client takes. The first of a kind is "" if it takes none.
type Accepted struct {
	JSON   string // the better of mediaJSON and mediaGraphQL
	Stream bool   // whether event streams are taken, named as such
	First  string // the best of all
}

// A preference is a media range of an Accept header.
type preference struct {
	media string
	q     float64
}

// Negotiate reads the Accept header as RFC 9110, 12.5.1, has it: the highest
// weight wins, then what is said most specifically, then what stands first.
// Without a header, and for */*, the answer is of the old type.
func Negotiate(r *http.Request) Accepted {
	lines := r.Header["Accept"]
	if len(lines) == 0 {
		return Accepted{JSON: MediaJSON, First: MediaJSON}
	}
	if len(lines) == 1 {
		if a, known := usual[lines[0]]; known {
			return a
		}
	}
	return negotiated(strings.Join(lines, ","))
}

// usual are what headers mean that many clients send: those of the specification, of
// Apollo Client and urql, and what fetch and axios send if they are not told.
//
//nolint:gochecknoglobals // a constant that Go cannot say
var usual = func() map[string]Accepted {
	known := map[string]Accepted{}
	for _, header := range []string{
		"*/*", MediaJSON, MediaGraphQL, MediaStream, "application/json, text/plain, */*",
		MediaGraphQL + ", " + MediaJSON, MediaGraphQL + "," + MediaJSON, MediaGraphQL + ", " + MediaJSON + ";q=0.9", MediaGraphQL + "," + MediaJSON + ";q=0.9",
		MediaGraphQL + "; charset=utf-8, " + MediaJSON + "; charset=utf-8",
		MediaGraphQL + ", application/graphql+json, " + MediaJSON + ", " + MediaStream + ", multipart/mixed",
	} {
		known[header] = negotiated(header)
	}
	return known
}()

// negotiated is what a header means.
func negotiated(header string) Accepted {
	ranges := preferences(header)
	if len(ranges) == 0 {
		return Accepted{JSON: MediaJSON, First: MediaJSON}
	}
	var a Accepted
	var bestJSON, best mediaRank
	for order, media := range []string{MediaJSON, MediaGraphQL, MediaStream} {
		at, ok := rankOf(media, ranges)
		if !ok {
			continue
		}
		if media == MediaStream {
			a.Stream = at.exact == exactly
			if !a.Stream {
				continue // a wildcard means no stream
			}
		} else if at.better(bestJSON) {
			a.JSON, bestJSON = media, at
		}
		if at.better(best) || order == 0 {
			a.First, best = media, at
		}
	}
	return a
}

// How exactly a range names a media type.
const (
	anything = iota + 1
	anySubtype
	exactly
)

// mediaRank is how welcome a media type is. The zero rank is not at all.
type mediaRank struct {
	q        float64
	exact    int
	position int // in the header
}

func (a mediaRank) better(b mediaRank) bool {
	switch {
	case b.exact == 0:
		return true
	case a.q != b.q:
		return a.q > b.q
	case a.exact != b.exact:
		return a.exact > b.exact
	}
	return a.position < b.position
}

// rankOf finds the most exact range for a media type; ok is false if the client
// does not want it.
func rankOf(media string, ranges []preference) (mediaRank, bool) {
	var at mediaRank
	for i, p := range ranges {
		exact := 0
		switch {
		case p.media == media:
			exact = exactly
		case p.media == media[:strings.Index(media, "/")+1]+"*":
			exact = anySubtype
		case p.media == "*/*":
			exact = anything
		}
		if exact > at.exact {
			at = mediaRank{p.q, exact, i}
		}
	}
	return at, at.exact > 0 && at.q > 0
}

// preferences reads the ranges of a header. What cannot be read is left out.
func preferences(header string) []preference {
	var all []preference
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		p := preference{media: media, q: 1}
		if text, ok := params["q"]; ok {
			if p.q, err = strconv.ParseFloat(text, 64); err != nil || !(p.q >= 0 && p.q <= 1) {
				continue
			}
		}
		all = append(all, p)
	}
	return all
}
