package hostile_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Usual responses to attacks.
const (
	tooLarge   = "400 DOCUMENT_TOO_LARGE"
	tooComplex = "400 COMPLEXITY_LIMIT_EXCEEDED"
	invalid    = "400 GRAPHQL_VALIDATION_FAILED"
	unread     = "400 GRAPHQL_PARSE_FAILED"
	noRequest  = "400 BAD_REQUEST"
	badInput   = "200 BAD_USER_INPUT" // an error of a field
	answered   = "200"
)

// hostility returns all attacks. Those of one group run in parallel.
func hostility() [][]attack {
	var groups [][]attack
	for _, a := range [][]attack{floodsOfOneDocument(), floodsOfDocuments(), floodsOfBodies(), floodsOfValues(), floodsOfUploads(), floodsOfSockets()} {
		for _, one := range a {
			groups = append(groups, []attack{one})
		}
	}
	return append(groups, patience()...)
}

// floodsOfOneDocument returns documents that each exceed a limit.
func floodsOfOneDocument() []attack {
	return []attack{
		{"tokens", []string{tooLarge}, documents(100, "{"+strings.Repeat("a ", 499_000)+"}", "{"+strings.Repeat("a ", 30_000)+"}")},
		{"aliases", []string{tooLarge}, documents(
			500,
			"{"+each(1500, func(i int) string { return fmt.Sprintf("a%d:shops(first:100){edges{node{id}}}", i) })+"}",
			"{"+each(400, func(i int) string { return fmt.Sprintf("a%d:me{id}", i) })+"}",
		)},
		{"fields", []string{tooLarge}, documents(
			500,
			"{"+strings.Repeat("__typename ", 30_000)+"}",
			"{"+strings.Repeat("__typename ", 4_900)+"}",
			"{"+strings.Repeat("shops{pageInfo{hasNextPage}}", 500)+"}",
			"{me{"+strings.Repeat("id ", 490)+"}}",
		)},
		{"directives", []string{tooLarge}, documents(500, "{me{id"+strings.Repeat("@skip(if:false)", 800)+"}}", "{me{id"+strings.Repeat("@a", 2400)+"}}")},
		{"operations", []string{tooLarge}, documents(500, each(900, func(i int) string { return fmt.Sprintf("query a%d{me{id}}", i) }))},
		{"variables defined", []string{tooLarge}, documents(500, "query a("+each(900, func(i int) string { return fmt.Sprintf("$v%d:ID", i) })+"){me{id}}")},
		{"depth", []string{tooLarge, answered}, documents(
			500,
			strings.Repeat("{a", 900)+strings.Repeat("}", 900),
			"{"+strings.Repeat("...{", 990)+"me{id}"+strings.Repeat("}", 991),
			"query a($a:"+strings.Repeat("[", 2000)+"ID"+strings.Repeat("]", 2000)+"){me{id}}",
			"{nodes(ids:"+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+"){id}}",
		)},
		{"exponential fragments", []string{tooLarge}, documents(
			500,
			doubling("...F%[2]d ...F%[2]d a%[1]d:__typename"),
			doubling("...on Query{...F%[2]d} ...on Query{...F%[2]d} a%[1]d:__typename"),
			doubling("a%[1]d:me{id} b%[1]d:me{id} ...F%[2]d ...F%[2]d"),
		)},
		{"a fragment of many fields, spread often", []string{tooLarge}, documents(
			500,
			"{"+strings.Repeat("me{...F}", 510)+"}fragment F on User{"+each(2400, func(i int) string { return fmt.Sprintf("n%d ", i) })+"}",
			"{me{...F}}fragment F on User{"+each(2400, func(i int) string { return fmt.Sprintf("n%d ", i) })+"}",
		)},
		{"fragment cycles", []string{invalid}, documents(
			500,
			"{...A} fragment A on Query{...A}",
			"{...A} fragment A on Query{...B} fragment B on Query{...A}",
			"{me{id}} "+each(50, func(i int) string { return fmt.Sprintf("fragment F%d on Query{...F%d}", i, (i+1)%50) }),
		)},
		{"overlapping fields", []string{answered, tooLarge}, sideBySide},
		{"lists times lists", []string{tooComplex, badInput}, documents(
			500,
			"{shops(first:100){edges{node{images{a:url b:url c:url width height thumbnailUrl} type{name} location{lat lng}}}}}",
			"{shops(first:2147483647){edges{node{id name area}}}}",
			"{shops(first:-2147483648){edges{node{id}}}}",
			"{"+each(20, func(i int) string { return fmt.Sprintf("a%d:shops(first:100){edges{node{name}}}", i) })+"}",
			"{me{"+each(30, func(i int) string { return fmt.Sprintf("a%d:shops(first:100){edges{node{name}}}", i) })+"}}",
		)},
		{"introspection in itself", []string{tooLarge, invalid}, documents(
			500,
			"{__schema{types{"+strings.Repeat("fields{type{", 9)+"name"+strings.Repeat("}}", 9)+"}}}",
			"{__schema{types{fields{type{"+strings.Repeat("ofType{", 100)+"name"+strings.Repeat("}", 105),
			"{__schema{types{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}",
		)},
		{"the schema in itself, 20 times", []string{tooLarge, tooComplex}, func(s *script) { s.introspect(20, typesOfFields) }},
		{"the schema in itself, with aliases", []string{tooComplex}, func(s *script) { s.introspect(2, typesOfFields) }},
		{"the schema as tools ask for it", []string{answered}, func(s *script) { s.introspect(1, asTools) }},
		{"unknown fields", []string{invalid, tooLarge}, documents(
			500,
			"{"+each(490, func(i int) string { return fmt.Sprintf("x%d ", i) })+"}",
			"{"+each(20_000, func(i int) string { return fmt.Sprintf("x%d ", i) })+"}",
			"{node(id:1,"+each(1000, func(i int) string { return fmt.Sprintf("x%d:1 ", i) })+"){id}}",
		)},
		{"no documents", []string{unread, noRequest, tooLarge, invalid}, documents(
			500,
			"", "{", strings.Repeat("{", 50_000), strings.Repeat("#", 60_000), `"`+strings.Repeat("x", 60_000), "\x00", "{me{id\x00}}", "fragment A on Query{me{id}}",
			"{shop(id:\"\x00\"){id", strings.Repeat(`"""`, 3333),
		)},
	}
}

