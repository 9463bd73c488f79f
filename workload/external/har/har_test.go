package har_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wirelab/workload/external/har"
	"wirelab/workload/external/request"
)

// browser is what a browser records of HTTP/2, with a body in each direction.
const browser = "\xef\xbb\xbf" + `{
  "log": {
    "version": "1.2",
    "creator": {"name": "test", "version": "1"},
    "pages": [{"id": "page_1", "pageTimings": {"onLoad": 1.5}}],
    "entries": [
      {
        "startedDateTime": "2026-01-02T03:04:05Z", "time": 12.5, "_initiator": {"type": "script"},
        "request": {
          "method": "POST", "url": "http://localhost:8080/items?a=b c#top", "httpVersion": "h2",
          "headers": [
            {"name": ":authority", "value": "localhost:8080"}, {"name": "Host", "value": "localhost:8080"},
            {"name": "Connection", "value": "keep-alive"}, {"name": "Content-Length", "value": "12"},
            {"name": "content-type", "value": "application/json"}, {"name": "Cookie", "value": "a=b"},
            {"name": "accept-language", "value": "de\nen"}
          ],
          "postData": {"mimeType": "application/json", "text": "{\"sku\":\"a1\"}"}
        },
        "response": {
          "status": 201, "headers": [{"name": "content-type", "value": "image/png"},
            {"name": "content-encoding", "value": "br"}],
          "content": {"size": 3, "mimeType": "image/png", "text": "AAEC", "encoding": "base64"}
        }
      },
      {"request": {"method": "GET", "url": "data:image/png;base64,AAEC", "headers": []}},
      {"request": {"method": "GET", "url": "wss://localhost/socket", "headers": []}},
      {"request": {"method": "GET", "url": "http://u:p@localhost/blocked", "headers": []}, "response": {"status": 0}},
      {"request": {"method": "POST", "url": "http://localhost/form", "headers": [], "postData":
        {"mimeType": "application/x-www-form-urlencoded", "text": "",
         "params": [{"name": "a b", "value": "c&d"}, {"name": "e", "value": "f%26"}]}},
        "response": {"status": 204, "headers": [], "content": {"size": 0}}},
      {"request": {"method": "POST", "url": "http://localhost/upload", "headers": [], "postData":
        {"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "f", "fileName": "a.txt"}]}}},
      {"request": {"method": "GET", "url": "http://localhost/big", "headers": []},
        "response": {"status": 200, "headers": [], "content": {"size": 9}}}
    ]
  }
}`

