package rows_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wirelab/workload/external/rows"
)

func TestReadNDJSON(t *testing.T) {
	text := "\xef\xbb\xbf{\"id\": 12345678901234567890, \"ok\": true}\r\n\n{\"tags\": [\"x\"]}"
	got, err := rows.ReadNDJSON("a.ndjson", []byte(text))
	want := []rows.Row{
		{At: "a.ndjson:1", Fields: map[string]any{"id": json.Number("12345678901234567890"), "ok": true}},
		{At: "a.ndjson:3", Fields: map[string]any{"tags": []any{"x"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReadCSV(t *testing.T) {
	got, err := rows.ReadCSV("a.csv", []byte("sku, in stock\na1,007\n\"b,\n2\",\nc3,x\n"))
	want := []rows.Row{
		{At: "a.csv:2", Fields: map[string]any{"sku": "a1", "in stock": "007"}},
		{At: "a.csv:3", Fields: map[string]any{"sku": "b,\n2", "in stock": ""}},
		{At: "a.csv:5", Fields: map[string]any{"sku": "c3", "in stock": "x"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	var wide string
	for i := range 1000 {
		wide += fmt.Sprintf("c%d,", i)
	}
	wide = strings.TrimSuffix(wide, ",")
	ndjson := rows.ReadNDJSON
	for _, c := range []struct {
		name string
		read func(string, []byte) ([]rows.Row, error)
		text string
		want string
	}{
		{"nothing", ndjson, "\n", "a:1: there is no row; write one JSON object on each line"},
		{"list", ndjson, "\n[1]", "a:2: the line is a list; write one JSON object on each line, as jq -c '.[]' does"},
		{"number", ndjson, "{}\n1", "a:2: the line is no JSON object; write one on each line"},
		{"broken", ndjson, "{}\n{a}", "a:2: the JSON is broken: invalid character 'a'"},
		{"several lines", ndjson, "{\n}", "a:1: the object does not end on its line; write each object on one line"},
		{"two objects", ndjson, "{} {}", "a:1: there is more after the object"},
		{"UTF-8", ndjson, "{}\n{\"a\": \"\xff\"}", "a:2: the line is not UTF-8; save the file as UTF-8"},
		{
			"many", ndjson, strings.Repeat("{}\n", rows.MostRows+1),
			fmt.Sprintf("a:%d: there are more than", rows.MostRows+1),
		},
		{"CSV, nothing", rows.ReadCSV, "", "a:1: there is no row; the first line names the fields"},
		{"CSV, no row", rows.ReadCSV, "a,b\n", "a:1: there is no row below the names of the fields"},
		{
			"CSV, semicolons", rows.ReadCSV, "a;b\n1;2\n",
			"a:1: the first line has no comma; separate the fields by commas, not by ';'",
		},
		{"CSV, no name", rows.ReadCSV, "a,\n1,2\n", "a:1: field 2 has no name; the first line names all fields"},
		{"CSV, name twice", rows.ReadCSV, "a,b,a\n", `a:1: two fields are named "a"; give each a different name`},
		{"CSV, values", rows.ReadCSV, "a,b\n1,2\n1\n", "a:3: the row has 1 values, and the first line names 2 fields"},
		{
			"CSV, quote", rows.ReadCSV, "a,b\n1,2\n1,\"x\" y\n",
			`a:3: extraneous or missing " in quoted-field; put a value with quotes`,
		},
		{
			"CSV, many", rows.ReadCSV, "a\n" + strings.Repeat("1\n", rows.MostRows+1),
			fmt.Sprintf("a:%d: there are more than", rows.MostRows+2),
		},
		{
			"CSV, values in all", rows.ReadCSV, strings.Repeat(wide+"\n", 1+rows.MostValues/1000+1),
			fmt.Sprintf("a:%d: there are more than %d values", rows.MostValues/1000+2, rows.MostValues),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.read("a", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// row has a value of each kind.
var row = rows.Row{At: "items.ndjson:7", Fields: map[string]any{
	"sku": `a "1"&<`, "n": json.Number("1.50"), "no": nil, "yes": true, "tags": []any{"x", json.Number("2")},
	"user": map[string]any{"name": "Ann Lee"}, "in stock": "7",
}}

func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{"plain }} text", "plain }} text"},
		{"/items/{{.sku | urlquery}}?n={{.n}}", "/items/a+%221%22%26%3C?n=1.50"},
		{`{"sku": {{json .sku}}, "tags": {{.tags}}}`, `{"sku": "a \"1\"&<", "tags": ["x",2]}`},
		{"{{.n}}", json.Number("1.50")},
		{"{{ .no }}", nil},
		{"{{.yes}}", true},
		{"{{.tags}}", []any{"x", json.Number("2")}},
		{"{{.user.name}}", "Ann Lee"},
		{"{{.user}}!", `{"name":"Ann Lee"}!`},
		{`{{index . "in stock"}}`, "7"},
		{`{{index . "user" "name"}}`, "Ann Lee"},
		{"{{.no}}{{.yes}}", "nulltrue"},
		{"{{json .n}}", "1.50"},
		{"a {{- .n -}} b{{/* not sent */}}", "a1.50b"},
	} {
		got, err := render("body", c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v", c.text, got, err)
		}
	}
}

func render(where, text string) (any, error) {
	parsed, err := rows.Parse(where, text)
	if err != nil {
		return nil, err
	}
	return parsed.Value(row)
}

func TestTemplateFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"{{.colour}}",
			`body: items.ndjson:7: this row has no field "colour", which {{.colour}} asks for; it has in stock, n, no,`,
		},
		{"{{.user.age}}", `this row has no field "user.age", which {{.user.age}} asks for; it has name`},
		{"{{.sku.a}}", `items.ndjson:7: "sku" of this row is no object, so {{.sku.a}} is nothing`},
		{"{{.sku", "body: line 1: unclosed action; write {{.field}}"},
		{"{{.}}", "body: {{.}} is more than the place of a value; write {{.field}}"},
		{"{{if .sku}}a{{end}}", "is more than the place of a value"},
		{"{{range .tags}}{{.}}{{end}}", "is more than the place of a value"},
		{`{{printf "%d" .n}}`, "is more than the place of a value"},
		{`{{.sku | index "a"}}`, "is more than the place of a value"},
		{"{{$x := .sku}}", "is more than the place of a value"},
		{`{{template "x"}}`, "is more than the place of a value"},
		{`a{{define "x"}}b{{end}}`, `{{define "x"}} is more than the place of a value`},
		{"{{" + strings.Repeat("(", 100_000), "too many parentheses"},
	} {
		_, err := render("body", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestShape(t *testing.T) {
	shape, err := rows.ParseValue("shop.yaml:3: body", map[string]any{
		"sku": "{{.sku}}", "qty": "{{.n}}", "fixed": []any{1, true, "x"}, "list": []any{"{{.yes}}", "n={{.n}}"},
		"{{.user.name}}": nil,
	})
	if err != nil || shape.Fixed() {
		t.Fatal(err)
	}
	got, err := shape.Value(row)
	text, _ := json.Marshal(got)
	want := `{"Ann Lee":null,"fixed":[1,true,"x"],"list":[true,"n=1.50"],"qty":1.50,"sku":"a \"1\"\u0026\u003c"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	fixed, err := rows.ParseValue("body", map[string]any{"a": []any{"b"}})
	if err != nil || !fixed.Fixed() {
		t.Errorf("%+v, %v", fixed, err)
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]any{"a": []any{"{{"}}, "body.a[0]: line 1: unclosed action"},
		{map[string]any{"a": []any{"x", "{{.b}}"}}, `body.a[1]: items.ndjson:7: this row has no field "b"`},
		{map[string]any{"{{.yes}}": 1, "true": 2}, `two fields are named "true" with this row's values`},
	} {
		shape, err := rows.ParseValue("body", c.value)
		if err == nil {
			_, err = shape.Value(row)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	deep := any("x")
	for range 1000 {
		deep = []any{deep}
	}
	if _, err := rows.ParseValue("body", deep); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
		t.Errorf("%v", err)
	}
}

func FuzzRows(f *testing.F) {
	for _, s := range []string{"{\"a\": 1}\n{}", "a,b\n1,\"2\n\"\n", "[]", "{\n", "a;b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(string, []byte) ([]rows.Row, error){rows.ReadNDJSON, rows.ReadCSV} {
			got, err := read("a.x", data)
			if err != nil && !strings.Contains(err.Error(), "a.x:") {
				t.Errorf("the error names no file: %v", err)
			}
			if err == nil && len(got) == 0 {
				t.Error("there is neither a row nor an error")
			}
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{{.sku}}", "a{{.user.name | urlquery}}{{json .n}}", `{{index . "in stock"}}`, "{{define `x`}}",
		"{{if .a}}{{end}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := rows.Parse("body", text)
		if err != nil {
			return
		}
		if value, err := parsed.Value(row); err == nil {
			if _, err := json.Marshal(value); err != nil {
				t.Errorf("%#v: %v", value, err)
			}
		}
	})
}
