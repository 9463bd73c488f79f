package httprpc

import (
	"net/http"
	"net/url"
	"testing"

	"wirelab/wire/status"
)

// asked is a request that travels in a URL.
type asked struct {
	One, Two, After string
	Limit           int32
}

// fuzzParameters are those of the path /a/{one}/b/{two}.
func fuzzParameters() []Parameter[asked] {
	return []Parameter[asked]{
		Text("one", func(a *asked) *string { return &a.One }),
		Text("two", func(a *asked) *string { return &a.Two }),
		Text("after", func(a *asked) *string { return &a.After }),
		Number("limit", func(a *asked) *int32 { return &a.Limit }),
	}
}

const fuzzPath = "/a/{one}/b/{two}"

func fuzzRoot() *place {
	route := Route{Method: http.MethodGet, parameters: names(fuzzParameters())}
	return NewREST(map[string][]Route{fuzzPath: {route}, "/a/word/b/{two}": {
		{Method: http.MethodGet, parameters: []string{"two"}},
	}}).root
}

// FuzzURL feeds paths and queries anything: a reader must refuse with
// InvalidArgument, or read what comes back the same from the URL it is written
// to, and know no query that net/url does not.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"/a/x/b/y", "/a/x/b/y?after=z&limit=5", "/a/%2F/b/%3F?after=%26", "/a//b/", "/a/x/b/y?limit=+1",
		"/a/x/b/y?limit=%2B1",
		"/a/x/b/y?&&after&", "/a/x/b/y?after=%zz", "/a/%ff/b/%00", "/a/./b/..", "/a/word/b/x?two=y", "//a", "*",
		"/a/x/b/y?a;b=c",
		"/a/ö/b/%C3%B6?after=ö", "/a/x/b/y?limit=9999999999999999999999",
	} {
		f.Add(seed)
	}
	root, all := fuzzRoot(), fuzzParameters()
	target := newTemplate(fuzzPath, all)
	base := &url.URL{Scheme: "http", Host: "x"}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := url.ParseRequestURI(text)
		if err != nil {
			return
		}
		found, variables, err := root.find(at)
		if err != nil || found == nil {
			if err != nil && status.CodeOf(err) != status.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if len(found.names) != len(variables) {
			t.Fatalf("%d variables where %d are", len(variables), len(found.names))
		}
		got, err := readURL(all, found, variables, at.RawQuery)
		if err != nil {
			if status.CodeOf(err) != status.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if values, err := url.ParseQuery(at.RawQuery); err != nil || values.Get("after") != got.After {
			t.Fatalf("%q is read %+v, by net/url %v, %v", at.RawQuery, got, values, err)
		}
		if got.One == "" { // the other path
			return
		}
		written, err := target.fill(base, &got)
		if err != nil {
			return // dots
		}
		sent, err := url.ParseRequestURI(written.RequestURI())
		if err != nil {
			t.Fatalf("%+v is written %s: %v", got, written, err)
		}
		found, variables, err = root.find(sent)
		if err != nil || found == nil {
			t.Fatalf("%+v is written %s and not found: %v", got, written, err)
		}
		if back, err := readURL(all, found, variables, sent.RawQuery); err != nil || back != got && got.One != "word" {
			t.Fatalf("%+v is written %s and read %+v, %v", got, written, back, err)
		}
	})
}

// FuzzErrorBodies feeds the error bodies of both binary encodings anything.
func FuzzErrorBodies(f *testing.F) {
	for _, e := range []Encoding{Proto, Avro} {
		f.Add(bodyOf(status.Errorf(status.NotFound, "no „ink”")).encode(e))
	}
	f.Add([]byte("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x00\x00\x01\x04\x02a\x02b\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range []Encoding{Proto, Avro} {
			if err := decodeError(http.StatusNotFound, e.mediaType(), data); err == nil || err.Error() == "" {
				t.Fatalf("%v", err)
			}
		}
		body, err := decodeAvroError(data)
		if err != nil {
			return
		}
		back, err := decodeAvroError(body.encodeAvro())
		if err != nil || back.Code != body.Code || back.Message != body.Message ||
			len(back.Details) != len(body.Details) {
			t.Fatalf("%+v became %+v, %v", body, back, err)
		}
	})
}

// TestErrorBodiesInEachEncoding sends every code there and back.
func TestErrorBodiesInEachEncoding(t *testing.T) {
	t.Parallel()
	for _, code := range status.Codes() {
		sent := &status.Error{Code: code, Message: "50 % of „ö\n\x00𝄞"}
		body := bodyOf(sent)
		for e := JSON; e < encodingsEnd; e++ {
			err := decodeError(body.Code, e.mediaType()+"; v=1", body.encode(e))
			if got, ok := err.(*status.Error); !ok || *got != *sent {
				t.Errorf("%v as %s: %v", sent, e.mediaType(), err)
			}
		}
	}
	for why, data := range map[string]string{
		"nothing": "", "a code beyond 32 bits": "\x80\x80\x80\x80\x20\x00\x00", "a message cut short": "\x00\x06he",
		"a length below zero": "\x00\x01", "no end of the details": "\x00\x00", "something after": "\x00\x00\x00x",
		"a block of too many":         "\x00\x00\x80\x80\x80\x80\x10",
		"a block of the least number": "\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00",
	} {
		if body, err := decodeAvroError([]byte(data)); err == nil {
			t.Errorf("%s is read %+v", why, body)
		}
	}
}
