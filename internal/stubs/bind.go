package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"wirelab/internal/generated"
)

// binding is what follows from a workload's Service for the wires: its
// operations that have a method in the schema of Protocol Buffers.
type binding struct {
	Workload   string
	Services   []service
	Operations []operation
	Asks       []ask // the operations that the schema of GraphQL has
	Given      int   // the highest number that package exchange has for an operation

	byHand map[string]bool   // "type", "type.Method" or "function" that bind has by hand
	forms  map[string]string // the fields of the type forms, by what they are the form of
}

// service is a service of gRPC.
type service struct {
	Name       string
	Operations []operation
}

// operation is a method of the Service as wires have it. Types are as the
// folder bind names them.
type operation struct {
	method
	Name, Lower, Argument    string
	Request, Reply           string // without the stream around them
	RequestType, ResultType  string // with it
	Streams, Streamed        bool   // as in method
	Validates                bool   // the request has a method Validate
	Service                  string // of gRPC
	RequestProto, ReplyProto converters
	RequestForm, ReplyForm   string // fields of the type forms
	Number                   int    // in package exchange
}

// converters turn a type of the domain into a message and back.
type converters struct {
	Message  string // gen.Balance
	To, From string // names of functions
	Checked  bool   // From returns an error too
}

// bound returns the generated files of a workload's folder bind: none where
// the workload has no schema of Protocol Buffers or no such folder.
func bound(tree fs.FS, name string, d domain) ([]generated.File, error) {
	folder := path.Join("workload", name, "bind")
	if _, err := fs.Stat(tree, folder); err != nil {
		return nil, nil //nolint:nilerr // such a workload has no wires
	}
	procedures, services, err := readSchema(tree, path.Join("workload", name, "schema"))
	if err != nil || len(procedures) == 0 {
		return nil, err
	}
	hand, err := readBind(tree, folder)
	if err != nil {
		return nil, err
	}
	numbers, given := readNumbers(tree, folder)
	b := binding{Workload: name, byHand: hand.declared, forms: hand.forms}
	for _, m := range d.methods {
		p, ok := procedures[m.name]
		if !ok {
			continue // made of others, as a composition is
		}
		o, err := m.over(name, p, hand)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", folder, m.name, err)
		}
		o.Validates = d.validated[m.request]
		if o.Number = numbers[o.Lower]; o.Number == 0 {
			given++
			o.Number = given
		}
		b.Operations = append(b.Operations, o)
	}
	b.Given = given
	for _, s := range services {
		own := slices.DeleteFunc(slices.Clone(b.Operations), func(o operation) bool { return o.Service != s })
		b.Services = append(b.Services, service{Name: s, Operations: own})
	}
	var files []generated.File
	asks, err := b.asks(tree, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	b.Asks = asks
	names := []string{"stub", "exchange", "netrpc", "connect", "grpc"}
	if b.forms != nil {
		names = append(names, "grpc_form")
	}
	if len(b.Asks) > 0 {
		names = append(names, "graphql")
	}
	for _, name := range names {
		content, err := b.write(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", folder, name, err)
		}
		files = append(files, generated.File{Path: path.Join(folder, name+suffix), Content: content})
	}
	return files, nil
}

// over is a method as wires have it.
func (m method) over(workload string, p procedure, hand bindFolder) (o operation, err error) {
	if m.streams != p.streams || m.streamed != p.streamed {
		return o, errors.New("the Service and the schema differ in which calls are streams")
	}
	o = operation{
		method: m, Name: m.name, Lower: lower(m.name), Argument: m.argument, Streams: m.streams, Streamed: m.streamed,
		Request: qualified(workload, m.request), Reply: qualified(workload, m.reply), Service: p.service,
	}
	o.RequestType, o.ResultType = o.Request, "("+o.Reply+", error)"
	if m.streams {
		o.RequestType = "iter.Seq2[" + o.Request + ", error]"
	}
	if m.streamed {
		o.ResultType = "iter.Seq2[" + o.Reply + ", error]"
	}
	var failures [4]error
	o.RequestProto, failures[0] = hand.converters(o.Request, "gen."+p.request)
	o.ReplyProto, failures[1] = hand.converters(o.Reply, "gen."+p.reply)
	if o.Streams && o.RequestProto.Checked {
		failures[2] = fmt.Errorf("%s can fail, and no item of a stream of requests may", o.RequestProto.From)
	}
	if hand.forms != nil {
		o.RequestForm, o.ReplyForm = hand.forms[o.Request], hand.forms[o.Reply]
		if o.RequestForm == "" || o.ReplyForm == "" {
			failures[3] = fmt.Errorf("the type forms has no codec.Form[%s] or no codec.Form[%s]", o.Request, o.Reply)
		}
	}
	return o, errors.Join(failures[:]...)
}

