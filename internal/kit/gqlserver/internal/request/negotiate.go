package request

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Media types of responses.
const (
	MediaJSON    = "application/json"                  // legacy: status 200 for every well-formed request
	MediaGraphQL = "application/graphql-response+json" // GraphQL over HTTP specification
	MediaStream  = "text/event-stream"
)

// Accepted holds the media types that a client accepts. A type is "" if the client
// accepts none.
type Accepted struct {
	JSON   string // preferred type of MediaJSON and MediaGraphQL
	Stream bool   // whether the client names MediaStream, without a wildcard
	First  string // preferred type of all
}

// preference is a media range of an Accept header.
type preference struct {
	media string
	q     float64
}

// Negotiate parses the Accept header of r, as described in RFC 9110, section
// 12.5.1. The highest weight wins, then the most specific range, then the first
// range. Without a header, and for */*, the type is MediaJSON.
func Negotiate(r *http.Request) Accepted {
	lines := r.Header["Accept"]
	if len(lines) == 0 {
		return Accepted{JSON: MediaJSON, First: MediaJSON}
	}
	if len(lines) == 1 {
		if a, known := commonHeaders[lines[0]]; known {
			return a
		}
	}
	return parseAccept(strings.Join(lines, ","))
}

// commonHeaders holds the parsed headers of common clients: those of the
// specification, Apollo Client and urql, and the defaults of fetch and axios.
//
//nolint:gochecknoglobals // constant
var commonHeaders = func() map[string]Accepted {
	known := map[string]Accepted{}
	for _, header := range []string{
		"*/*", MediaJSON, MediaGraphQL, MediaStream, "application/json, text/plain, */*",
		MediaGraphQL + ", " + MediaJSON, MediaGraphQL + "," + MediaJSON, MediaGraphQL + ", " + MediaJSON + ";q=0.9", MediaGraphQL + "," + MediaJSON + ";q=0.9",
		MediaGraphQL + "; charset=utf-8, " + MediaJSON + "; charset=utf-8",
		MediaGraphQL + ", application/graphql+json, " + MediaJSON + ", " + MediaStream + ", multipart/mixed",
	} {
		known[header] = parseAccept(header)
	}
	return known
}()

func parseAccept(header string) Accepted {
	ranges := preferences(header)
	if len(ranges) == 0 {
		return Accepted{JSON: MediaJSON, First: MediaJSON}
	}
	var a Accepted
	var bestJSON, best mediaRank
	for order, media := range []string{MediaJSON, MediaGraphQL, MediaStream} {
		rank, ok := rankOf(media, ranges)
		if !ok {
			continue
		}
		if media == MediaStream {
			a.Stream = rank.match == matchExact
			if !a.Stream {
				continue // a wildcard does not accept streams
			}
		} else if rank.better(bestJSON) {
			a.JSON, bestJSON = media, rank
		}
		if rank.better(best) || order == 0 {
			a.First, best = media, rank
		}
	}
	return a
}

// How specifically a range matches a media type.
const (
	matchAny = iota + 1
	matchType
	matchExact
)

// mediaRank is the preference for a media type. The zero rank means not accepted.
type mediaRank struct {
	q        float64
	match    int
	position int // in the header
}

func (a mediaRank) better(b mediaRank) bool {
	switch {
	case b.match == 0:
		return true
	case a.q != b.q:
		return a.q > b.q
	case a.match != b.match:
		return a.match > b.match
	}
	return a.position < b.position
}

// rankOf returns the rank of a media type by its most specific range. It returns
// false if the client does not accept the type.
func rankOf(media string, ranges []preference) (mediaRank, bool) {
	var rank mediaRank
	for i, p := range ranges {
		match := 0
		switch {
		case p.media == media:
			match = matchExact
		case p.media == media[:strings.Index(media, "/")+1]+"*":
			match = matchType
		case p.media == "*/*":
			match = matchAny
		}
		if match > rank.match {
			rank = mediaRank{p.q, match, i}
		}
	}
	return rank, rank.match > 0 && rank.q > 0
}

// preferences parses the ranges of a header. It skips invalid ranges.
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
