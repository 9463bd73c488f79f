package httprpc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// query is a request that travels in a URL.
type query struct {
	Shelf, Book, After string
	Limit              int32
}

func parameters() []httprpc.Parameter[query] {
	return []httprpc.Parameter[query]{
		httprpc.Text("shelf", func(q *query) *string { return &q.Shelf }),
		httprpc.Text("book", func(q *query) *string { return &q.Book }),
		httprpc.Text("after", func(q *query) *string { return &q.After }),
		httprpc.Number("limit", func(q *query) *int32 { return &q.Limit }),
	}
}

// avroWord is a codec of Avro's strings, as a package that knows Avro has them.
func avroWord() httprpc.Codec[string] {
	return httprpc.Codec[string]{
		Encoding: httprpc.Avro,
		Encode:   func(s string) ([]byte, error) { return append(binary.AppendVarint(nil, int64(len(s))), s...), nil },
		Decode: func(data []byte) (string, error) {
			n, size := binary.Varint(data)
			if size <= 0 || n != int64(len(data)-size) {
				return "", fmt.Errorf("%d bytes announced, %d come", n, len(data)-size)
			}
			return string(data[size:]), nil
		},
	}
}

// allWords are the words in every encoding.
func allWords() httprpc.Forms[string] {
	forms := words()
	forms.Avro = avroWord()
	return forms
}

// library answers with what it was asked, but for some shelves.
func library() http.Handler {
	tell := func(kind string) func(context.Context, query) (string, error) {
		return func(ctx context.Context, q query) (string, error) {
			switch q.Shelf {
			case "none":
				return "", status.Errorf(status.NotFound, "no shelf „%s”", q.Shelf)
			case "taken":
				return "", status.Errorf(status.Conflict, "taken")
			case "broken":
				panic("secret")
			case "slow":
				<-ctx.Done()
				return "", ctx.Err()
			}
			return fmt.Sprintf("%s %+v", kind, q), nil
		}
	}
	all := parameters()
	onlyProto := httprpc.Forms[string]{Proto: words().Proto}
	return httprpc.NewREST(map[string][]httprpc.Route{
		"/shelf": {
			httprpc.Get(all[2:], allWords(), tell("list")),
			httprpc.Unary(allWords(), allWords(),
				func(_ context.Context, s string) (string, error) { return "add " + s, nil }),
		},
		"/shelf/{shelf}": {httprpc.Get(all[:1], allWords(), tell("get"))},
		"/shelf/{shelf}/books": {httprpc.Get([]httprpc.Parameter[query]{all[0], all[2], all[3]}, allWords(),
			tell("books"))},
		"/shelf/{shelf}/book/{book}": {httprpc.Get(all[:2], allWords(), tell("book"))},
		"/shelf/best":                {httprpc.Get(all[3:], allWords(), tell("best"))},
		"/proto":                     {httprpc.Get(all[3:], onlyProto, tell("proto"))},
	})
}

