package external_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"wirelab/internal/process"
	"wirelab/workload/external"
)

// As many rows as there may be are prepared in memory that is a small multiple of theirs, fit a line to a driver, and
// are learnt by the raw driver; more bytes than fit are refused with what to do.
func TestManyRows(t *testing.T) { // alone, since memory is counted
	const rows = 65_536
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"id": %d}`+"\n", i)
	}
	f := files{"rows.ndjson": b.String()}
	url := website(t, http.NotFound)
	text := one(url, "path: '/items/{{.id}}', headers: {X-Id: '{{.id}}'}", ", rows: rows.ndjson")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := f.prepared(t, text)
	runtime.ReadMemStats(&after)
	if n := len(p.Operations[0].Calls["w"].Requests); n != rows {
		t.Fatalf("%d requests", n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	line, err := json.Marshal(p)
	if err != nil || len(line) > process.LineLimit-1<<19 {
		t.Errorf("a line of %d bytes: %v", len(line), err)
	}
	for _, err := range driven(t, p, "op", 100) {
		if err == nil || !strings.Contains(err.Error(), "status 404") {
			t.Fatal(err)
		}
	}
}

// What does not fit a line to a driver is refused, wherever it is.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	row := func(n, size int, fill string) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "{\"v\": %q}\n", strings.Repeat(fill, size))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ rows, call string }{
		"bodies":           {row(200, 100_000, "x"), "path: /, body: '{{.v}}'"},
		"headers":          {row(4000, 6000, "x"), "path: /, headers: {X-V: '{{.v}}'}"},
		"escapes":          {row(100, 40_000, "&"), "path: '/?{{.v}}'"},
		"a file each time": {row(1000, 1, "x"), "path: '/{{.v}}', file: large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files{"rows.ndjson": c.rows, "large": strings.Repeat("y", 1<<20)}
			_, _, err := f.prepare(one("http://localhost:1", c.call, ", rows: rows.ndjson"))
			if err == nil || !strings.Contains(err.Error(),
				": the requests of the service have more than 15 MiB in all") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Two services that each fit a line to a driver, and do not together, are refused.
func TestTooLargeTogether(t *testing.T) {
	t.Parallel()
	f := files{"large": strings.Repeat("y", 7<<20)} // 9.3 MiB in base64
	p := f.prepared(t, one("http://localhost:1", "path: /, file: large", ""))
	other := p
	other.Service += "-2"
	if _, err := external.Join("both", p); err != nil {
		t.Error(err)
	}
	_, err := external.Join("both", p, other)
	if err == nil || !strings.Contains(err.Error(), "requests of more than 15 MiB together") {
		t.Error(err)
	}
}

// Errors of a description say where it is, and what would be right.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"scheme": {
			"service: shop\nwires:\n  rest:\n    target: ftp://shop\noperations: {list: {calls: {rest: {path: /}}}}\n",
			"shop.yaml: [4:13] wires.rest.target: scheme \"ftp\" is none of http, https, grpc, grpcs, ws, wss, sse",
		},
		"wire": {
			"service: shop\nwires: {rest: {target: 'http://shop'}}\noperations:\n  list:\n    calls: {rset: " +
				"{path: /}}\n",
			"shop.yaml: [5:12] operations.list.calls: unknown wire \"rset\"; did you mean rest?",
		},
		"expect": {
			"service: shop\nwires: {rest: {target: 'http://shop'}}\noperations:\n  list:\n    expect: luck\n " +
				"   calls: " +
				"{rest: {path: /}}\n",
			"shop.yaml: [5:13] operations.list.expect: ",
		},
		"secret": {
			"service: shop\nwires:\n  rest:\n    target: http://shop\n    headers:\n      Authorization: Bearer " +
				"abc\noperations: {list: {calls: {rest: {}}}}\n",
			"shop.yaml: [6:22] wires.rest.headers.Authorization: is a secret",
		},
		"field": {
			"service: shop\nwires: {rest: {traget: 'http://shop'}}\noperations: {list: {calls: {rest: {}}}}\n",
			"shop.yaml: [2:16] description.wires.rest: unknown field \"traget\"; did you mean target?",
		},
		"nothing": {"service: shop\n", "shop.yaml: wires: there are none; write for example wires: {rest: "},
	} {
		_, err := external.Parse("shop.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// No text makes the reader panic, or say less than which file is wrong.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		one("http://localhost:1", "path: /", ""),
		one("grpc://localhost:1", "call: a.B/C, message: {a: 1}", ", expect: status"),
		"service: shop\nstart: {run: [a]}\nwires: {a: {target: 'https://[::1]', tls: {ca: x}, headers: {A: " +
			"b}}}\noperations: {b: {steps: [{call: b}]}}\n",
		"wires: {}", "", "service: [", "{\"service\": \"a\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := external.Parse("shop.yaml", []byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), "shop.yaml") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		_ = d
		_, _, _ = files{"rows.ndjson": "{\"a\": 1}\n"}.prepare(text) // whatever it says
	})
}

// FuzzParsePrepared checks that no line makes a driver panic, and that an accepted line is written back unchanged.
func FuzzParsePrepared(f *testing.F) {
	p, _, err := files{"r.ndjson": "{\"a\": 1}\n"}.prepare(one("http://localhost:1", "path: '/{{.a}}'",
		", rows: r.ndjson"))
	if err != nil {
		f.Fatal(err)
	}
	seed, err := json.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"service":"a","wires":[{"name":"w"}],"operations":[{"name":"o","calls":{"w":{"requests":[{}]}}}]}`))
	f.Add([]byte(`{"wires":[{}],"operations":[{"steps":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := external.ParsePrepared(data)
		if err != nil {
			return
		}
		for _, c := range p.Work().Cells {
			_ = c.Holes
			for _, o := range p.Operations {
				_ = p.RawWhy(o.Name, c.Protocol.Name)
			}
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

// Rows of any values fill the templates of a call, or say which row cannot.
func FuzzPrepareRows(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1, "b": "x"}`, `{"a": "&?#/ %", "b": {"c": [1]}}`, `{"a": null}`, `{"a": "é\u0000"}`, "a,b\n1,2\n",
	} {
		f.Add(seed, "/{{.a}}?q={{.a | urlquery}}", "{{.b}}")
	}
	f.Fuzz(func(t *testing.T, rows, path, body string) {
		text, err := json.Marshal(map[string]any{
			"service": "shop", "wires": map[string]any{"w": map[string]any{"target": "http://localhost:1"}},
			"operations": map[string]any{"op": map[string]any{
				"rows": "r.ndjson",
				"calls": map[string]any{"w": map[string]any{
					"path": path, "body": body, "headers": map[string]string{"X-A": "{{.a}}"},
				}},
			}},
		})
		if err != nil {
			t.Skip()
		}
		p, _, err := files{"r.ndjson": rows}.prepare(string(text))
		if err != nil {
			return
		}
		line, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := external.ParsePrepared(line); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Operations[0].Calls["w"].Requests {
			for _, field := range r.Fields {
				if strings.ContainsAny(field.Value, "\r\n\x00") {
					t.Errorf("a header %q: %q", field.Name, field.Value)
				}
			}
			if strings.ContainsAny(r.URL, " \r\n\x00") {
				t.Errorf("a URL %q", r.URL)
			}
		}
	})
}