// floodsOfDocuments returns many valid documents, all different.
func floodsOfDocuments() []attack {
	return []attack{
		{"distinct documents of 20 fields", []string{answered, badInput}, func(s *script) {
			s.post(8, 400, func(n int) string {
				return body(fmt.Sprintf("query q%d{", n)+each(20, func(i int) string {
					return fmt.Sprintf("a%d_%d:shops(first:1){edges{node{id name}}pageInfo{hasNextPage endCursor}} ", n, i)
				})+"}", nil)
			})
		}},
		{"distinct documents of 420 fields", []string{answered}, func(s *script) {
			fields := strings.Repeat("id name area address sold score openHours avgPrice commentCount __typename ", 2)
			s.post(8, 1000, func(n int) string {
				return body(fmt.Sprintf("query q%d{", n)+each(20, func(i int) string { return fmt.Sprintf(`a%d:shop(id:"U2hvcDox"){%s}`, i, fields) })+"}", nil)
			})
		}},
		{"distinct documents of 64 KB", []string{answered}, func(s *script) {
			s.post(8, 1000, func(n int) string { return body(padded(n, 63_000), nil) })
		}},
		{"persisted queries of 60 KB", []string{answered}, func(s *script) {
			s.post(8, 1000, func(n int) string {
				text := padded(n, 60_000)
				sum := sha256.Sum256([]byte(text))
				return persisted(text, hex.EncodeToString(sum[:]))
			})
		}},
		{"GETs with a long rest", []string{answered}, func(s *script) {
			s.send(8, 8000, func(n int) *http.Request {
				r := s.request(http.MethodGet, nil, 0)
				r.URL.RawQuery = fmt.Sprintf("query={a%d:__typename}&x=", n) + strings.Repeat("x", 14_000)
				return r
			})
		}},
		{"heavy documents by their hash", []string{badInput, "400 PERSISTED_QUERY_NOT_FOUND"}, func(s *script) {
			text := func(n int) string { // a tree of 500 KB
				return fmt.Sprintf("{a%d:__typename nodes(ids:[", n) + strings.Repeat(`"a",`, 1900) + "]){id}}"
			}
			s.post(8, 400, func(n int) string {
				sum := sha256.Sum256([]byte(text(n % 100)))
				return persisted(text(n%100), hex.EncodeToString(sum[:]))
			})
			s.post(64, 1000, func(n int) string {
				sum := sha256.Sum256([]byte(text(n % 100)))
				return persisted("", hex.EncodeToString(sum[:]))
			})
		}},
		{"persisted queries, malformed", []string{noRequest, "400 PERSISTED_QUERY_NOT_FOUND"}, func(s *script) {
			hashes := []any{"", "zz", strings.Repeat("a", 64), strings.Repeat("b", 60_000), 1, nil, []int{1}, map[string]any{}}
			s.post(8, 2000, func(n int) string { return persisted([]string{"", "{me{id}}"}[n%2], hashes[n/2%len(hashes)]) })
		}},
		{"the largest queries, 200 at once", []string{answered, "200 TIMEOUT"}, func(s *script) {
			s.post(200, 500, func(n int) string { return body(largest(n), nil) })
		}},
		{"the longest search, 200 at once", []string{answered, "200 TIMEOUT"}, func(s *script) {
			s.post(200, 500, func(n int) string {
				return body("query($s:String,$t:ID){"+each(20, func(i int) string {
					return fmt.Sprintf("a%d:shops(first:1,filter:{search:$s,typeId:$t}){pageInfo{hasNextPage}} ", i)
				})+"}", map[string]any{"s": fmt.Sprintf("%0100d", n), "t": nil})
			})
		}},
	}
}