// TestResources asks as a person with curl would.
func TestResources(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, library(), 0)
	for _, c := range []struct {
		why, method, path, body string
		status                  int
		want                    string // a part of the body
	}{
		{"without parameters", "GET", "/shelf", "", 200, `"list {Shelf: Book: After: Limit:0}"`},
		{"with both, in any order", "GET", "/shelf?limit=7&after=%C3%B6+x%20y", "", 200, "After:ö x y Limit:7}"},
		{
			"an empty one, an empty pair and an empty query", "GET", "/shelf?after=&", "", 200,
			"list {Shelf: Book: After: Limit:0}",
		},
		{"a question mark alone", "GET", "/shelf?", "", 200, "list {Shelf: Book: After: Limit:0}"},
		{"a variable", "GET", "/shelf/a", "", 200, "get {Shelf:a "},
		{"escapes in it", "GET", "/shelf/a%2Fb%3F%C3%B6", "", 200, "get {Shelf:a/b?ö "},
		{"an escape that was not needed", "GET", "/%73helf/%61", "", 200, "get {Shelf:a "},
		{"a word before a variable", "GET", "/shelf/best?limit=1", "", 200, "best {Shelf: Book: After: Limit:1}"},
		{"a variable and a query", "GET", "/shelf/a/books?limit=-5", "", 200, "books {Shelf:a Book: After: Limit:-5}"},
		{"two variables", "GET", "/shelf/a/book/b", "", 200, "book {Shelf:a Book:b "},
		{"dots are words like others", "GET", "/shelf/../book/.", "", 200, "book {Shelf:.. Book:. "},
		{"a body", "POST", "/shelf", `{"text":"x"}`, 200, "add x"},

		{"unknown path", "GET", "/book", "", 404, "no such method: /book"},
		{"only a way further on", "GET", "/shelf/a/book", "", 404, "unimplemented"},
		{"too far", "GET", "/shelf/a/books/b", "", 404, "unimplemented"},
		{"an empty variable", "GET", "/shelf/", "", 404, "unimplemented"},
		{"an empty variable within", "GET", "/shelf//books", "", 404, "unimplemented"},
		{"a slash at the end", "GET", "/shelf/a/", "", 404, "unimplemented"},
		{"nothing", "GET", "/", "", 404, "unimplemented"},
		{"found behind the word only", "GET", "/shelf/best/books", "", 404, "unimplemented"},

		{
			"another parameter", "GET", "/shelf?limt=7", "", 400,
			`query parameter \"limt\" is not known; known: after, limit`,
		},
		{
			"one for another path", "GET", "/shelf/a?limit=7", "", 400,
			`query parameter \"limit\" is not known; known: shelf`,
		},
		{"a variable again", "GET", "/shelf/a?shelf=b", "", 400, "shelf is given more than once"},
		{"one twice", "GET", "/shelf?limit=7&limit=7", "", 400, "limit is given more than once"},
		{"one twice, the first empty", "GET", "/shelf?after&after=7", "", 400, "after is given more than once"},
		{"no number", "GET", "/shelf?limit=x", "", 400, `limit is \"x\"; want a whole number of 32 bits`},
		{"an empty number", "GET", "/shelf?limit=", "", 400, `limit is \"\"`},
		{"a fraction", "GET", "/shelf?limit=1.0", "", 400, `limit is \"1.0\"`},
		{"a number of 33 bits", "GET", "/shelf?limit=2147483648", "", 400, `limit is \"2147483648\"`},
		{"a broken escape", "GET", "/shelf?after=%zz", "", 400, "broken escape"},
		{"an escape cut short", "GET", "/shelf?after=%4", "", 400, "broken escape"},
		{"a broken escape in a name", "GET", "/shelf?%=1", "", 400, "broken escape"},
		{"not UTF-8", "GET", "/shelf?after=%FF", "", 400, "not UTF-8"},
		{"a variable that is not UTF-8", "GET", "/shelf/%FF", "", 400, "not UTF-8"},
		{"a query for a body", "POST", "/shelf?text=x", "{}", 400, `query parameter \"text\": none is known here`},
		{"a body for a query", "GET", "/shelf", "{}", 400, "a GET has no body here"},

		{
			"not found (mt-D02)", "GET", "/shelf/none", "", 404,
			`no shelf „none”","details":{"wirelab.code":"not_found"}`,
		},
		{"a conflict", "GET", "/shelf/taken", "", 409, `"conflict"`},
		{"a panic (mt-D03)", "GET", "/shelf/broken", "", 500, `"message":"internal error"`},
		{"no body", "POST", "/shelf", "", 400, "the body is empty"},
		{"half a body", "POST", "/shelf", `{"text":"x`, 400, "cannot be read as application/json"},
		{"nested too deep", "POST", "/shelf", strings.Repeat("[", 20_000), 400, "cannot be read as application/json"},
		{"too large", "POST", "/shelf", strings.Repeat(" ", httprpc.MessageLimit+1), 413, "resource_exhausted"},
	} {
		resp, body := ask(t, c.method, "http://"+address+c.path, c.body)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %s %s: %d %.200s; want %d with %q", c.why, c.method, c.path, resp.StatusCode, body, c.status,
				c.want)
		}
		if got := resp.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: of type %q", c.why, got)
		}
		if strings.Contains(body, "secret") || strings.Contains(body, "json:") {
			t.Errorf("%s: the caller is shown %s", c.why, body)
		}
	}
}

