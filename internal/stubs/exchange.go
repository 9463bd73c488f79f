package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"wirelab/internal/generated"
)

// exchanged returns the stub of the wires that speak package exchange, or false
// if the workload has no bind/exchange.go. That file declares the operations by
// number, each as a function that has the name of the method: getFeature for
// GetFeature. A method without one is not carried.
func exchanged(tree fs.FS, name string, methods []method) (generated.File, bool, error) {
	folder := path.Join("workload", name, "bind")
	source, err := fs.ReadFile(tree, path.Join(folder, "exchange.go"))
	if err != nil {
		return generated.File{}, false, nil //nolint:nilerr // such a workload has no such wire
	}
	file, err := parser.ParseFile(token.NewFileSet(), folder+"/exchange.go", source, parser.SkipObjectResolution)
	if err != nil {
		return generated.File{}, false, err
	}
	functions, byHand := map[string]bool{}, map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
		case f.Recv == nil:
			functions[f.Name.Name] = true
		case text(f.Recv.List[0].Type) == "*exchangeCalls":
			byHand[f.Name.Name] = true
		}
	}
	var carried []method
	for _, m := range methods {
		if functions[lower(m.name)] {
			m.request, m.reply = qualified(name, m.request), qualified(name, m.reply)
			carried = append(carried, m)
		}
	}
	content, err := exchangeText(name, carried, byHand)
	return generated.File{Path: path.Join(folder, "exchange"+suffix), Content: content}, true, err
}

func exchangeText(name string, methods []method, byHand map[string]bool) ([]byte, error) {
	var handlers, made, fields, calls bytes.Buffer
	streams := false
	for _, m := range methods {
		kind, call := m.kind()
		field := lower(m.name)
		fmt.Fprintf(&handlers, "%s().%s(service.%s),\n", field, kind, m.name)
		fmt.Fprintf(&made, "%s: %s(),\n", field, field)
		fmt.Fprintf(&fields, "%s exchange.Operation[%s, %s]\n", field, m.request, m.reply)
		if byHand[m.name] {
			continue
		}
		streams = streams || m.streams || m.streamed
		request, reply := m.request, "("+m.reply+", error)"
		if m.streams {
			request = "iter.Seq2[" + request + ", error]"
		}
		if m.streamed {
			reply = "iter.Seq2[" + m.reply + ", error]"
		}
		fmt.Fprintf(&calls, "\n// %s implements [%s.Service].\n", m.name, name)
		fmt.Fprintf(&calls, "func (s *exchangeCalls) %s(\nctx context.Context, %s %s,\n) %s {\n",
			m.name, m.argument, request, reply)
		fmt.Fprintf(&calls, "return s.%s.%s(ctx, s.client, %s)\n}\n", field, call, m.argument)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%spackage bind\n\nimport (\n\"context\"\n", header)
	if streams {
		b.WriteString("\"iter\"\n")
	}
	fmt.Fprintf(&b, "\n\"wirelab/wire/exchange\"\n\"wirelab/workload/%s\"\n)\n", name)
	fmt.Fprintf(&b, "\n// exchangeHandlers are the operations, for wires that speak package exchange.\n")
	fmt.Fprintf(&b, "func exchangeHandlers(service %s.Service) []exchange.Handler {\n", name)
	fmt.Fprintf(&b, "return []exchange.Handler{\n%s}\n}\n", &handlers)
	fmt.Fprintf(&b, "\n// exchangeCalls makes the calls.\ntype exchangeCalls struct {\n")
	fmt.Fprintf(&b, "client *exchange.Client\n%s}\n", &fields)
	fmt.Fprintf(&b, "\nfunc newExchangeCalls(client *exchange.Client) *exchangeCalls {\n")
	fmt.Fprintf(&b, "return &exchangeCalls{\nclient: client,\n%s}\n}\n", &made)
	b.Write(calls.Bytes())
	return format.Source(b.Bytes())
}

// kind returns how package exchange calls the kind of a method, at the server and at the client.
func (m method) kind() (server, client string) {
	switch {
	case m.streams && m.streamed:
		return "BidiStream", "CallBidiStream"
	case m.streams:
		return "ClientStream", "CallClientStream"
	case m.streamed:
		return "ServerStream", "CallServerStream"
	}
	return "Unary", "Call"
}

// qualified is a type of the workload's package as others name it.
func qualified(name, typ string) string {
	if strings.Contains(typ, ".") || !unicode.IsUpper(rune(typ[0])) {
		return typ
	}
	return name + "." + typ
}

// lower makes getFeature of GetFeature.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }
