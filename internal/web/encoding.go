package web

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// brotliLevel is the highest that is quick: it takes as long as the best gzip, and
// leaves a twentieth less. The highest there is takes forty times as long for a
// tenth less.
const brotliLevel = 5

// An encoding is one of the forms in which a file can be sent.
type encoding struct {
	coding string // as Accept-Encoding and Content-Encoding name it
	suffix string // of the ETag
	body   func() []byte
}

// encodings are the forms of raw that are smaller than itself, the best one first.
// Whoever asks for one first makes it: compressing all at start would cost every
// start more than the first visitor ever waits.
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
	_, _ = z.Write(raw) // a Buffer takes everything
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

// choose returns the form of f that a request with these values of Accept-Encoding
// wants most (RFC 9110, 12.5.3), and the better compressed one of several. Plain is
// what nobody need name; it is also what somebody gets who refuses everything.
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

// wanted are weights of what a client accepts, from 0, refused, to 1.
type wanted map[string]float64

// of is the weight of one thing: as it is named, else as everything is.
func (w wanted) of(name string) float64 {
	if q, named := w[name]; named {
		return q
	}
	return w["*"]
}

// weights reads lists of names with weights, such as "br, gzip;q=0.5" (RFC 9110,
// 12.4.2). A weight that it cannot read counts as a refusal.
func weights(lists []string) wanted {
	all := wanted{}
	for item := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		all[strings.ToLower(strings.TrimSpace(name))] = weight(parameters)
	}
	return all
}

// weight is the q among parameters such as "level=1; q=0.8", or 1.
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