func TestRead(t *testing.T) {
	got, notes, err := har.Read("shop.har", []byte(browser))
	if err != nil {
		t.Fatal(err)
	}
	want := []request.Request{
		{
			At: "shop.har: entry 1", Method: "POST", URL: "http://localhost:8080/items?a=b%20c",
			Body: []byte(`{"sku":"a1"}`),
			Fields: []request.Field{
				{Name: "content-type", Value: "application/json"},
				{Name: "Cookie", Value: "a=b"},
				{Name: "accept-language", Value: "de, en"},
			},
			Reply: &request.Reply{
				Status: 201, Fields: []request.Field{{Name: "content-type", Value: "image/png"}}, Body: []byte{0, 1, 2},
			},
		},
		{
			At: "shop.har: entry 4", Method: "GET", URL: "http://localhost/blocked",
			Fields: []request.Field{{Name: "Authorization", Value: "Basic dTpw"}},
		},
		{
			At: "shop.har: entry 5", Method: "POST", URL: "http://localhost/form", Body: []byte("a+b=c%26d&e=f%26"),
			Fields: []request.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
			Reply:  &request.Reply{Status: 204},
		},
		{
			At: "shop.har: entry 7", Method: "GET", URL: "http://localhost/big",
			Reply: &request.Reply{Status: 200, BodyUnknown: true},
		},
	}
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("request %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
	wantNotes := []string{
		"shop.har:25: entry 2 is left out: its URL is of kind data: and not HTTP",
		"shop.har:26: entry 3 is left out: its URL is of kind wss: and not HTTP",
		"shop.har:32: entry 6 is left out: its body was recorded as parts of multipart/form-data; boundary=x, " +
			"without the bytes that were sent",
	}
	if !reflect.DeepEqual(notes, wantNotes) {
		t.Errorf("notes:\n%s", strings.Join(notes, "\n"))
	}
}

func TestFaults(t *testing.T) {
	post := func(more string) string {
		return `{"log": {"entries": [` + "\n" + `{"request": {"method": "GET", "url": "http://a"` + more + "}\n]}}"
	}
	entry := func(text string) string { return `{"log": {"entries": [` + "\n" + text + "\n]}}" }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "a.har:1: the file ends too early"},
		{"no object", "[]", "a.har:1: the file is no object; a HAR file begins with"},
		{"no log", `{"paths": {}}`, `a.har:1: there is no "log" with "entries"`},
		{"cut", `{"log": {` + "\n" + `"entries": [{"request"`, "a.har:2: the file ends too early"},
		{"broken", `{"log": {` + "\n" + `"entries": [{"request": }`, "a.har:2: the JSON is broken"},
		{"no list", `{"log": {"entries": {}}}`, `a.har:1: "entries" is no list`},
		{"no entry", `{"log": {"entries": []}}`, "a.har:1: there is no entry that can be sent; record some requests"},
		{
			"more", entry(`{"request": {"method": "GET", "url": "http://a"}}`) + "\n{}",
			"a.har:4: there is more after the end",
		},
		{
			"status", entry(`{"request": {"method": "GET", "url": "http://a"}, "response": {"status": "200"}}`),
			`a.har:2: in the entry that begins here "response.status" is string; a number is right`,
		},
		{"method", entry(`{"request": {"method": "", "url": "http://a"}}`), `a.har:2: entry 1: "method" is ""`},
		{
			"URL", entry(`{"request": {"method": "GET", "url": "/a"}}`),
			`a.har:2: entry 1: "url" is "/a"; it is one such as`,
		},
		{
			"name", entry(`{"request": {"method": "GET", "url": "http://a", "headers": [{"name": "a b"}]}}`),
			`a.har:2: entry 1: "a b" is not the name of a header field`,
		},
		{
			"value",
			entry(`{"request": {"method": "GET", "url": "http://a", "headers": [{"name": "a", "value": "\u0000"}]}}`),
			"a.har:2: entry 1: the value of the header field a has control characters",
		},
		{
			"base64", post(`}, "response": {"status": 200, "content": {"text": "§", "encoding": "base64"}}`),
			`a.har:2: entry 1: the "text" of "content" is not base64, which its "encoding" says`,
		},
		{
			"encoding", post(`, "postData": {"text": "a", "encoding": "gzip"}}`),
			`a.har:2: entry 1: the "text" of "postData" is not known in the encoding "gzip"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := har.Read("a.har", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

func TestBound(t *testing.T) {
	one := `{"request":{"method":"GET","url":"http://a"}},`
	text := `{"log":{"entries":[` + strings.Repeat(one, har.MostEntries) + one[:len(one)-1] + `]}}`
	_, _, err := har.Read("a.har", []byte(text))
	want := fmt.Sprintf("there are more than %d entries; split the file", har.MostEntries)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(browser))
	f.Add([]byte(`{"log":{"entries":[{"request":{"method":"GET","url":"http://a","headers":[{"name":"a","value":"b"}]},` +
		`"response":{"status":200}}]}}`))
	f.Add([]byte(`{"log":{"entries":[{"request":{"method":"PUT","url":"http://a",` +
		`"postData":{"text":"§","encoding":"base64"}}}]}}`))
	f.Add([]byte(`{"log":{"entries":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _, err := har.Read("a.har", data)
		if err != nil {
			if !strings.Contains(err.Error(), "a.har:") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		for _, q := range got {
			if target, _, err := request.Target(q.URL); err != nil || target != q.URL || !request.Method(q.Method) {
				t.Errorf("%q %q: %v", q.Method, q.URL, err)
			}
			for _, f := range q.Fields {
				if !request.FieldName(f.Name) || !request.FieldValue(f.Value) || request.OfConnection(f.Name) {
					t.Errorf("field %+v", f)
				}
			}
		}
	})
}