// floodsOfBodies returns bodies that are not requests.
func floodsOfBodies() []attack {
	return []attack{
		{"100 MB with its length", []string{"413 PAYLOAD_TOO_LARGE", "cut off"}, func(s *script) {
			s.send(32, 200, func(int) *http.Request { return s.request(http.MethodPost, endless(100<<20), 100<<20) })
		}},
		{"100 MB in chunks", []string{"413 PAYLOAD_TOO_LARGE", "cut off"}, func(s *script) {
			s.send(32, 200, func(int) *http.Request { return s.request(http.MethodPost, endless(100<<20), -1) })
		}},
		{"compressed bombs", []string{"415 UNSUPPORTED_MEDIA_TYPE"}, func(s *script) {
			bomb := compressed(10 << 20)
			s.send(8, 500, func(int) *http.Request {
				r := s.request(http.MethodPost, bytes.NewReader(bomb), int64(len(bomb)))
				r.Header.Set("Content-Encoding", "gzip")
				return r
			})
		}},
		{"batches of 10,000", []string{noRequest, "400 BATCHING_NOT_SUPPORTED"}, func(s *script) {
			s.post(8, 500, func(n int) string {
				return "[" + strings.TrimSuffix(strings.Repeat(`{"query":"{me{id}}"},`, []int{10_000, 500}[n%2]), ",") + "]"
			})
		}},
		{"brackets", []string{noRequest}, posts(
			300, strings.Repeat("[", 1<<20), `{"query":"{me{id}}","variables":`+strings.Repeat(`{"a":`, 200_000), `{"query":"{me{id}}","variables":{"a":`+strings.Repeat(`[`, 1_000_000),
			`{"query":"{me{id}}","extensions":{"a":`+strings.Repeat(`[[],`, 200_000),
		)},
		{"100,000 ids", []string{noRequest}, posts(300, body(nodes, map[string]any{"ids": make([]int, 100_000)}))},
		{"no JSON", []string{noRequest}, posts(
			2000, "", "null", "1", `"`, `{"query":1}`, `{"query":"{me{id}}"}{}`, "{\"query\":\"\xff\"}", "\x00", `{"query":"{me{id}}","variables":[]}`, `{"query":"\u0000`,
			`{"query":"{me{id}}","operationName":"`+strings.Repeat("n", 1000)+`"}`, `{"query":"{me{id}}","variables":1e400}`,
		)},
		{"wrong media types", []string{"415 UNSUPPORTED_MEDIA_TYPE", "406 NOT_ACCEPTABLE", "405 METHOD_NOT_ALLOWED", "414 PAYLOAD_TOO_LARGE", noRequest}, wrongTypes},
		{"bad tokens", []string{answered}, func(s *script) {
			s.send(8, 3000, func(n int) *http.Request {
				r := s.request(http.MethodPost, strings.NewReader(body("{me{id}}", nil)), -1)
				r.Header.Set("Authorization", "Bearer "+strings.Repeat(fmt.Sprint(n), []int{1, 10, 1000}[n%3]))
				return r
			})
		}},
	}
}

