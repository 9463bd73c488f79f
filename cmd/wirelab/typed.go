package main

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/workload/external"
)

// typedTarget reads what was typed as a target: one URL, before it perhaps what is spoken there.
func typedTarget(args []string) (at *url.URL, kind external.Kind, err error) {
	last := args[len(args)-1]
	if len(args) == 2 {
		kind = external.Kind(args[0])
		switch {
		case strings.Contains(args[0], "://"):
			return nil, "", cli.Usage("load calls one target; to compare two, describe them: wirelab own init %s", args[0])
		case !slices.Contains(external.Kinds(), kind):
			return nil, "", wirelab.UnknownName("kind of service", args[0], kindNames())
		}
	}
	if file, _, _ := strings.Cut(last, ":"); described(file) {
		return nil, "", cli.Usage("%s describes a service: wirelab compare %s:WIRE measures it, and wirelab own check %s lists its wires", last, file, file)
	}
	at, err = url.Parse(last)
	switch {
	case err == nil && at.Host != "":
	case last == string(external.GraphQL), last == string(external.GRPC):
		return nil, "", cli.Usage("%s: its URL is missing, such as %s http://localhost:8080/%s", last, last, last)
	case bare.MatchString(last):
		return nil, "", cli.Usage("%s has no scheme; write http://%s, or grpc://%s for gRPC", last, last, last)
	default:
		return nil, "", cli.Usage("%q is no URL with a host; write for example http://localhost:8080/items or grpc://localhost:9000/shop.Cart/AddItem", last)
	}
	if !strings.Contains(" "+strings.Join(schemes, " ")+" ", " "+at.Scheme+" ") {
		return nil, "", wirelab.UnknownName("scheme", at.Scheme, schemes)
	}
	return at, kind, nil
}

var (
	// bare is a host without a scheme: localhost:8080/items, example.com, :8080.
	bare = regexp.MustCompile(`^(?:[A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?(?:/.*)?$`)
	// schemes are those of targets.
	schemes = []string{"http", "https", "grpc", "grpcs", "ws", "wss", "sse"}
)

func kindNames() (all []string) {
	for _, k := range external.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// typedPath is the path of a URL with its query. Where fields of rows or variables are to be filled in, it is as it was
// typed: a URL would write their braces as %7B.
func typedPath(typed string, at *url.URL) string {
	_, rest, _ := strings.Cut(typed, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 || !strings.Contains(rest, "{{") && !strings.Contains(rest, "${") {
		return at.RequestURI()
	}
	rest, _, _ = strings.Cut(rest[i:], "#")
	if rest[0] != '/' {
		rest = "/" + rest
	}
	return rest
}

// asTyped is an error of the description that flags were made to, in the words of who typed them.
func asTyped(err error, target string) error {
	var coded *wirelab.Error
	if !errors.As(err, &coded) {
		return err
	}
	text := coded.Message
	for _, w := range typedWords {
		if found := w.field.FindString(text); found != "" {
			text = strings.ReplaceAll(w.typed, "TARGET", target) + text[len(found):]
			break
		}
	}
	if strings.HasSuffix(text, "it is missing; write for example call: shop.Cart/AddItem") {
		text = target + ": the method is missing; write for example " + strings.TrimSuffix(target, "/") + "/shop.Cart/AddItem, " +
			"or list methods: wirelab own init " + target
	}
	typed := *coded
	typed.Message = text + hint(text, target)
	return cli.With(cli.Code(err), &typed)
}

// typedWords are fields of a description, and what is typed for them.
var typedWords = []struct {
	field *regexp.Regexp
	typed string
}{
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.(?:message|file|body|send|variables): `), "--data: "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.document: it is missing; .*document: `), "--data is missing; write for example -d "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.headers\.?`), "--header "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.call: unknown`), "TARGET: unknown"},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target(?:\.path)?: `), "TARGET: "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.rows: `), "--rows: "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.schema: `), "--expect: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target\.version: `), "--http: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target\.(schema|proxy|unix): `), "TARGET: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target(?:\.target|\.tls)?: `), "TARGET: "},
}

// hint says what to change where a first call failed; "" where its error says enough.
func hint(text, target string) string {
	text = fault.Plain(text)
	for _, h := range hints {
		if strings.Contains(text, h.says) {
			return "; " + strings.NewReplacer("PLAIN", plainly(target), "SECURE", securely(target)).Replace(h.try)
		}
	}
	return ""
}

// hints are what libraries say where the target is spoken to in another way than it speaks.
// The first that is found counts.
var hints = []struct{ says, try string }{
	{"first record does not look like a TLS handshake", "it does not speak TLS: write PLAIN"},
	{"it does not speak gRPC in the clear", "if it speaks it over TLS, write SECURE; if it is HTTP, write http://"},
	{"HTTP request to an HTTPS server", "write SECURE"},
	{"HTTP request was sent to HTTPS port", "write SECURE"},
	{"signed by unknown authority", "--ca FILE trusts its authority, and --insecure takes any certificate"},
	{"failed to verify certificate", "--server-name says which name it must have, and --insecure takes any certificate"},
	{`malformed HTTP response "\x00\x00`, "it answers in HTTP/2: --http 2 speaks it, and grpc:// speaks gRPC"},
	{"closed the connection", "look at its log; it may speak HTTP/2 (--http 2) or TLS (SECURE) only"},
	{"client conn could not be established", "it may not speak HTTP/2: try without --http"},
	{"code 101 but got", "it takes no WebSocket at this path"},
	{"want text/event-stream", "it sends no events at this path; http:// calls it as usual"},
	{"status 405", "--method sets another method"},
	{"status 401", "-H 'Authorization: ${TOKEN}' sends what it may want"},
	{"status 403", "-H 'Authorization: ${TOKEN}' sends what it may want"},
	{"status 415", "-H 'Content-Type: …' says what --data is"},
	{"no answer in time", "--deadline gives it longer"},
}

// plainly and securely are a target without TLS, and with it.
func plainly(target string) string {
	return regexp.MustCompile(`^(http|grpc|ws)s://`).ReplaceAllString(target, "$1://")
}

func securely(target string) string {
	return regexp.MustCompile(`^(http|grpc|ws)://`).ReplaceAllString(target, "${1}s://")
}