// TestResourceMethods uses the methods that a resource has, and others.
func TestResourceMethods(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, library(), 0)
		transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
		defer transport.CloseIdleConnections()
		transport.Protocols.SetHTTP1(v.name == "HTTP/1.1")
		transport.Protocols.SetUnencryptedHTTP2(v.name != "HTTP/1.1")
		do := func(method, path string) (*http.Response, int64) {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, resp.Body)
			if err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			}
			return resp, n
		}
		for _, c := range []struct{ path, allow string }{
			{"/shelf", "GET, HEAD, POST"}, {"/shelf/a", "GET, HEAD"}, {"/shelf/a/book/b", "GET, HEAD"},
		} {
			for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "BREW", "get"} {
				resp, n := do(method, c.path) //nolint:bodyclose // do closes it
				if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != c.allow || n == 0 {
					t.Errorf("%s %s: %d, Allow %q, a body of %d; want 405, %q, a reason", method, c.path,
						resp.StatusCode,
						resp.Header.Get("Allow"), n, c.allow)
				}
			}
		}
		// A HEAD says all that a GET does and keeps the body to itself.
		for _, path := range []string{
			"/shelf", "/shelf/a", "/shelf/none", "/shelf?x", "/nowhere", "/shelf/" + strings.Repeat("x", 10_000),
		} {
			head, none := do("HEAD", path) //nolint:bodyclose // do closes it
			get, some := do("GET", path)   //nolint:bodyclose // do closes it
			if head.StatusCode != get.StatusCode || none != 0 || some == 0 || head.ContentLength != some {
				t.Errorf("%.20s: HEAD is %d with %d bytes of %d, GET %d with %d",
					path, head.StatusCode, none, head.ContentLength, get.StatusCode, some)
			}
			if got, want := head.Header.Get("Content-Type"), get.Header.Get("Content-Type"); got != want {
				t.Errorf("%.20s: HEAD is of type %q, GET %q", path, got, want)
			}
		}
	})
}

