package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/workload/external"
	"wirelab/workload/external/discover"
)

// Typed is a request to a service as it was typed. Each field is a flag.
type Typed struct {
	Method, Data, Version, Schema, Rows, Expect string
	Headers, ImportPaths, Ignore                []string
	Unix, Proxy                                 string
	MessagesOf                                  int
	Cookies                                     bool
}

// Comparing decides how replies are compared if the user does not say so: fields that differed between the first two
// replies are ignored.
func (f *Typed) Comparing(ctx context.Context, s *Services, p plan.Plan, d external.Description,
	t external.Trial,
) (plan.Plan, error) {
	if f.Expect != "" || len(f.Ignore) > 0 || len(t.Vary) == 0 && !t.Whole {
		return p, nil
	}
	o := d.Operations[p.Operation]
	if t.Whole {
		o.Expect = external.Status
		s.Tell.Note("the replies to two equal calls differ, so only their status is compared; --expect FILE compares " +
			"by a JSON Schema")
	} else {
		o.Ignore = t.Vary
		s.Tell.Note("the replies to two equal calls differ at %s, which is not compared; --ignore adds "+
			"other fields", strings.Join(t.Vary, ", "))
	}
	d.Operations[p.Operation] = o
	text, err := yaml.Marshal(d)
	if err != nil {
		return p, err
	}
	p.External = []plan.External{{Text: string(text)}}
	return s.MakeWork(ctx, p)
}

// TargetWire is the name of the one wire of a service that flags describe.
const TargetWire = "target"

// Describe makes a description from what was typed.
func (f *Typed) Describe(ctx context.Context, s *Services, secure plan.TLS,
	args []string,
) (d external.Description, err error) {
	wire := external.WireText{Version: map[string]string{
		"": "", "1": external.HTTP1, "2": external.HTTP2,
		"3": external.HTTP3,
	}[f.Version], Schema: f.Schema}
	if wire.Version == "" && f.Version != "" {
		return d, wirelab.Errorf(wirelab.InvalidArgument, "--http %q: want 1, 2 or 3", f.Version)
	}
	at, kind, err := typedTarget(args)
	if err != nil {
		return d, err
	}
	wire.Kind = kind
	call := external.CallText{Method: f.Method, Messages: f.MessagesOf}
	wire.Target = at.Scheme + "://" + at.Host
	grpc := at.Scheme == "grpc" || at.Scheme == "grpcs" || wire.Kind == external.GRPC
	if grpc {
		call.Call = strings.TrimPrefix(at.Path, "/")
	} else {
		call.Path = s.typedQuery(typedPath(args[len(args)-1], at))
	}
	if at.User != nil {
		return d, wirelab.Errorf(wirelab.InvalidArgument,
			"a user name and password in a URL end up in logs: use -H 'Authorization: …' instead")
	}
	if call.Headers, err = s.TypedHeaders(f.Headers); err != nil {
		return d, err
	}
	if err := f.body(ctx, s, &call, wire.Kind, grpc); err != nil {
		return d, err
	}
	wire.TLS = external.TLSText{
		CA: secure.CA, Cert: secure.Cert, Key: secure.Key, Name: secure.ServerName, Insecure: secure.Insecure,
	}
	wire.ImportPaths, wire.Proxy, wire.Unix, wire.Cookies = f.ImportPaths, f.Proxy, f.Unix, f.Cookies
	operation := external.OperationText{
		Rows: f.Rows, Calls: map[string]external.CallText{TargetWire: call},
		Ignore: f.Ignore,
	}
	switch external.Expect(f.Expect) {
	case "", external.Learnt, external.Status:
		operation.Expect = external.Expect(f.Expect)
	default:
		operation.Expect, operation.Schema = external.Schema, f.Expect
	}
	return external.Description{
		Service:    external.NameOf(at.Hostname(), "at"),
		Wires:      map[string]external.WireText{TargetWire: wire},
		Operations: map[string]external.OperationText{operationOf(at.Path): operation},
	}, nil
}

