package external_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
	directory "wirelab/workload/directory/bind"
	"wirelab/workload/external"
	"wirelab/workload/external/grpccall"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
	ledger "wirelab/workload/ledger/bind"
	routeguide "wirelab/workload/routeguide/bind"
)

// recorded is one call as the compiled client of a cell made it.
type recorded struct {
	method, path string
	header       http.Header
	body         []byte
	status       int
	reply        []byte
}

// recorder stands between a compiled client and its server.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex // guards calls
	calls []*recorded
}

// record makes calls by the compiled client of a cell, and returns what went over the wire.
func record(t testing.TB, cell wirelab.Cell, operation string, calls int) []*recorded {
	t.Helper()
	server := serve(t, cell)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(cell.Protocol.Transport == "HTTP/1.1")
	protocols.SetUnencryptedHTTP2(cell.Protocol.Transport == "HTTP/2")
	over := &http.Transport{Protocols: protocols, DisableCompression: true}
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.address})
	proxy.Transport = over // without flushes: a reply of gRPC that has trailers only stays one
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		c := &recorded{method: q.Method, path: q.URL.RequestURI(), header: q.Header.Clone(), body: body}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		r.mu.Unlock()
		proxy.ServeHTTP(&kept{w, c}, q)
		for _, name := range []string{"Grpc-Status", http.TrailerPrefix + "Grpc-Status"} {
			if text := w.Header().Get(name); text != "" {
				if c.status, err = strconv.Atoi(text); err != nil {
					t.Error(err)
				}
			}
		}
	}))
	both := new(http.Protocols)
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	r.Config.Protocols = both
	r.Start()
	defer over.CloseIdleConnections()
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), rigTime)
	defer cancel()
	client, err := cell.Dial(ctx, wirelab.Dialing{Address: strings.TrimPrefix(r.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	call, err := client.Caller(operation, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for range calls {
		if err := call(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.calls) != calls {
		t.Fatalf("%d of %d calls were recorded", len(r.calls), calls)
	}
	return r.calls
}

// kept keeps the reply that passes.
type kept struct {
	http.ResponseWriter
	c *recorded
}

func (k *kept) Unwrap() http.ResponseWriter { return k.ResponseWriter }
func (k *kept) WriteHeader(status int)      { k.c.status = status; k.ResponseWriter.WriteHeader(status) }

func (k *kept) Write(p []byte) (int, error) {
	k.c.reply = append(k.c.reply, p...)
	return k.ResponseWriter.Write(p)
}

// wires are those that one recording can be replayed over, by the cell that was recorded: paths and bodies are the
// same.
var wires = []struct {
	from string
	over []string
}{
	{"http1-json", []string{"http1-json", "h2c-json", "http2-json", "http3-json"}},
	{"graphql", []string{"graphql"}},
	{"grpc", []string{"grpc", "grpc-tls"}},
	{"sse", []string{"sse", "sse-h2c"}},
}

// Our own services, described as ones that are not ours, answer every call as their compiled cells were answered.
func TestOurServicesAsForeign(t *testing.T) {
	t.Parallel()
	for _, work := range []wirelab.Work{
		routeguide.Workload().Erase(), directory.Workload().Erase(), ledger.Workload().Erase(),
	} {
		for _, w := range wires {
			from, there := cellOf(work, w.from)
			if !there {
				continue
			}
			for _, o := range work.Operations {
				if _, hole := from.Holes[o.Name]; hole || slices.Contains(from.Fresh, o.Name) ||
					o.Kind == wirelab.BidiStream || o.Feed {
					continue // its replies differ from call to call, or are sent while requests are
				}
				t.Run(work.Name+"/"+w.from+"/"+o.Name, func(t *testing.T) {
					t.Parallel()
					calls := record(t, from, o.Name, 12)
					for _, over := range w.over {
						cell, there := cellOf(work, over)
						if !there {
							continue
						}
						for name, by := range both() {
							t.Run(over+"/"+name, func(t *testing.T) { replayed(t, cell, o, calls, name, by) })
						}
					}
				})
			}
		}
	}
}

// A bidirectional stream: notes are sent, and those of the place come back. The next call has those of the one before
// too.
func TestBothWays(t *testing.T) {
	t.Parallel()
	cell, _ := cellOf(routeguide.Workload().Erase(), "grpc")
	note := func(text string) string { return "{location: {latitude: 1, longitude: 2}, message: " + text + "}" }
	p := files{}.prepared(t, one("grpc://"+serve(t, cell).address,
		"call: routeguide.RouteGuide/RouteChat, message: ["+note("one")+", "+note("two")+", "+note("three")+"]",
		", expect: status"))
	if kind := p.Operations[0].Kind; kind != wirelab.BidiStream {
		t.Errorf("kind %s", kind)
	}
	reply, err := p.Try(t.Context(), "w", target(p), "op", false)
	if err != nil {
		t.Fatal(err)
	}
	var told []struct{ Message string }
	if err := json.Unmarshal(reply.Text, &told); err != nil ||
		fmt.Sprint(told) != "[{one} {one} {two} {one} {two} {three}]" {
		t.Errorf("%s: %v, %v", reply.Text, told, err)
	}
	for _, err := range called(t, p, "op", 5) {
		if err != nil {
			t.Error(err)
		}
	}
}

func cellOf(work wirelab.Work, protocol string) (wirelab.Cell, bool) {
	i := slices.IndexFunc(work.Cells, func(c wirelab.Cell) bool { return c.Protocol.Name == protocol && c.Usual })
	if i < 0 {
		return wirelab.Cell{}, false
	}
	return work.Cells[i], true
}

// replayed makes the recorded calls as a user describes them, and wants the recorded replies.
func replayed(
	t *testing.T, cell wirelab.Cell, o wirelab.OperationInfo, calls []*recorded, name string,
	by func(testing.TB, external.Prepared, string, int) []error,
) {
	server := serve(t, cell)
	f := files{"ca.pem": server.ca}
	p := f.prepared(t, describe(t, f, cell, server, calls))
	of := p.Operations[0].Calls["w"]
	of.Rule = judge.Rule{Mode: judge.File}
	for _, c := range calls {
		reply := request.Reply{Status: c.status, Body: c.reply}
		if strings.HasPrefix(cell.Protocol.Framing, "gRPC") && o.Kind != wirelab.ServerStream {
			messages, err := grpccall.Unframe(c.reply)
			if err != nil || len(messages) > 1 {
				t.Fatalf("%d messages, %v", len(messages), err)
			}
			reply.Body = append([]byte{}, slices.Concat(messages...)...)
		}
		if cell.Protocol.Framing == "SSE" { // the call is over with the first event
			_, after, _ := strings.Cut(string(c.reply), "data:")
			first, _, _ := strings.Cut(after, "\n")
			reply.Body = []byte(strings.TrimPrefix(first, " ") + "\n")
		}
		of.Rule.Replies = append(of.Rule.Replies, reply)
	}
	p.Operations[0].Calls["w"] = of
	if got := p.Operations[0].Kind; strings.HasPrefix(cell.Protocol.Framing, "gRPC") && got != o.Kind {
		t.Errorf("kind %s, want %s", got, o.Kind)
	}
	// As drivers have it.
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = external.ParsePrepared(text); err != nil {
		t.Fatal(err)
	}
	if why := p.RawWhy("op", "w"); name == "raw" && why != "" {
		t.Skip(why)
	}
	for i, err := range by(t, p, "op", 2*len(calls)) {
		if err != nil {
			c := calls[i%len(calls)]
			t.Fatalf("call %d, %s %s %.200q: %v", i, c.method, c.path, c.body, err)
		}
	}
}

// describe is the description that a user writes for the calls, with a row for each.
func describe(t testing.TB, f files, cell wirelab.Cell, server served, calls []*recorded) string {
	var rows bytes.Buffer
	scheme, version := "http", map[string]string{
		"HTTP/1.1": "http1", "HTTP/2": "http2", "HTTP/3": "http3",
	}[cell.Protocol.Transport]
	grpc := strings.HasPrefix(cell.Protocol.Framing, "gRPC")
	call := "method: " + calls[0].method + ", path: '{{.path}}', body: '{{.body}}'"
	if len(calls[0].body) == 0 {
		call = "method: " + calls[0].method + ", path: '{{.path}}'"
	}
	if grpc {
		scheme, call = "grpc", "call: "+calls[0].path[1:]+", message: '{{.message}}'"
	}
	headers := ""
	for _, name := range []string{"Content-Type", "Accept"} {
		if value := calls[0].header.Get(name); value != "" && !grpc {
			headers += name + ": '" + value + "', "
		}
	}
	tls := ""
	if cell.Protocol.Framing == "SSE" {
		tls = "kind: sse, "
	}
	if cell.Protocol.Secure {
		scheme, tls = map[string]string{"http": "https", "grpc": "grpcs"}[scheme], "tls: {ca: ca.pem}, "
	}
	encode := json.NewEncoder(&rows)
	for _, c := range calls {
		row := map[string]any{"path": c.path, "body": string(c.body)}
		if grpc {
			row = map[string]any{"message": messageOf(t, c)}
		}
		if err := encode.Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	f["rows.ndjson"] = rows.String()
	return fmt.Sprintf("service: ours\nwires: {w: {target: '%s://%s', version: %s, %sheaders: {%s}}}\n"+
		"operations: {op: {rows: rows.ndjson, calls: {w: {%s}}}}\n", scheme, server.address, version, tls,
		strings.TrimSuffix(headers, ", "), call)
}

// messageOf is the request of a recorded call of gRPC as a user writes it.
func messageOf(t testing.TB, c *recorded) any {
	t.Helper()
	name := protoreflect.FullName(strings.ReplaceAll(c.path[1:], "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		t.Fatal(err)
	}
	method, _ := found.(protoreflect.MethodDescriptor)
	wire, err := grpccall.Unframe(c.body)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]any, len(wire))
	for i := range wire {
		m := dynamicpb.NewMessage(method.Input())
		if err := proto.Unmarshal(wire[i], m); err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if method.IsStreamingClient() {
		return all
	}
	return all[0]
}