// TestResourceEncodings negotiates replies and sends bodies in each encoding.
func TestResourceEncodings(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, library(), 0)
	const inJSON, inProto, inAvro = `{"text":"hej"}`, "\n\x03hej", "\x06hej"
	const json, proto, avro = "application/json", "application/protobuf", "avro/binary"
	for _, c := range []struct {
		why, method, path, contentType, body, accept string
		status                                       int
		wantType, want                               string // want is how the body begins
	}{
		{"JSON without an Accept", "GET", "/shelf/a", "", "", "", 200, json, `{"text":"get`},
		{"curl's wildcard", "GET", "/shelf/a", "", "", "*/*", 200, json, `{"text":"get`},
		{"protobuf by Accept", "GET", "/shelf/a", "", "", proto, 200, proto, "\n"},
		{"Avro by Accept", "GET", "/shelf/a", "", "", avro, 200, avro, "\x44get"},
		{"by its other name", "GET", "/shelf/a", "", "", "application/avro", 200, "application/avro", "\x44get"},
		{"by a wildcard of its kind", "GET", "/shelf/a", "", "", "text/plain, avro/*;q=0.3", 200, avro, "\x44get"},
		{
			"as a browser asks", "GET", "/shelf/a", "", "",
			"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
			200, json, `{`,
		},
		{"as a client of the origin asks", "GET", "/shelf/a", "", "", "application/json", 200, json, `{`},
		{"with a parameter", "GET", "/shelf/a", "", "", "application/json; charset=UTF-8", 200, json, `{`},
		{"what only one service has", "GET", "/proto", "", "", "", 200, proto, "\n"},
		{
			"and not the other", "GET", "/proto", "", "", json, 406, json,
			`{"code":406,"message":"nothing in Accept \"application/json\" is known: application/protobuf"`,
		},
		{
			"nothing known", "GET", "/shelf/a", "", "", "text/html", 406, json,
			`{"code":406,"message":"nothing in Accept \"text/html\" is known: application/json, application/protobuf, avro/binary"`,
		},
		{"Avro both ways", "POST", "/shelf", avro, inAvro, "", 200, avro, "\x0eadd hej"},
		{
			"under the other name", "POST", "/shelf", "application/avro", inAvro, "application/*", 200,
			"application/avro",
			"\x0eadd hej",
		},
		{
			"Avro for a kind it is not of", "POST", "/shelf", avro, inAvro, "application/*", 200, json,
			`{"text":"add hej"}`,
		},
		{"JSON for Avro", "POST", "/shelf", avro, inAvro, json, 200, json, `{"text":"add hej"}`},
		{"Avro for JSON", "POST", "/shelf", json, inJSON, avro, 200, avro, "\x0eadd hej"},
		{"protobuf for Avro", "POST", "/shelf", avro, inAvro, proto, 200, proto, "\n\x07add hej"},
		{"Avro for protobuf", "POST", "/shelf", proto, inProto, avro, 200, avro, "\x0eadd hej"},
		{"JSON without a content type", "POST", "/shelf", "", inJSON, "", 200, json, `{"text":"add hej"}`},
		{"another content type", "POST", "/shelf", "text/plain", inJSON, "", 415, json, `{"code":415,`},
		{
			"Avro cut short", "POST", "/shelf", avro, "\x06he", json, 400, json,
			`{"code":400,"message":"the body cannot be read as avro/binary"`,
		},
		// code 404, then the message, whose length is announced
		{"a failure in Avro", "GET", "/shelf/none", "", "", avro, 404, avro, "\xa8\x06\x26no shelf " +
			"„none”\x02\x18wirelab.code\x12not_found\x00"},
		{
			"a failure in protobuf", "GET", "/shelf/none", "", "", proto, 404, proto,
			"\x08\x94\x03\x12\x13no shelf „none”\x1a",
		},
		{"no path in Avro", "GET", "/x", "", "", avro, 404, avro, "\xa8\x06\x24no such method: /x\x02"},
	} {
		resp, body := ask(t, c.method, "http://"+address+c.path, c.body, "Content-Type", c.contentType, "Accept",
			c.accept)
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != c.status || got != c.wantType ||
			!strings.HasPrefix(body, c.want) {
			t.Errorf("%s: %d, %q, %q; want %d, %q, %q…", c.why, resp.StatusCode, got, body, c.status, c.wantType,
				c.want)
		}
	}
	// A list may come in several fields.
	resp := raw(t, address, "GET /shelf/a HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nAccept: "+
		"avro/binary\r\nConnection: close\r\n\r\n")
	if !strings.Contains(resp, "Content-Type: avro/binary") {
		t.Errorf("Accept in two fields: %q", resp)
	}
	// A body of a GET that does not announce itself, and one that is none.
	resp = raw(t, address, "GET /shelf/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
	if !strings.HasPrefix(resp, "HTTP/1.1 400 ") || !strings.Contains(resp, "a GET has no body here") {
		t.Errorf("a GET with a body in chunks: %q", resp)
	}
	resp = raw(t, address, "GET /shelf/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	if !strings.HasPrefix(resp, "HTTP/1.1 200 ") {
		t.Errorf("a GET without a body in chunks: %q", resp)
	}
	// A body that does not come to its end.
	resp = raw(t, address, "POST /shelf HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{\"text\":\"x\"}")
	if !strings.HasPrefix(resp, "HTTP/1.1 400 ") || !strings.Contains(resp, "body could not be read") {
		t.Errorf("a body cut short: %q", resp)
	}
}

