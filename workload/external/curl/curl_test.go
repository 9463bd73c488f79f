package curl_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"wirelab/workload/external/curl"
	"wirelab/workload/external/request"
)

// sources has two files and a variable.
var sources = request.Sources{
	Open: func(name string) ([]byte, error) {
		switch name {
		case "item.json":
			return []byte("{\"sku\":\r\n \"a\xff1\"}\n"), nil
		case "fields":
			return []byte("X-A: 1\n\nX-B: 2\n"), nil
		}
		return nil, errors.New("no such file")
	},
	Lookup: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
}

// line returns a request as one line, with its fields and its body.
func line(q request.Request) string {
	var b strings.Builder
	b.WriteString(q.Method + " " + q.URL)
	for _, f := range q.Fields {
		b.WriteString(" [" + f.Name + ": " + f.Value + "]")
	}
	if q.Body != nil {
		b.WriteString(" " + string(q.Body))
	}
	return b.String()
}

const (
	form = " [Content-Type: application/x-www-form-urlencoded] "
	at   = "http://localhost:8080/items"
)

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "curl " + at, "GET " + at},
		{"prompt", "$ curl localhost:8080/items # all", "GET " + at},
		{"path", "/usr/bin/curl -sSL " + at, "GET " + at},
		{"method", "curl -XDELETE " + at, "DELETE " + at},
		{"data", "curl " + at + " -d a=1 -d b=2", "POST " + at + form + "a=1&b=2"},
		{"empty data", "curl " + at + " -d ''", "POST " + at + form},
		{"data file", "curl " + at + " -d @item.json", "POST " + at + form + "{\"sku\": \"a\xff1\"}"},
		{
			"binary file", "curl " + at + " --data-binary @item.json",
			"POST " + at + form + "{\"sku\":\r\n \"a\xff1\"}\n",
		},
		{"raw", "curl " + at + " --data-raw @x", "POST " + at + form + "@x"},
		{"short for an option", "curl --sil --data-b x=1 " + at, "POST " + at + form + "x=1"},
		{
			"put", "curl -X PUT " + at + " -H 'content-type: text/plain' -d x",
			"PUT " + at + " [content-type: text/plain] x",
		},
		{
			"upload", "curl -T item.json http://localhost/up/",
			"PUT http://localhost/up/item.json {\"sku\":\r\n \"a\xff1\"}\n",
		},
		{
			"json", "curl --json '{\"a\":' --json '1}' " + at,
			"POST " + at + ` [Accept: application/json] [Content-Type: application/json] {"a":1}`,
		},
		{
			"encode", "curl " + at + " --data-urlencode 'q=a b&c' --data-urlencode '=x=y' --data-urlencode 'p q'",
			"POST " + at + form + "q=a%20b%26c&x%3Dy&p%20q",
		},
		{
			"encode file", "curl -G " + at + " --data-urlencode n@item.json",
			"GET " + at + "?n=%7B%22sku%22%3A%0D%0A%20%22a%FF1%22%7D%0A",
		},
		{"get", "curl -G " + at + "?x=1 -d a=1 --url-query 'q=b c'", "GET " + at + "?x=1&q=b%20c&a=1"},
		{"head", "curl -I " + at, "HEAD " + at},
		{"user", "curl -u u:p " + at, "GET " + at + " [Authorization: Basic dTpw]"},
		{"user in URL", "curl http://u:p@localhost/", "GET http://localhost/ [Authorization: Basic dTpw]"},
		{"range", "curl -r 600 " + at, "GET " + at + " [Range: bytes=600-]"},
		{"cookies", "curl -b a=1 -b 'b=2; c=3' " + at, "GET " + at + " [Cookie: a=1; b=2; c=3]"},
		{
			"agent", "curl -A me -e http://x -r 0-9 --oauth2-bearer t " + at,
			"GET " + at + " [User-Agent: me] [Referer: http://x] [Range: bytes=0-9] [Authorization: Bearer t]",
		},
		{
			"fields", "curl -H 'A: b:c' -H 'X-Empty;' -H 'Accept:' -H ':authority: x' -H 'Content-Length: 3' " + at,
			"GET " + at + " [A: b:c] [X-Empty: ]",
		},
		{"removed", "curl -H 'Content-Type:' -d x " + at, "POST " + at + " x"},
		{"field file", "curl -H @fields " + at, "GET " + at + " [X-A: 1] [X-B: 2]"},
		{
			"ignored", "curl -k --compressed -o /dev/null -w '%{http_code}' --retry 3 --no-keepalive " +
				"--http2 -m 5 " + at,
			"GET " + at,
		},
		{"continued", "curl -X POST \\\n  -H 'A: b' \\\r\n " + at, "POST " + at + " [A: b]"},
		{"double quotes", `curl -d "a \"b\" \$c \d" ` + at, "POST " + at + form + `a "b" $c \d`},
		{"ANSI", `curl -d $'a\'b\n\u00e9\x41\101\ud83d\ude00\q' ` + at, "POST " + at + form + "a'b\néAA😀\\q"},
		{"joined", `curl -d 'a'"b"c ` + at, "POST " + at + form + "abc"},
		{"letters of others", "curl -d 'Grüße' " + at, "POST " + at + form + "Grüße"},
		{"variable", `curl -H "Authorization: Bearer ${TOKEN}" ` + at, "GET " + at + " [Authorization: Bearer s3cret]"},
		{"assigned", "HOST=localhost:8080\nexport ID='4 2'\ncurl $HOST/items -d \"$ID\"", "POST " + at + form + "4 2"},
		{"dollar", "curl -d '$x' -d \"5$\" " + at, "POST " + at + form + "$x&5$"},
		{"piped", "curl -s " + at + " 2>/dev/null | jq .", "GET " + at},
		{"written", "curl " + at + " > 'a b' 2>&1", "GET " + at},
		{
			"several", "curl a.example/1 a.example/2; curl b.example && curl c.example/ --next -d x d.example",
			"GET http://a.example/1\nGET http://a.example/2\nGET http://b.example\nGET http://c.example/\n" +
				"POST http://d.example" + form + "x",
		},
		{
			"brackets", "curl 'http://localhost/?a[]=1' -g 'http://localhost/{a}'",
			"GET http://localhost/?a[]=1\nGET http://localhost/{a}",
		},
		{"IPv6", "curl 'http://[::1]:8080/items'", "GET http://[::1]:8080/items"},
		{
			"cmd", "curl ^\"http://localhost:8080/items?a=1^&b=^%^20^\" ^\r\n  -H ^\"content-type: " +
				"application/json^\" ^\r\n" +
				"  --data-raw ^\"^{^\\^\"sku^\\^\":^\\^\"a1^\\^\"^}^\" &\r\ncurl http://localhost/\r\n",
			`POST ` + at + `?a=1&b=%20 [content-type: application/json] {"sku":"a1"}` + "\nGET http://localhost/",
		},
		{
			"cmd, quoted", "curl \"http://localhost:8080/items\" ^\n  -H \"A: b ^ c\" ^\n  -d \"x\\\\y \\\"z\\\"\"",
			"POST " + at + " [A: b ^ c]" + form + `x\\y "z"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := curl.Read("a.sh", []byte(c.text), sources)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, q := range got {
				lines = append(lines, line(q))
			}
			if all := strings.Join(lines, "\n"); all != c.want {
				t.Errorf("\n got %s\nwant %s", all, c.want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	got, notes, err := curl.Read("a.sh", []byte("\ncurl -kk -L \\\n --cacert ca.pem "+at+" | jq .\n"), sources)
	want := []string{
		"a.sh:2: what reads the reply is left out: | jq .",
		"a.sh:2: -k is left out; give it to wirelab: it is of the connection and not of the request",
		"a.sh:2: -L is left out; wirelab takes a redirect as the reply; write the URL that it leads to",
		"a.sh:3: --cacert is left out; give it to wirelab: it is of the connection and not of the request",
	}
	if err != nil || !reflect.DeepEqual(notes, want) || got[0].At != "a.sh:2" {
		t.Errorf("%v\n%s\n%+v", err, strings.Join(notes, "\n"), got)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n", "a.sh:1: there is no curl command; write one such as: curl http://localhost:8080/items"},
		{"other", "\nwget http://a", `a.sh:2: the command is "wget" and not curl; copy the request as cURL`},
		{"script", "set -e\ncurl a", `a.sh:1: the command is "set" and not curl; leave only curl commands in the file`},
		{"no URL", "curl -X POST", "a.sh:1: the command has no URL; write one such as"},
		{"unknown", "curl \\\n --dta x a", "a.sh:2: the option --dta is not known; did you mean --data"},
		{"unknown letter", "curl -W a", "a.sh:1: the option -W is not known; delete it if"},
		{"last", "curl a -H", "a.sh:1: -H is the last word, and takes a value; write the value, in quotes"},
		{"form", "curl -F a=@b a", "a.sh:1: -F cannot be read; its parts are separated by a random text"},
		{"two bodies", "curl -d x -T item.json a", "a.sh:1: -d is a body, and the command has -T or -I too"},
		{"digest", "curl --digest -u a:b a", "a.sh:1: --digest cannot be read; the server must be asked first"},
		{"config", "curl -K file", "a.sh:1: -K cannot be read; write the options of that file into the command"},
		{"method", "curl -X 'A B' a", `a.sh:1: -X is followed by "A B", which is no method; write one such as POST`},
		{"password", "curl -u me a", "a.sh:1: -u has no password; write USER:PASSWORD"},
		{"cookie file", "curl -b jar a", "a.sh:1: -b names a file of cookies; write the cookies themselves"},
		{
			"field", "curl -H 'Bearer s3cret' a",
			`a.sh:1: -H is followed by "Bearer …", which has no colon; write 'Name: value'`,
		},
		{"field name", "curl -H 'a b: c' a", `a.sh:1: -H is followed by "a b", which is no name of a header field`},
		{"field value", "curl -H $'a: b\\x01' a", "a.sh:1: the value of a has control characters"},
		{"file", "curl -d @none a", `a.sh:1: "none" cannot be read: no such file`},
		{"input", "curl -d @- a", "a.sh:1: @- reads the standard input; name a file: @FILE"},
		{
			"URL", "curl 'http://u:s3cret@a/b c?t=s3cret'",
			`a.sh:1: the URL "http://…@a/b c?…" has a ' ' in it; write a space as %20`,
		},
		{"scheme", "curl ftp://a", `a.sh:1: the URL's scheme is "ftp"; write http or https`},
		{"only a path", "curl /items", `a.sh:1: the URL "/items" names no host`},
		{
			"several URLs", "curl 'http://a/{b,c}'",
			`a.sh:1: curl makes several URLs of "http://a/{b,c}"; write each of them`,
		},
		{"range of URLs", "curl 'http://a/[1-9]'", `a.sh:1: curl makes several URLs of "http://a/[1-9]"`},
		{"query", "curl -G a -d 'a b'", "a.sh:1: the query has a ' ' in it; write --data-urlencode in place of -d"},
		{"single quote", "curl\ncurl 'a", "a.sh:2: the quote ' is never closed"},
		{"double quote", "curl \"a\n\n", `a.sh:1: the quote " is never closed`},
		{"ANSI quote", "curl $'a", `a.sh:1: the quote $' is never closed`},
		{"variable", "curl a/$ID", "a.sh:1: the variable $ID is not set; set it"},
		{"expansion", "curl a/${ID:-1}", "a.sh:1: ${…} has more in it than a name"},
		{"command", "curl -d \"$(date)\" a", "a.sh:1: the command runs another in $(…); write what that one prints"},
		{"backquote", "curl `date`", "a.sh:1: the command runs another in `…`"},
		{"here-document", "curl a -d @- <<EOF", `a.sh:1: the command reads a file by "<"; write -d @FILE`},
		{"space", "curl \\ \n a", "a.sh:1: a space follows the backslash at the end of the line; delete the space"},
		{"zero", "curl\na\x00", "a.sh:2: there is a zero byte; a command is text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := curl.Read("a.sh", []byte(c.text), sources)
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
	for _, s := range []string{
		"curl http://localhost -H 'A: b' -d @item.json", `curl $'\u00e9\x41\ud83d\ude00' -XPUT`,
		"A=b\ncurl $A\\\n/c -G -d x",
		"curl ^\"http://a^&b^\" ^\n -H \"a: \\\"b\"",
		"curl a > b | c; curl --json {} --next d && curl -u a:b http://c@d/",
		"curl \"a${TOKEN}\" --data-urlencode n@item.json -T item.json http://a/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := curl.Read("a.sh", []byte(text), sources)
		if err != nil {
			if !strings.Contains(err.Error(), "a.sh:") {
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