const nodes = `query($ids:[ID!]!){nodes(ids:$ids){id}}`

// floodsOfValues returns valid requests with one wrong value.
func floodsOfValues() []attack {
	ids := []any{
		"", "x", "\x00", "U2hvcDox\x00", strings.Repeat("A", 100_000), base64.StdEncoding.EncodeToString([]byte("Shop:-1")), base64.StdEncoding.EncodeToString([]byte("Shop:99999999999999999999")),
		base64.StdEncoding.EncodeToString([]byte("Shop:1:1")), base64.StdEncoding.EncodeToString([]byte("Nothing:1")), 1.5, true,
	}
	const wrong = "400 GRAPHQL_VALIDATION_FAILED"
	return []attack{
		{"malformed ids", []string{badInput, wrong}, func(s *script) {
			s.post(8, 2000, func(n int) string {
				return body("query($id:ID!){node(id:$id){id}}", map[string]any{"id": ids[n%len(ids)]})
			})
		}},
		{"many malformed ids", []string{badInput, wrong}, func(s *script) {
			s.post(8, 1000, func(n int) string {
				many := make([]any, []int{100, 101, 1900}[n%3])
				for i := range many {
					many[i] = ids[i%4]
				}
				return body(nodes, map[string]any{"ids": many})
			})
		}},
		{"malformed cursors", []string{badInput, wrong}, func(s *script) {
			cursors := []any{"", "x", "\x00", strings.Repeat("A", 500_000), base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 300)), 1, true}
			s.post(8, 1000, func(n int) string {
				return body("query($c:Cursor){shops(after:$c){edges{cursor}}}", map[string]any{"c": cursors[n%len(cursors)]})
			})
		}},
		{"numbers that are none", []string{badInput, wrong, noRequest}, func(s *script) {
			numbers := []string{`"NaN"`, `"Inf"`, `1e400`, `-1e400`, `NaN`, `Infinity`, `0x1p-2`, `"0x1p-2"`, `1e999999999`, `9` + strings.Repeat("9", 100_000), `true`, `[]`, `{}`}
			s.post(8, 1000, func(n int) string {
				return `{"query":"query($l:Float!){shops(near:{lat:$l,lng:0}){edges{cursor}}}","variables":{"l":` + numbers[n%len(numbers)] + `}}`
			})
		}},
		{"long strings", []string{badInput, "200 UNAUTHENTICATED"}, func(s *script) {
			long := strings.Repeat("长\x00", 90_000)
			s.post(64, 200, func(n int) string {
				if n%2 == 0 {
					return body("query($s:String){shops(filter:{search:$s}){edges{cursor}}}", map[string]any{"s": long})
				}
				return body("mutation($s:String){updateProfile(input:{bio:$s}){user{id}}}", map[string]any{"s": long})
			})
		}},
		{"logins, 64 at once", []string{"200 INVALID_CREDENTIALS", "200 RATE_LIMITED", "200 UNAVAILABLE"}, func(s *script) {
			s.post(64, 100, func(n int) string {
				return body("mutation($i:LoginInput!){login(input:$i){userErrors{code}}}", map[string]any{"i": map[string]any{"phone": fmt.Sprintf("+99900%07d", n), "password": strings.Repeat("长", 100)}})
			})
		}},
		{"guesses, by aliases", []string{wrong, tooLarge}, documents(
			500,
			"mutation{"+each(5, func(i int) string {
				return fmt.Sprintf(`a%d:login(input:{phone:"+99900000003",code:"%06d"}){token}`, i, i)
			})+"}",
			"mutation{"+each(300, func(i int) string {
				return fmt.Sprintf(`a%d:login(input:{phone:"+99900000003",code:"%06d"}){token}`, i, i)
			})+"}",
		)},
	}
}

