package request_test

import (
	"errors"
	"strings"
	"testing"

	"wirelab"
	"wirelab/workload/external/request"
)

func TestSecret(t *testing.T) {
	for _, name := range []string{
		"Authorization", "authorization", "Cookie", "Set-Cookie", "Proxy-Authorization", "X-API-Key", "x-api-key",
		"api_key",
		"X-Auth-Token", "x-csrf-token", "access_token", "refreshToken", "X-Amz-Security-Token",
		"Ocp-Apim-Subscription-Key",
		"client_secret", "password", "X-Hub-Signature-256", "DB_PASSWORD", "grpc-authorization-bin", "PRIVATE-TOKEN",
		"Auth",
	} {
		if !request.Secret(name) {
			t.Errorf("%s is not hidden", name)
		}
	}
	for _, name := range []string{
		"Accept", "Content-Type", "User-Agent", "X-Request-Id", "If-None-Match", "page",
		"monkey", "Author", "",
	} {
		if request.Secret(name) {
			t.Errorf("%s is hidden", name)
		}
	}
}

func TestOfConnection(t *testing.T) {
	for _, name := range []string{":authority", ":method", "Connection", "content-length", "Transfer-Encoding", "TE"} {
		if !request.OfConnection(name) {
			t.Errorf("%s is kept", name)
		}
	}
	for _, name := range []string{"Host", "Accept-Encoding", "Content-Type", "Content-Encoding"} {
		if request.OfConnection(name) {
			t.Errorf("%s is dropped", name)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct{ text, want, user, fault string }{
		{text: "http://localhost:8080/items?a=b", want: "http://localhost:8080/items?a=b"},
		{text: "localhost:8080/items", want: "http://localhost:8080/items"},
		{text: "[::1]:80/items", want: "http://[::1]:80/items"},
		{text: "/items?q=1#part", want: "/items?q=1"},
		{text: "https://a:b%40c@shop/items", want: "https://shop/items", user: "a:b@c"},
		{text: "https://a@shop", want: "https://shop", user: "a:"},
		{text: "", fault: "the URL is empty"},
		{text: "http://shop/a b", fault: "write a space as %20"},
		{text: "ftp://shop/a", fault: `the URL's scheme is "ftp"`},
		{text: "http:///a", fault: "names no host"},
		{text: "http://shop:port/", fault: "is not a URL"},
		{text: "http://shop/%zz", fault: "is not a URL"},
	} {
		target, user, err := request.Target(c.text)
		switch {
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%q: %v, want %q", c.text, err, c.fault)
		case c.fault == "" && (err != nil || target != c.want || user != c.user):
			t.Errorf("%q: %q, %q, %v", c.text, target, user, err)
		}
	}
}

func TestFile(t *testing.T) {
	_, err := request.Sources{}.File("a.sh", 3, "body.json")
	want := `invalid_argument: a.sh:3: "body.json" is a file, and none can be read here; write its content in its place`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	from := request.Sources{Open: func(string) ([]byte, error) { return nil, errors.New("no such file") }}
	_, err = from.File("a.sh", 3, "body.json")
	want = `a.sh:3: "body.json" cannot be read: no such file`
	if err == nil || !strings.Contains(err.Error(), want) || wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("%v", err)
	}
	if _, known := (request.Sources{}).Variable("HOME"); known {
		t.Error("a variable is known without a lookup")
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"http://a:b@shop/items?x=y#z", "localhost:80", "/a", "http://[::1]:80/",
		"http://a@b@c/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, _, err := request.Target(text)
		if err != nil {
			return
		}
		again, user, err := request.Target(target)
		if err != nil || again != target || user != "" {
			t.Errorf("%q became %q, and that %q, %q, %v", text, target, again, user, err)
		}
	})
}