// Kind is how package exchange calls the kind of an operation at the server.
func (o operation) Kind() string {
	switch {
	case o.Streams && o.Streamed:
		return "BidiStream"
	case o.Streams:
		return "ClientStream"
	case o.Streamed:
		return "ServerStream"
	}
	return "Unary"
}

// Call is what it calls it at the client.
func (o operation) Call() string { return "Call" + strings.TrimPrefix(o.Kind(), "Unary") }

// procedure is a method of gRPC.
type procedure struct {
	service, request, reply string
	streams, streamed       bool
}

var (
	serviceLine = regexp.MustCompile(`^service (\w+)`)
	rpcLine     = regexp.MustCompile(`^\s*rpc (\w+)\s*\((stream )?(\w+)\) returns \((stream )?(\w+)\)`)
	numberLine  = regexp.MustCompile(`(?s)func (\w+)\(\) exchange\.Operation.*?Number:\s+(\d+),`)
	givenLine   = regexp.MustCompile(`// Given: (\d+)`)
)

// readSchema returns the methods in the files .proto of a folder, and the
// services in their order.
func readSchema(tree fs.FS, folder string) (procedures map[string]procedure, services []string, err error) {
	names, err := fs.Glob(tree, folder+"/*.proto")
	if err != nil {
		return nil, nil, err
	}
	procedures = map[string]procedure{}
	for _, name := range names {
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, nil, err
		}
		for line := range strings.Lines(string(source)) {
			if found := serviceLine.FindStringSubmatch(line); found != nil {
				services = append(services, found[1])
			}
			if found := rpcLine.FindStringSubmatch(line); found != nil && len(services) > 0 {
				procedures[found[1]] = procedure{
					service: services[len(services)-1], request: found[3], reply: found[5],
					streams: found[2] != "", streamed: found[4] != "",
				}
			}
		}
	}
	return procedures, services, nil
}

// readNumbers returns the numbers that the operations of a folder have in
// package exchange, and the highest one that was ever given. They are for ever,
// like those of fields, so what was generated before is their only list.
func readNumbers(tree fs.FS, folder string) (numbers map[string]int, given int) {
	numbers = map[string]int{}
	source, _ := fs.ReadFile(tree, path.Join(folder, "exchange"+suffix)) // none yet: none was given
	for _, found := range numberLine.FindAllStringSubmatch(string(source), -1) {
		numbers[found[1]], _ = strconv.Atoi(found[2]) // digits
		given = max(given, numbers[found[1]])
	}
	if found := givenLine.FindStringSubmatch(string(source)); found != nil {
		before, _ := strconv.Atoi(found[1]) // digits
		given = max(given, before)
	}
	return numbers, given
}

// bindFolder is what a folder bind has by hand.
type bindFolder struct {
	declared map[string]bool // as in binding
	forms    map[string]string
	to, from map[[2]string]string // converters by the type of the domain and the message
	checked  map[string]bool      // converters that can fail
}

// readBind reads the files of a folder bind that are neither generated nor tests.
func readBind(tree fs.FS, folder string) (found bindFolder, err error) {
	found = bindFolder{
		declared: map[string]bool{}, to: map[[2]string]string{}, from: map[[2]string]string{},
		checked: map[string]bool{},
	}
	names, err := fs.Glob(tree, folder+"/*.go")
	if err != nil {
		return found, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, suffix) {
			continue
		}
		file, err := parse(tree, name)
		if err != nil {
			return found, err
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				found.function(d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if declared, ok := spec.(*ast.TypeSpec); ok {
						found.typed(declared)
					}
				}
			}
		}
	}
	return found, nil
}

