package files_test

import (
	"strings"
	"testing"

	"wirelab/workload/external/files"
	"wirelab/workload/external/request"
)

const document = `{"openapi": "3.0.0", "info": {"title": "a", "version": "1"},
	"servers": [{"url": "http://localhost/v1"}], "paths": {"/a": {"get": {}}, "/a/{id}": {"get": {"operationId": "one"}}}}`

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       files.Kind
	}{
		{"a.har", "", files.HAR},
		{"A.HTTP", "", files.HTTP},
		{"a.rest", "", files.HTTP},
		{"a.csv", "", files.CSV},
		{"a.jsonl", "", files.NDJSON},
		{"a.json", "\xef\xbb\xbf{\n \"log\" : {", files.HAR},
		{"a.json", document, files.OpenAPI},
		{"a.json", `{"paths": {}, "swagger": "2.0"}`, files.OpenAPI},
		{
			"a.json", "{\"paths\": {\"" + strings.Repeat("x", 100_000) + "\": {}},\n\"openapi\": \"3.1.0\"}",
			files.OpenAPI,
		},
		{"a.json", `{"paths": {"/log": {"x": {"log": 1, "entries": 2}}}, "openapi": "3.0.1"}`, files.OpenAPI},
		{"a.json", `{"version": 1, "log": {"entries": []}}`, files.HAR},
		{"api.yml", "# api\nopenapi: 3.0.1\n", files.OpenAPI},
		{"api", "swagger: '2.0'\n", files.OpenAPI},
		{"a.sh", "#!/bin/sh\ncurl \\\n http://a", files.Curl},
		{"a.txt", "$ curl http://a", files.Curl},
		{"a.bat", `C:\bin\curl.exe ^"http://a^"`, files.Curl},
		{"a.txt", "# all\nGET http://a", files.HTTP},
		{"a.txt", "POST {{host}}/a", files.HTTP},
		{"a.json", "{\"a\": 1}\n{\"a\": 2}\n", files.NDJSON},
		{"a.json", "{\n\"a\": 1}\n", files.Unknown},
		{"a.txt", "nothing", files.Unknown},
		{"", "", files.Unknown},
	} {
		if got := files.KindOf(c.name, []byte(c.text)); got != c.want {
			t.Errorf("%s, %.30q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, url, note, fault string }{
		{
			name: "a.har", text: `{"log": {"entries": [{"request": {"method": "GET", "url": "http://a/"}}]}}`,
			url: "http://a/",
		},
		{name: "a.sh", text: "curl a.example", url: "http://a.example"},
		{name: "a.http", text: "GET http://a/b", url: "http://a/b"},
		{
			name: "a.json", text: document, url: "http://localhost/v1/a",
			note: "a.json: one is left out: the document has no example of path id",
		},
		{
			name: "a.csv", text: "a,b\n",
			fault: "a.csv: the file has rows of values, and no requests; name it as the rows",
		},
		{name: "a.txt", text: "nothing", fault: "a.txt: the kind of the file is not known; HAR files, curl commands"},
		{
			name: "a.json", text: `{"info": {"_postman_id": "1"}}`,
			fault: "a.json: the file is a collection of Postman; export",
		},
		{
			name: "a.yaml", text: "openapi: 3.0.0\npaths: {'/{a}': {get: {}}}\n",
			fault: "a.yaml: each operation lacks a value that the document has no example of",
		},
		{name: "a.yaml", text: "openapi: 3.0.0\n", fault: "a.yaml: there are no paths"},
	} {
		got, notes, err := files.Read(c.name, []byte(c.text), request.Sources{})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v\nwant %s", c.name, err, c.fault)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0].URL != c.url || strings.Join(notes, "\n") != c.note {
			t.Errorf("%s: %+v, %q, %v", c.name, got, notes, err)
		}
	}
}