// body sets the body of the request.
func (f *Typed) body(ctx context.Context, s *Services, call *external.CallText, kind external.Kind, grpc bool) error {
	if f.Data == "" {
		return nil
	}
	if name, file := strings.CutPrefix(f.Data, "@"); file && !grpc && kind != external.GraphQL {
		call.File = name
		return nil
	}
	data, err := s.ReadData(ctx, f.Data)
	if err != nil {
		return err
	}
	switch {
	case kind == external.GraphQL:
		call.Document = string(data)
	case grpc:
		if err := json.Unmarshal(data, &call.Message); err != nil {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"--data: a gRPC request is written as JSON, such as '{\"sku\":\"a1\"}': %v", err)
		}
	default:
		call.Body = string(data)
	}
	return nil
}

// operationOf makes a name for the operation: the last word of the path.
func operationOf(path string) string {
	words := strings.FieldsFunc(path, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if len(words) == 0 {
		return "call"
	}
	name := words[len(words)-1]
	return name[:min(len(name), 40)]
}

// Discovered makes a description from what a target, or a file, says about its service.
func (s *Services) Discovered(
	ctx context.Context, args []string, headers map[string]string, secure plan.TLS,
) (d external.Description, notes []string, err error) {
	target := args[len(args)-1]
	at, err := url.Parse(target)
	if err != nil || at.Host == "" {
		data, err := s.ReadFile(ctx, "", target, externalFileLimit)
		if err != nil {
			return d, nil, err
		}
		return discover.File(ctx, target, data, s.readerSources(target))
	}
	wire := external.WireText{Target: target, Headers: headers, TLS: external.TLSText{
		CA: secure.CA, Cert: secure.Cert, Key: secure.Key, Name: secure.ServerName, Insecure: secure.Insecure,
	}}
	if len(args) == 2 {
		wire.Kind = external.Kind(args[0])
	}
	return discover.Target(ctx, external.NameOf(at.Hostname(), "at"), wire, s.sources(""),
		func(ctx context.Context, w external.Wire, text external.WireText) (*discover.Schema, error) {
			return s.Reflected(ctx, w.Address, w, text)
		})
}

// typedTarget reads a target as it was typed: one URL, which may follow a kind of service.
func typedTarget(args []string) (at *url.URL, kind external.Kind, err error) {
	last := args[len(args)-1]
	if len(args) == 2 {
		kind = external.Kind(args[0])
		switch {
		case strings.Contains(args[0], "://"):
			return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
				"load calls one target; to compare two, describe them: wirelab own init %s", args[0])
		case !slices.Contains(external.Kinds(), kind):
			return nil, "", wirelab.UnknownName("kind of service", args[0], kindNames())
		}
	}
	if file, _, _ := strings.Cut(last, ":"); Described(file) {
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
			"%s describes a service: wirelab compare %s:WIRE measures it, and wirelab own check %s lists its wires",
			last, file, file)
	}
	at, err = url.Parse(last)
	switch {
	case err == nil && at.Host != "":
	case last == string(external.GraphQL), last == string(external.GRPC):
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
			"%s: its URL is missing, such as %s http://localhost:8080/%s", last, last, last)
	case bare.MatchString(last):
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
			"%s has no scheme; write http://%s, or grpc://%s for gRPC", last, last, last)
	default:
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
			"%q is not a URL with a host; write for example http://localhost:8080/items or "+
				"grpc://localhost:9000/shop.Cart/AddItem", last)
	}
	if !strings.Contains(" "+strings.Join(schemes, " ")+" ", " "+at.Scheme+" ") {
		return nil, "", wirelab.UnknownName("scheme", at.Scheme, schemes)
	}
	return at, kind, nil
}

