package bind

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
)

// FuzzRESTMessages decodes arbitrary bodies in JSON and in protobuf: a decoded value must survive encoding and
// decoding.
func FuzzRESTMessages(f *testing.F) {
	c := newRESTCodecs()
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"id":"5","name":null,"picture":{}}`, `{"persons":null,"count":-1}`,
		`{"persons":[null],"next":"x"}`,
		`{"links":[{"p1":{"id":"1"}}]}`, `{"location":{"postCode":2147483648}}`, `{"email":"\ud800\u0000"}`,
		"{\"id\":\"\xff\"}",
		"\n\x015\x12\x02\n\x00\x32\x00", "\n\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		f.Add([]byte(seed))
	}
	for e := httprpc.JSON; e <= httprpc.Proto; e++ {
		data, err := c.person.In(e).Encode(directory.Newcomer())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for e := httprpc.JSON; e <= httprpc.Proto; e++ {
			again(t, c.person.In(e), data)
			again(t, c.list.In(e), data)
			again(t, c.links.In(e), data)
		}
	})
}

func again[T interface{ Equal(T) bool }](t *testing.T, codec *httprpc.Codec[T], data []byte) {
	t.Helper()
	v, err := codec.Decode(data)
	if err != nil {
		return
	}
	written, err := codec.Encode(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	if back, err := codec.Decode(written); err != nil || !back.Equal(v) {
		t.Fatalf("%#v is written %q and read %#v, %v", v, written, back, err)
	}
}

// FuzzRESTRequests sends the handler anything: it answers, never with the
// status of a fault, and in JSON.
func FuzzRESTRequests(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/person", ""},
		{"GET", "/person?after=2&limit=2", ""},
		{"HEAD", "/person/1/links", ""},
		{"POST", "/person", `{"id":"5"}`},
		{"GET", "/person/%2e%2e/links?%", ""},
		{"PUT", "/person//", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	handler := restHandler(directory.New())
	f.Fuzz(func(t *testing.T, method, target, body string) {
		at, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		asked := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		asked.Method, asked.URL = method, at
		if body == "" {
			asked.Body, asked.ContentLength = http.NoBody, 0
		}
		reply := httptest.NewRecorder()
		handler.ServeHTTP(reply, asked)
		if reply.Code >= 500 || reply.Header().Get("Content-Type") != httprpc.MediaJSON {
			t.Fatalf("%s %s: %d, %v, %s", method, target, reply.Code, reply.Header(), reply.Body)
		}
	})
}
