package httpfile_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wirelab/workload/external/httpfile"
	"wirelab/workload/external/request"
)

var sources = request.Sources{
	Open: func(name string) ([]byte, error) {
		if name == "./item.json" {
			return []byte(`{"sku": "{{sku}}"}`), nil
		}
		return nil, errors.New("no such file")
	},
	Lookup: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
}

// shop has one request of each form.
const shop = "\xef\xbb\xbf" + `# the shop
@host = localhost:8080
@base = http://{{host}}/v1
@sku=a1

GET {{base}}/items HTTP/1.1

### list, in several lines
// @no-log
GET {{base}}/items
    ?page=2&q=a b
    # not sent
    &size=10
Accept: application/json
# @name listed
Connection: close

### 
# @name add
POST {{base}}/items
Content-Type: application/json
Authorization: Basic ann s3cret

{
  "sku": "{{sku}}", "nested": {"a": {"b": 1}}
}

> {%
  client.test("x", function() { })
%}
<> 2026-01-01.200.json

###
@sku = b2
PUT /items/{{sku}} HTTP/2
Host: {{host}}
Authorization: Bearer {{$processEnv TOKEN}}

< ./item.json
>>! out.json
###
< {%
  request.variables.set("a", "b")
%}
POST http://{{host}}/form
Content-Type: application/x-www-form-urlencoded

a={{sku}}
  &b=2
###
POST http://{{host}}/parts
Content-Type: multipart/form-data; boundary=x

--x
Content-Disposition: form-data; name="f"

<@ ./item.json
--x--

###
# @name query
POST http://{{host}}/graphql
X-REQUEST-TYPE: GraphQL

query Q($id: ID!) {

  item(id: $id) { sku }
}

{"id": "{{sku}}"}
###
http://u:p@{{host}}/plain
###
DELETE {{host}}/items/{{sku}}
###
`

