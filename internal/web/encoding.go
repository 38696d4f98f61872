package web

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// brotliLevel is the highest fast level. It takes as long as the best gzip, and the result is 5 %
// smaller. The highest level takes forty times as long for a result 10 % smaller.
const brotliLevel = 5

// An encoding is one form in which a file can be sent.
type encoding struct {
	coding string // name in Accept-Encoding and Content-Encoding
	suffix string // of the ETag
	body   func() []byte
}

// encodings returns the compressed forms of raw, best one first. A body is nil if it is not
// smaller than raw. The first request for a form compresses it: compressing all files would delay
// every start more than it delays the first visitor.
func encodings(raw []byte) []encoding {
	smaller := func(compress func([]byte) []byte) func() []byte {
		return sync.OnceValue(func() []byte {
			if z := compress(raw); len(z) < len(raw) {
				return z
			}
			return nil
		})
	}
	return []encoding{{"br", "-br", smaller(brotlied)}, {"gzip", "-gz", smaller(gzipped)}}
}

func brotlied(raw []byte) []byte {
	var b bytes.Buffer
	z := brotli.NewWriterLevel(&b, brotliLevel)
	_, _ = z.Write(raw) // a Buffer never fails
	_ = z.Close()
	return b.Bytes()
}

func gzipped(raw []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(raw)
	_ = z.Close()
	return b.Bytes()
}

// choose returns the form of f that the values of Accept-Encoding prefer (RFC 9110, 12.5.3), or
// the best compressed one of several. Plain needs no mention, and is sent if all forms are
// refused.
func (f *file) choose(accept []string) encoding {
	wanted := weights(accept)
	chosen, best := encoding{body: func() []byte { return f.raw }}, wanted.of("identity")
	for _, e := range f.encodings {
		q := wanted.of(e.coding)
		better := q > best || q == best && q > 0 && chosen.coding == ""
		if better && e.body() != nil {
			chosen, best = e, q
		}
	}
	return chosen
}

// wanted maps encodings to the weights of a client, from 0, refused, to 1.
type wanted map[string]float64

// of returns the weight of a name, or the weight of "*".
func (w wanted) of(name string) float64 {
	if q, named := w[name]; named {
		return q
	}
	return w["*"]
}

// weights parses lists of names with weights, such as "br, gzip;q=0.5" (RFC 9110, 12.4.2). An
// invalid weight counts as 0.
func weights(lists []string) wanted {
	all := wanted{}
	for item := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		all[strings.ToLower(strings.TrimSpace(name))] = weight(parameters)
	}
	return all
}

// weight returns the q of parameters such as "level=1; q=0.8", by default 1.
func weight(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q > 0 && q <= 1 {
			return q
		}
		return 0
	}
	return 1
}