// raw writes to a connection, closes its half and returns all that comes back.
func raw(t *testing.T, address, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	reply := new(strings.Builder)
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		reply.Write(buffer[:n])
		if err != nil {
			return reply.String()
		}
	}
}

// TestCallGet calls resources by stubs, in every encoding over each version.
func TestCallGet(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, library(), 0)
		client := v.dial(endpoint.Dialing{Address: address, Connections: 2}, false)
		defer client.Close()
		all := parameters()
		for _, codec := range []httprpc.Codec[string]{jsonWord(), words().Proto, avroWord()} {
			list := httprpc.CallGet(client, "/shelf", all[2:], codec)
			get := httprpc.CallGet(client, "/shelf/{shelf}", all[:1], codec)
			book := httprpc.CallGet(client, "/shelf/{shelf}/book/{book}", all[:2], codec)
			for _, text := range []string{
				"a", "a/b", "ö", "%41", "+", "a b", "?&#;=", "\x00\n", "{shelf}", "...",
				"books",
			} {
				for _, c := range []struct {
					name string
					call func(context.Context, query) (string, error)
					ask  query
				}{
					{"list", list, query{After: text, Limit: -2147483648}},
					{"get", get, query{Shelf: text}},
					{"book", book, query{Shelf: text, Book: text}},
				} {
					want := fmt.Sprintf("%s %+v", c.name, c.ask)
					if got, err := c.call(t.Context(), c.ask); got != want || err != nil {
						t.Errorf("%q, %v; want %q", got, err, want)
					}
				}
			}
			for _, text := range []string{"", ".", ".."} {
				if got, err := get(t.Context(), query{Shelf: text}); err == nil ||
					status.CodeOf(err) != status.InvalidArgument {
					t.Errorf("shelf %q: %q, %v", text, got, err)
				}
			}
			if _, err := get(t.Context(), query{Shelf: "none"}); !is(err, status.NotFound, "no shelf „none”") {
				t.Errorf("none: %v", err)
			}
			if _, err := get(t.Context(), query{Shelf: "broken"}); !is(err, status.Internal, "internal error") {
				t.Errorf("broken: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			if _, err := get(ctx, query{Shelf: "slow"}); !is(err, status.DeadlineExceeded, "deadline exceeded") {
				t.Errorf("slow: %v", err)
			}
			cancel()
		}
	})
}

// TestMistakesInResources are found before anything is served.
func TestMistakesInResources(t *testing.T) {
	t.Parallel()
	all := parameters()
	get := func(parameters ...httprpc.Parameter[query]) httprpc.Route {
		return httprpc.Get(parameters, words(), func(context.Context, query) (string, error) { return "", nil })
	}
	post := httprpc.Unary(words(), words(), func(context.Context, string) (string, error) { return "", nil })
	for why, build := range map[string]func(){
		"an unread variable":         func() { httprpc.NewREST(map[string][]httprpc.Route{"/{shelf}": {get(all[1])}}) },
		"a variable a body replaces": func() { httprpc.NewREST(map[string][]httprpc.Route{"/{shelf}": {post}}) },
		"a method twice":             func() { httprpc.NewREST(map[string][]httprpc.Route{"/": {get(), get()}}) },
		"nothing to do":              func() { httprpc.NewREST(map[string][]httprpc.Route{"/": nil}) },
		"a parameter twice": func() {
			httprpc.NewREST(map[string][]httprpc.Route{"/": {get(all[0], all[0])}})
		},
		"two variables at one place": func() {
			httprpc.NewREST(map[string][]httprpc.Route{"/{shelf}/a": {get(all...)}, "/{book}/b": {get(all...)}})
		},
		"a stub without its variable": func() {
			httprpc.CallGet(httprpc.NewClient(nil, "http", "x", 1, nil), "/{shelf}",
				all[1:], jsonWord())
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", why)
				}
			}()
			build()
		}()
	}
}