// floodsOfUploads returns multipart requests.
func floodsOfUploads() []attack {
	const (
		operations = `{"query":"{me{id}}","variables":{"a":null,"l":[null]}}`
		good       = `{"0":["variables.a"]}`
	)
	return []attack{
		{"uploads of strangers", []string{"401 UNAUTHENTICATED", "400 CSRF"}, func(s *script) {
			s.send(16, 500, func(n int) *http.Request {
				r := s.upload("", operations, good, 9<<20)
				if n%2 == 0 {
					r.Header.Del("GraphQL-Require-Preflight")
				}
				return r
			})
		}},
		{"uploads with bad maps", []string{noRequest}, func(s *script) {
			maps := []string{
				"", "[]", `{"0":"variables.a"}`, `{"0":["variables.l.99"]}`, `{"0":["variables.l.-1"]}`, `{"0":["query"]}`, `{"0":["variables"]}`, `{"0":["variables.b.c"]}`, `{"0":[]}`,
				`{"1":["variables.a"]}`, `{"0":["variables` + strings.Repeat(".a", 10_000) + `"]}`, strings.Repeat(`{"0":`, 10_000),
				"{" + strings.TrimSuffix(each(1000, func(i int) string { return fmt.Sprintf(`"%d":["variables.a"],`, i) }), ",") + "}",
			}
			s.send(3, 300, func(n int) *http.Request { return s.upload(s.session, operations, maps[n%len(maps)], 1000) })
		}},
		{"uploads of 9 MB, 32 at once", []string{invalid}, func(s *script) {
			const files = `{"query":"query($a:Upload){me{id}}","variables":{"a":null}}`
			s.send(32, 200, func(int) *http.Request { return s.upload(s.session, files, good, 9<<20) })
		}},
		{"pictures that take much to decode", []string{answered}, func(s *script) {
			const takes = `{"query":"mutation($a:Upload!){uploadImage(file:$a){image{url} userErrors{code message}}}","variables":{"a":null}}`
			all := largePictures()
			s.send(6, 24, func(n int) *http.Request {
				file := all[n%len(all)]
				return s.uploadOf(s.session, takes, good, bytes.NewReader(file), int64(len(file)))
			})
		}},
	}
}

// largePictures returns pictures with the maximum number of pixels, of each kind: 24 megapixels in
// colour, with transparency, and subsampled as by cameras; 12 with 16 bits per channel.
func largePictures() (files [][]byte) {
	whole, deep := image.Rect(0, 0, 6000, 4000), image.Rect(0, 0, 4000, 3000)
	glass := image.NewNRGBA(whole)
	glass.SetNRGBA(1, 1, color.NRGBA{R: 1, A: 9})
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	for _, img := range []image.Image{image.NewRGBA(whole), glass, image.NewNRGBA64(deep), image.NewRGBA64(deep)} {
		var b bytes.Buffer
		if err := fast.Encode(&b, img); err != nil {
			panic(err) // it is a test's own
		}
		files = append(files, b.Bytes())
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(whole), nil); err != nil {
		panic(err)
	}
	return append(files, b.Bytes())
}

