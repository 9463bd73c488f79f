package openapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wirelab/workload/external/openapi"
)

// shop has each place where an example may be, and each that may lack one.
const shop = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers:
- url: http://{host}/v1/
  variables: {host: {default: "localhost:8080"}}
security: [{key: []}]
paths:
  /items/{id}/parts/{part}:
    parameters:
    - {name: id, in: path, required: true, schema: {type: integer, example: 1234567}}
    get:
      operationId: getPart
      parameters:
      - {name: part, in: path, required: true, schema: {type: string}}
      - {name: kind, in: query, required: true, schema: {type: string, enum: [a b, c]}}
      - {name: tags, in: query, required: true, schema: {type: array, items: {type: string, default: x}}}
      - {name: filter, in: query, required: true, style: deepObject, explode: true, example: {size: 2, colour: red}}
      - {name: page, in: query, schema: {type: integer, example: 3}}
      - {name: X-Kind, in: header, required: true, examples: {b: {value: second}, a: {value: first}}}
      - {name: session, in: cookie, required: true, schema: {type: string}}
      responses:
        "404": {description: none}
        "200":
          description: it
          content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}
  /items:
    post:
      operationId: addItem
      security: []
      requestBody:
        required: true
        content:
          application/xml: {example: <a/>}
          application/json: {schema: {$ref: "#/components/schemas/Item"}}
      responses: {"201": {description: made}}
    put:
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [a, b], properties: {a: {type: string, example: x y}, b: {type: string}}}
      responses: {default: {description: any}}
  /upload:
    post:
      operationId: addItem
      servers: [{url: "https://files.example/"}]
      requestBody: {required: true, content: {multipart/form-data: {schema: {type: object}}}}
      responses: {"204": {description: nothing}}
components:
  securitySchemes:
    key: {type: http, scheme: bearer}
  schemas:
    Named: {type: object, required: [name], properties: {name: {type: string, example: nut}}}
    Item:
      allOf:
      - $ref: "#/components/schemas/Named"
      - type: object
        required: [sku, day, tags, parent, secret, made]
        properties:
          sku: {type: string, pattern: "^(?=a)"}
          day: {type: string, example: 2026-01-02}
          tags: {type: array, items: {type: string}}
          parent: {nullable: true, allOf: [{$ref: "#/components/schemas/Named"}]}
          secret: {type: string, writeOnly: true, default: s}
          made: {type: string, readOnly: true}
          note: {type: string, example: soft}
          size: {type: integer, minimum: 0, exclusiveMinimum: true, default: 1}
          inner: {$ref: "#/components/schemas/Item"}