// function notes a method, or a converter: fooToProto(Foo) *gen.Bar, and
// fooFromProto(*gen.Bar) Foo, which may return an error too.
func (b *bindFolder) function(f *ast.FuncDecl) {
	if f.Recv != nil {
		b.declared[strings.TrimPrefix(text(f.Recv.List[0].Type), "*")+"."+f.Name.Name] = true
		return
	}
	b.declared[f.Name.Name] = true
	if f.Type.Params.NumFields() != 1 || f.Type.Results.NumFields() == 0 {
		return
	}
	from, to := text(f.Type.Params.List[0].Type), text(f.Type.Results.List[0].Type)
	switch {
	case strings.HasSuffix(f.Name.Name, "ToProto"):
		b.to[[2]string{from, strings.TrimPrefix(to, "*")}] = f.Name.Name
	case strings.HasSuffix(f.Name.Name, "FromProto"):
		b.from[[2]string{to, strings.TrimPrefix(from, "*")}] = f.Name.Name
		b.checked[f.Name.Name] = f.Type.Results.NumFields() == 2
	}
}

// typed notes a type, and of the type forms its fields.
func (b *bindFolder) typed(t *ast.TypeSpec) {
	b.declared[t.Name.Name] = true
	fields, ok := t.Type.(*ast.StructType)
	if !ok || t.Name.Name != "forms" {
		return
	}
	b.forms = map[string]string{}
	for _, field := range fields.Fields.List {
		if of, ok := field.Type.(*ast.IndexExpr); ok && text(of.X) == "codec.Form" {
			b.forms[text(of.Index)] = field.Names[0].Name
		}
	}
}

// converters returns those between a type of the domain and a message.
func (b *bindFolder) converters(typ, message string) (converters, error) {
	pair := [2]string{typ, message}
	c := converters{Message: message, To: b.to[pair], From: b.from[pair], Checked: b.checked[b.from[pair]]}
	if c.To == "" || c.From == "" {
		return c, fmt.Errorf("no functions …ToProto(%s) *%s and …FromProto(*%s) %s", typ, message, message, typ)
	}
	return c, nil
}

//go:embed templates/*.tmpl
var templates embed.FS

// imports are what generated code may import: each has the name that it is
// used by, and that is not the last element of its path, before it.
var imports = [][]string{
	{"context", "errors", "io", "iter", "net/http"},
	{"connectrpc.com/connect", "google.golang.org/grpc"},
	{
		"wirelab", "wireconnect wirelab/wire/connect", "wirelab/wire/exchange", "wirelab/wire/codec",
		"wirelab/wire/graphql", "wiregrpc wirelab/wire/grpc", "wirelab/wire/grpcbind", "wirelab/wire/httprpc",
		"wirelab/wire/rfc3339", "wirelab/wire/netrpc", "wirelab/wire/stream",
		"wirelab/workload/X", "wirelab/workload/X/gen", "wirelab/workload/X/gen/genconnect",
	},
}

// write returns the file of the template of that name.
func (b binding) write(name string) ([]byte, error) {
	functions := template.FuncMap{
		"lower": lower, "quoted": quoted, "hand": func(name string) bool { return b.byHand[name] },
	}
	all, err := template.New("").Funcs(functions).ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	var body, file bytes.Buffer
	if err := all.ExecuteTemplate(&body, name+".tmpl", b); err != nil {
		return nil, err
	}
	fmt.Fprintf(&file, "%spackage bind\n\nimport (\n", header)
	for _, group := range imports {
		for _, spec := range group {
			name, from, named := strings.Cut(spec, " ")
			if !named {
				name, from = "", spec
			}
			from = strings.Replace(from, "/X", "/"+b.Workload, 1)
			if regexp.MustCompile(`\b` + cmp.Or(name, path.Base(from)) + `\.`).Match(body.Bytes()) {
				fmt.Fprintf(&file, "%s %q\n", name, from)
			}
		}
		file.WriteString("\n")
	}
	fmt.Fprintf(&file, ")\n%s", &body)
	return format.Source(file.Bytes())
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

// quoted is a text as Go has it, in lines that are not too long.
func quoted(long string) string {
	const most = 80
	var lines []string
	for len(long) > most {
		cut := strings.LastIndexByte(long[:most], ' ') + 1
		if cut == 0 {
			break
		}
		lines, long = append(lines, strconv.Quote(long[:cut])), long[cut:]
	}
	return strings.Join(append(lines, strconv.Quote(long)), " +\n")
}