func TestRead(t *testing.T) {
	got, notes, err := httpfile.Read("shop.http", []byte(shop), sources)
	if err != nil {
		t.Fatal(err)
	}
	want := []request.Request{
		{At: "shop.http:6", Method: "GET", URL: "http://localhost:8080/v1/items"},
		{
			Name: "listed", At: "shop.http:10", Method: "GET",
			URL:    "http://localhost:8080/v1/items?page=2&q=a%20b&size=10",
			Fields: []request.Field{{Name: "Accept", Value: "application/json"}},
		},
		{
			Name: "add", At: "shop.http:20", Method: "POST", URL: "http://localhost:8080/v1/items",
			Fields: []request.Field{
				{Name: "Content-Type", Value: "application/json"},
				{Name: "Authorization", Value: "Basic YW5uOnMzY3JldA=="},
			},
			Body: []byte("{\n  \"sku\": \"a1\", \"nested\": {\"a\": {\"b\": 1}}\n}"),
		},
		{
			At: "shop.http:35", Method: "PUT", URL: "http://localhost:8080/items/b2",
			Fields: []request.Field{{Name: "Authorization", Value: "Bearer s3cret"}},
			Body:   []byte(`{"sku": "{{sku}}"}`),
		},
		{
			At: "shop.http:45", Method: "POST", URL: "http://localhost:8080/form", Body: []byte("a=b2&b=2"),
			Fields: []request.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
		},
		{
			At: "shop.http:51", Method: "POST", URL: "http://localhost:8080/parts",
			Fields: []request.Field{{Name: "Content-Type", Value: "multipart/form-data; boundary=x"}},
			Body: []byte("--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" +
				"{\"sku\": \"b2\"}\r\n--x--\r\n"),
		},
		{
			Name: "query", At: "shop.http:62", Method: "POST", URL: "http://localhost:8080/graphql",
			Fields: []request.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"query":"query Q($id: ID!) {\n\n  item(id: $id) { sku }\n}","variables":{"id":"b2"}}`),
		},
		{
			At: "shop.http:72", Method: "GET", URL: "http://localhost:8080/plain",
			Fields: []request.Field{{Name: "Authorization", Value: "Basic dTpw"}},
		},
		{At: "shop.http:74", Method: "DELETE", URL: "http://localhost:8080/items/b2"},
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("request %d of %d, want of %d:\n got %+v\nwant %+v", i, len(got), len(want),
				got[min(i, len(got)-1)],
				want[min(i, len(want)-1)])
		}
	}
	wantNotes := []string{
		"shop.http:28: a script that reads the reply is left out; wirelab runs none",
		"shop.http:42: a script that runs before the request is left out; wirelab runs none",
	}
	if !reflect.DeepEqual(notes, wantNotes) {
		t.Errorf("notes:\n%s", strings.Join(notes, "\n"))
	}
}

func TestWindows(t *testing.T) {
	text := "POST http://a/\r\nA: b\r\n\r\nx\r\ny\r\n\r\n### get it\r\nGET b\r\n"
	got, _, err := httpfile.Read("a.http", []byte(text), sources)
	if err != nil || len(got) != 2 || string(got[0].Body) != "x\ny" || got[1].URL != "http://b" ||
		got[1].Name != "get it" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	var bomb strings.Builder
	for i := range 30 {
		fmt.Fprintf(&bomb, "@v%d = %s\n", i, strings.Repeat(fmt.Sprintf("{{v%d}}", i+1), 16))
	}
	bomb.WriteString("@v30 = \nGET {{v0}}\n")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n###\n", "a.http:1: there is no request; write one such as: GET http://localhost:8080/items"},
		{"no text", "GET a\xff", "a.http: the file is not a text in UTF-8; save it as UTF-8"},
		{"unset", "\nGET {{host}}/", "a.http:2: the variable {{host}} is not set; write @host = value above"},
		{"unset in a body", "POST a\n\n{\n{{b}}}", "a.http:4: the variable {{b}} is not set"},
		{"endless", "@a = {{b}}\n@b = {{a}}\nGET {{a}}", "a.http:3: the variables name each other without an end"},
		{"huge", bomb.String(), "a.http:32: the values of variables have more than 256 MiB in all"},
		{
			"random", "GET a/{{$guid}}",
			"a.http:1: {{$guid}} is made by an editor, often anew at each call; write a value",
		},
		{
			"reply", "GET a/{{login.response.body.$.id}}",
			"a.http:1: {{login.response.body.$.id}} is taken from another reply",
		},
		{"environment", "GET a/{{$processEnv NONE}}", "a.http:1: the variable NONE of the environment is not set"},
		{"definition", "@a b\nGET a", `a.http:1: "@a b" sets no variable; write @name = value`},
		{
			"field", "GET a\nBearer s3cret\n",
			`a.http:2: "Bearer …" is no header field; write Name: value, and an empty line`,
		},
		{"field value", "GET a\na: b\x01", "a.http:2: the value of a has control characters"},
		{"URL", "GET http://a:b/c d", `a.http:1: "http://a:b/c%20d" is not a URL; write one such as`},
		{"scheme", "GET ftp://a", `a.http:1: the URL's scheme is "ftp"; write http or https`},
		{"GRAPHQL", "GRAPHQL http://a", "a.http:1: GRAPHQL is no method of HTTP; write POST"},
		{"WEBSOCKET", "WEBSOCKET ws://a", "a.http:1: WEBSOCKET is no method of HTTP"},
		{"curl", "curl http://a", "a.http:1: a curl command stands in a file of requests"},
		{"a reply", "HTTP/1.1 200 OK\nA: b", "a.http:1: a reply stands where a request is expected"},
		{"file", "POST a\n\n< none", `a.http:3: "none" cannot be read: no such file`},
		{"encoding", "POST a\n\n<@latin1 x", `a.http:3: the file is read in the encoding "latin1"; save it as UTF-8`},
		{
			"no separator", "POST a\n\nx\n> ./a.js\n\n# b\nPOST b",
			`a.http:7: "POST …" follows the handling of the reply; write ###`,
		},
		{"digest", "GET a\nAuthorization: Digest u p", "a.http:2: the server must be asked first for Digest"},
		{
			"editor's", "GET a\nAuthorization: AWS x",
			"a.http:2: AWS is generated by an editor; write the field in its final form",
		},
		{
			"boundary", "POST a\nContent-Type: multipart/form-data\n\nx",
			"a.http:4: the field Content-Type has no boundary",
		},
		{
			"GraphQL", "POST a\nX-Request-Type: GraphQL\n\n{a}\n\n{b}",
			"a.http:1: the variables of this GraphQL query are not JSON",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := httpfile.Read("a.http", []byte(c.text), sources)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(shop)
	f.Add("@a={{b}}\n@b={{a}}\nGET {{a}}")
	f.Add("POST /a\nHost: b\nContent-Type: multipart/x; boundary=a\n\n< ./item.json\n")
	f.Add("< {%\n%}\n{{\n}}\nGET a\n\n> {%")
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := httpfile.Read("a.http", []byte(text), sources)
		if err != nil {
			if !strings.Contains(err.Error(), "a.http:") {
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