`

func TestRead(t *testing.T) {
	d, err := openapi.Read("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	if d.Version != "3.0.3" || d.Title != "Shop" ||
		!reflect.DeepEqual(d.Servers, []string{"http://localhost:8080/v1"}) {
		t.Errorf("%+v", d)
	}
	want := []string{
		"addItem POST /items [Content-Type: application/json] " +
			`{"day":"2026-01-02","name":"nut","note":"soft","parent":{"name":"nut"},"secret":"s","sku":"{{.sku}}","tags":[]}` +
			" lacks [{body.sku sku}] credentials [] reply 201 ",
		"PUT /items PUT /items [Content-Type: application/x-www-form-urlencoded] a=x+y&b={{.b | urlquery}}" +
			" lacks [{body.b b}] credentials [{header Authorization Bearer }] reply 0 ",
		"getPart GET /items/1234567/parts/{{.part}}?kind=a+b&tags=x&filter%5Bcolour%5D=red&filter%5Bsize%5D=2" +
			" [X-Kind: first] [Cookie: session={{.session}}]" +
			" lacks [{path part part} {cookie session session}] credentials [{header Authorization Bearer }]" +
			" reply 200 application/json",
		"POST /upload POST https://files.example/upload [Content-Type: multipart/form-data] {{.body}}" +
			" lacks [{body body}] credentials [{header Authorization Bearer }] reply 204 ",
	}
	if got := lines(d); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	notes := []string{"shop.yaml: two operations are named addItem; the one of POST /upload is named by those"}
	if !reflect.DeepEqual(d.Notes, notes) {
		t.Errorf("%q", d.Notes)
	}
}

// lines returns each operation as one line.
func lines(d *openapi.Document) []string {
	var out []string
	for _, o := range d.Operations {
		text := o.Name + " " + o.Request.Method + " " + o.Request.URL
		for _, f := range o.Request.Fields {
			text += " [" + f.Name + ": " + f.Value + "]"
		}
		if o.Request.Body != nil {
			text += " " + string(o.Request.Body)
		}
		out = append(out, fmt.Sprintf("%s lacks %v credentials %v reply %d %s",
			text, o.Lacks, o.Credentials, o.Status, o.ReplyType))
	}
	return out
}

func TestReplySchema(t *testing.T) {
	d, err := openapi.Read("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ReplySchema(&d.Operations[2])
	if err != nil {
		t.Fatal(err)
	}
	named := `{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}`
	want := `{"$defs":{"Item":{"allOf":[{"$ref":"#/$defs/Named"},{"properties":{` +
		`"day":{"type":"string"},"inner":{"$ref":"#/$defs/Item"},"made":{"type":"string"},` +
		`"note":{"type":"string"},"parent":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Named"}]},{"type":"null"}]},` +
		`"secret":{"type":"string"},"size":{"exclusiveMinimum":0,"type":"integer"},"sku":{"type":"string"},` +
		`"tags":{"items":{"type":"string"},"type":"array"}},` +
		`"required":["day","made","parent","sku","tags"],"type":"object"}]},"Named":` + named +
		`},"$ref":"#/$defs/Item","$schema":"https://json-schema.org/draft/2020-12/schema"}`
	if sorted(t, got) != sorted(t, []byte(want)) {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if none, err := d.ReplySchema(&d.Operations[0]); none != nil || err != nil {
		t.Errorf("%s, %v", none, err)
	}
}

// sorted returns JSON with the names that are required in their order.
func sorted(t *testing.T, text []byte) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(value)
	return strings.ReplaceAll(string(out), `["sku","day","tags","parent","made"]`,
		`["day","made","parent","sku","tags"]`)
}

func TestDialects(t *testing.T) {
	for _, c := range []struct{ text, version, want string }{
		{
			`{"swagger": "2.0", "info": {"title": "a", "version": "1"}, "host": "localhost",
			"basePath": "/v1", "schemes": ["http"], "paths": {"/a": {"post": {"operationId": "a",
			"consumes": ["application/json"],
			"parameters": [{"name": "b", "in": "body", "required": true, "schema": {"type": "object", "example": {"c": 1}}}],
			"responses": {"200": {"description": "d", "schema": {"type": "string"}}}}}}}`,
			"2.0",
			`a POST /a [Content-Type: application/json] {"c":1} lacks [] credentials [] reply 200 application/json`,
		},
		{
			"swagger: '2.0'\ninfo: {title: a, version: '1'}\npaths:\n  /a/{b}: {get: {responses: {'204': " +
				"{description: d}}}}\n",
			"2.0", "GET /a/{b} GET /a/{{.b}} lacks [{path b b}] credentials [] reply 204 ",
		},
		{
			`{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {"/a": {"get": {"parameters":
			[{"name": "q", "in": "query", "required": true, "schema": {"type": ["string", "null"], "examples": ["x"]}},
			{"name": "big", "in": "query", "required": true, "example": 12345678901234567890}]}}}}`,
			"3.1.0", "GET /a GET /a?q=x&big={{.big | urlquery}} lacks [{query big big}] credentials [] reply 0 ",
		},
	} {
		d, err := openapi.Read("a", []byte(c.text))
		if err != nil {
			t.Errorf("%.40s: %v", c.text, err)
			continue
		}
		if got := lines(d); d.Version != c.version || len(got) != 1 || got[0] != c.want {
			t.Errorf("%.40s: %s\n got %q\nwant %q", c.text, d.Version, got, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	const begin = "openapi: 3.0.0\ninfo: {title: a, version: '1'}\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `a.yaml:1: there is no version of OpenAPI; a document begins with "openapi: 3.0.3"`},
		{
			"version", "openapi: 4.0.0\n",
			"a.yaml:1: the version is openapi 4.0.0; OpenAPI 3.0, 3.1 and Swagger 2.0 are read",
		},
		{"old", `{"swagger": "1.2"}`, "a.yaml:1: the version is swagger 1.2"},
		{"no paths", begin, "a.yaml: there are no paths; a document has paths: /items: get: …"},
		{"no operation", begin + "paths: {/a: {}}\n", "a.yaml: there is no operation; a document has paths"},
		{
			"file", begin + "paths:\n  /a:\n    $ref: other.yaml#/a\n",
			`a.yaml:5: $ref is "other.yaml#/a", which is not in this document, and no other file and no network is read`,
		},
		{
			"network", begin + "paths: {/a: {get: {responses: {'200': {\n  $ref: 'http://169.254.169.254/a'}}}}}\n",
			`a.yaml:4: $ref is "http://169.254.169.254/a", which is not in this document`,
		},
		{
			"unknown component",
			begin + "paths: {/a: {get: {responses: {'200': {$ref: '#/components/responses/x'}}}}}\n",
			`#/components/responses/x`,
		},
		{
			"broken JSON", "{\"openapi\": \"3.0.0\",\n \"paths\": {\"/a\": [}}",
			"a.yaml:2: the JSON is broken: invalid character '}'",
		},
		{"broken YAML", "openapi: 3.0.0\npaths: {\n", "a.yaml:"},
		{"kind", begin + "paths:\n  /a:\n    get:\n      operationId: {}\n", "a.yaml:6: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openapi.Read("a.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestEndless: schemas that name themselves and each other end, and cost little.
func TestEndless(t *testing.T) {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths:\n  /a:\n    post:\n      requestBody: " +
		"{required: true, content: {application/json: {schema: {$ref: '#/components/schemas/s0'}}}}\n" +
		"components:\n  schemas:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "    s%d:\n      type: object\n      required: [a, b]\n      properties:\n", i)
		fmt.Fprintf(&b, "        a: {oneOf: [{$ref: '#/components/schemas/s%d'}, {$ref: "+
			"'#/components/schemas/s%d'}]}\n",
			(i+1)%40, i)
		fmt.Fprintf(&b, "        b: {$ref: '#/components/schemas/s%d'}\n", (i+7)%40)
	}
	d, err := openapi.Read("a.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Operations[0].Lacks) == 0 {
		t.Error("an endless schema has a value")
	}
	bomb := "openapi: 3.0.0\nx0: &x0 [a,a,a,a,a,a,a,a,a]\n"
	for i := range 9 {
		at := fmt.Sprintf("*x%d", i)
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(at+",", 9), ","))
	}
	if _, err := openapi.Read("a.yaml", []byte(bomb)); err == nil || !strings.Contains(err.Error(), "a.yaml:") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte(`{"swagger":"2.0","paths":{"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path","required":true}]}}}}`))
	f.Add([]byte("openapi: 3.1.0\npaths: {/a: {get: {responses: {'200': {content: {a/b: {schema: true}}}}}}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := openapi.Read("a.yaml", data)
		if err != nil {
			if !strings.Contains(err.Error(), "a.yaml:") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		for i := range d.Operations {
			if text, err := d.ReplySchema(&d.Operations[i]); err == nil && text != nil && !json.Valid(text) {
				t.Errorf("%s", text)
			}
		}
	})
}