// documents sends documents in turn.
func documents(times int, list ...string) func(*script) {
	bodies := make([]string, len(list))
	for i, text := range list {
		bodies[i] = body(text, nil)
	}
	return posts(times, bodies...)
}

// posts sends bodies in turn.
func posts(times int, bodies ...string) func(*script) {
	return func(s *script) { s.post(8, times, func(n int) string { return bodies[n%len(bodies)] }) }
}

// post sends n bodies over the given number of connections.
func (s *script) post(connections, times int, body func(n int) string) {
	s.send(connections, times, func(n int) *http.Request {
		text := body(n)
		return s.request(http.MethodPost, strings.NewReader(text), int64(len(text)))
	})
}

// send sends n requests over the given number of connections, from several addresses.
func (s *script) send(connections, times int, request func(n int) *http.Request) {
	work := make(chan int)
	var all sync.WaitGroup
	for c := range connections {
		transport := &http.Transport{DialContext: dialer(s.from(c)).DialContext, DisableCompression: true}
		client := &http.Client{Transport: transport}
		all.Go(func() {
			defer transport.CloseIdleConnections()
			for n := range work {
				s.got(said(client.Do(request(n)))) //nolint:bodyclose // said does
			}
		})
	}
	for n := range times {
		work <- n
	}
	close(work)
	all.Wait()
}

func (s *script) request(method string, body io.Reader, length int64) *http.Request {
	r, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.host+"/graphql", body)
	if err != nil {
		panic(err) // it is a test's own
	}
	r.ContentLength = length
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/graphql-response+json")
	return r
}

// upload returns a multipart request with one file of the given size.
func (s *script) upload(session, operations, places string, size int64) *http.Request {
	return s.uploadOf(session, operations, places, endless(size), size)
}

// uploadOf returns a multipart request with the given file.
func (s *script) uploadOf(session, operations, places string, file io.Reader, size int64) *http.Request {
	const part = "--b\r\nContent-Disposition: form-data; name=%q%s\r\n\r\n"
	head := fmt.Sprintf(part+"%s\r\n"+part+"%s\r\n"+part, "operations", "", operations, "map", "", places, "0", `; filename="a.png"`)
	const tail = "\r\n--b--\r\n"
	r := s.request(http.MethodPost, io.MultiReader(strings.NewReader(head), file, strings.NewReader(tail)), int64(len(head)+len(tail))+size)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("GraphQL-Require-Preflight", "1")
	if session != "" {
		r.Header.Set("Authorization", "Bearer "+session)
	}
	return r
}

// wrongTypes sends requests with headers that are not GraphQL.
func wrongTypes(s *script) {
	s.send(8, 2000, func(n int) *http.Request {
		r := s.request(http.MethodPost, strings.NewReader(body("{me{id}}", nil)), -1)
		switch n % 8 {
		case 0:
			r.Header.Set("Content-Type", "text/plain")
		case 1:
			r.Header.Del("Content-Type")
		case 2:
			r.Header.Set("Content-Type", "application/json; charset=utf-16")
		case 3:
			r.Header.Set("Content-Type", strings.Repeat("application/json;", 1000))
		case 4:
			r.Header.Set("Accept", "image/png")
		case 5:
			r.Header.Set("Accept", strings.Repeat("text/html;q=0.1,", 1500))
		case 6:
			r.Method = http.MethodPut
		case 7:
			r = s.request(http.MethodGet, http.NoBody, 0)
			r.URL.RawQuery = "query=" + strings.Repeat("a", 20_000)
		}
		return r
	})
}