var (
	// bare is a host without a scheme: localhost:8080/items, example.com, :8080.
	bare = regexp.MustCompile(`^(?:[A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?(?:/.*)?$`)
	// schemes are the schemes of targets.
	schemes = []string{"http", "https", "grpc", "grpcs", "ws", "wss", "sse"}
)

func kindNames() (all []string) {
	for _, k := range external.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// typedPath returns the path of a URL with its query. If it has templates or variables to fill in, it is returned as
// typed, because a URL would write the braces as %7B.
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

// AsTyped rewords an error about the description that was made from flags, so that it names the flags.
func AsTyped(err error, target string) error {
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
		text = target + ": the method is missing; write for example " + strings.TrimSuffix(target, "/") +
			"/shop.Cart/AddItem, " +
			"or list methods: wirelab own init " + target
	}
	typed := *coded
	typed.Message = text + hint(text, target)
	return &typed
}

// typedWords maps fields of a description to what the user types for them.
var typedWords = []struct {
	field *regexp.Regexp
	typed string
}{
	{
		regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.(?:message|file|body|send|variables): `),
		"--data: ",
	},
	{
		regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.document: it is missing; .*document: `),
		"--data is missing; write for example -d ",
	},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.headers\.?`), "--header "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target\.call: unknown`), "TARGET: unknown"},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.calls\.target(?:\.path)?: `), "TARGET: "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.rows: `), "--rows: "},
	{regexp.MustCompile(`^(?:description: )?operations\.\w+\.schema: `), "--expect: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target\.version: `), "--http: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target\.(schema|proxy|unix): `), "TARGET: "},
	{regexp.MustCompile(`^(?:description: )?wires\.target(?:\.target|\.tls)?: `), "TARGET: "},
}

// hint says what to change after a first call failed. It returns "" if the error already says enough.
func hint(text, target string) string {
	text = fault.Plain(text)
	for _, h := range hints {
		if strings.Contains(text, h.says) {
			return "; " + strings.NewReplacer("PLAIN", plainly(target), "SECURE", securely(target)).Replace(h.try)
		}
	}
	return ""
}

// hints maps error texts of libraries to what to change in the command. The first match counts.
var hints = []struct{ says, try string }{
	{"first record does not look like a TLS handshake", "the server does not use TLS: write PLAIN"},
	{"it does not speak gRPC in the clear", "if the server uses TLS, write SECURE; if it speaks HTTP, write http://"},
	{"HTTP request to an HTTPS server", "write SECURE"},
	{"HTTP request was sent to HTTPS port", "write SECURE"},
	{"signed by unknown authority", "--ca FILE trusts its authority, and --insecure accepts any certificate"},
	{
		"failed to verify certificate",
		"--server-name sets the name to expect, and --insecure accepts any certificate",
	},
	{`malformed HTTP response "\x00\x00`, "the server answers in HTTP/2: use --http 2, or grpc:// for gRPC"},
	{"closed the connection", "look at its log; it may accept only HTTP/2 (--http 2) or TLS (SECURE)"},
	{"client conn could not be established", "it may not support HTTP/2: try without --http"},
	{"code 101 but got", "it accepts no WebSocket at this path"},
	{"want text/event-stream", "it sends no events at this path; http:// makes a usual request"},
	{"status 405", "use --method to set another method"},
	{"status 401", "-H 'Authorization: ${TOKEN}' sends credentials"},
	{"status 403", "-H 'Authorization: ${TOKEN}' sends credentials"},
	{"status 415", "-H 'Content-Type: …' sets the type of --data"},
	{"no answer in time", "--deadline allows more time"},
}

// plainly and securely return a target without and with TLS.
func plainly(target string) string {
	return regexp.MustCompile(`^(http|grpc|ws)s://`).ReplaceAllString(target, "$1://")
}

func securely(target string) string {
	return regexp.MustCompile(`^(http|grpc|ws)://`).ReplaceAllString(target, "${1}s://")
}