// Selections of introspect: the fields of the types of the fields of all types, and the usual
// selection of tools.
var (
	typesOfFields = "types{fields{type{fields{name " + each(5, func(i int) string { return fmt.Sprintf("d%d:description", i) }) + //nolint:gochecknoglobals // constants that Go cannot express
		"args{name description type{name}}type{name ofType{name}}}}}}"
	asTools = "queryType{name}mutationType{name}subscriptionType{name}directives{name locations args{name type{" + ofTypes + "}}}types{kind name description " + //nolint:gochecknoglobals // the same
		"fields{name description args{name description defaultValue type{" + ofTypes + "}}type{" + ofTypes + "}}" +
		"inputFields{name description defaultValue type{" + ofTypes + "}}interfaces{name}possibleTypes{name}enumValues{name description}}"
)

const ofTypes = "kind name ofType{kind name ofType{kind name ofType{kind name}}}"

// introspect queries the schema n times in a document, each time with another text.
func (s *script) introspect(inEach int, selection string) {
	s.post(64, 200, func(n int) string {
		return body(fmt.Sprintf("query q%d{", n)+each(inEach, func(i int) string { return fmt.Sprintf("a%d:__schema{%s}", i, selection) })+"}", nil)
	})
}

// sideBySide sends documents with fragments that validation compares pairwise: as many as allowed,
// and too many, each with another text.
func sideBySide(s *script) {
	const fields = "id name area address sold score openHours avgPrice commentCount "
	s.post(8, 500, func(n int) string {
		fragments := []int{33, 50}[n%2]
		name := func(i int) string { return fmt.Sprintf("F%d_%d", n, i) }
		return body("{shops(first:1){edges{node{"+each(fragments, func(i int) string { return "..." + name(i) })+"}}}}"+
			each(fragments, func(i int) string { return "fragment " + name(i) + " on Shop{" + fields + "}" }), nil)
	})
}

// doubling returns a document in which every fragment contains the next one twice. Each text
// contains the numbers of its fragment and of the next.
func doubling(text string) string {
	const fragments = 40
	return "{...F0}" + each(fragments, func(i int) string { return fmt.Sprintf("fragment F%d on Query{"+text+"}", i, i+1) }) +
		fmt.Sprintf("fragment F%d on Query{me{id}}", fragments)
}

// padded returns a short query in a long text.
func padded(n, bytes int) string {
	return fmt.Sprintf("query q%d{me{id}}#%s", n, strings.Repeat("x", bytes))
}

// largest returns a query with nearly the maximum number of points.
func largest(n int) string {
	return fmt.Sprintf("query q%d{%s}", n%4, pageOf(29))
}

// heaviest is the number of heavy queries that one address may run at once: they use up its share
// of the total, and four addresses use up all of it.
const heaviest = 3

// heavy returns a heavy query: every third has 4166 points, the others 4167.
func heavy(n int) string {
	return "{" + pageOf(28) + "shopTypes{id name sort}me{id nickname role" + []string{"", " city", " city"}[n%heaviest] + "}}"
}

// pageOf requests a hundred shops with n fields under other names.
func pageOf(aliases int) string {
	return "shops(first:100){edges{cursor node{id name " + each(aliases, func(i int) string { return fmt.Sprintf("a%d:address", i) }) +
		"type{name} location{lat lng} score openHours area}}}"
}

func persisted(query string, hash any) string {
	r := map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}
	if query != "" {
		r["query"] = query
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it is a test's own
	}
	return string(text)
}

// each joins what text returns for 0 to n-1.
func each(n int, text func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(text(i))
		all.WriteByte(' ')
	}
	return all.String()
}

// endless returns n bytes that begin like a request.
func endless(bytes int64) io.Reader {
	return io.LimitReader(io.MultiReader(strings.NewReader(`{"query":"`), letters{}), bytes)
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func compressed(size int64) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.Copy(w, endless(size)) // into memory
	_ = w.Close()
	return out.Bytes()
}
