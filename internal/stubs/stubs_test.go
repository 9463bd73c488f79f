package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// moduleRoot is the way from this folder to the module's.
const moduleRoot = "../.."

func TestStubsAreFresh(t *testing.T) {
	t.Parallel()
	files, err := Generate(os.DirFS(moduleRoot))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 4+4*5 {
		t.Errorf("%d files, want one for each workload with a hooked service, and five for the wires of each with "+
			"a schema",
			len(files))
	}
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(moduleRoot, filepath.FromSlash(file.Path)))
		if err != nil || !bytes.Equal(got, file.Content) {
			t.Errorf("%s is stale (%v): run make generate", file.Path, err)
		}
	}
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	const hooked = "type hooked struct{}\n"
	for _, c := range []struct{ why, source, want, fails string }{
		{
			"a call", hooked + "type Service interface { Grind(ctx context.Context, g Grain) (Flour, error) }",
			`wirelab.Between(ctx, h.hooks, "Grind", h.service.Grind, g)`, "",
		},
		{
			"a chat", hooked + "type Service interface {\n" +
				"Talk(ctx context.Context, in iter.Seq2[Say, error]) iter.Seq2[Say, error] }",
			"h.service.Talk(ctx, in)(yield)", "",
		},
		{"a stream one way", hooked + "type Service interface {\n" +
			"Pour(ctx context.Context, g Grain) iter.Seq2[Flour, error] }", "", "write it by hand"},
		{
			"a stream by hand", hooked + "type Service interface {\n" +
				"Pour(ctx context.Context, g Grain) iter.Seq2[Flour, error] }\nfunc (h hooked) Pour() {}",
			"var _ Service",
			"",
		},
		{
			"no error", hooked + "type Service interface { Grind(ctx context.Context, g Grain) Flour }", "",
			"returns neither",
		},
		{"no context", hooked + "type Service interface { Grind(g Grain) (Flour, error) }", "", "not of the form"},
		{"embedded", hooked + "type Service interface { Other }", "", "embeds"},
		{"not Go", "func {", "", "mill.go"},
	} {
		tree := fstest.MapFS{
			"workload/mill/mill.go": {Data: []byte("package mill\n" + c.source)},
			"workload/bare/bare.go": {Data: []byte("package bare\n")}, // has no hooks
			"workload/readme.txt":   {Data: []byte("none")},
		}
		files, err := Generate(tree)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.why, err, c.fails)
			}
			continue
		}
		if err != nil || len(files) != 1 || !strings.Contains(string(files[0].Content), c.want) {
			t.Errorf("%s: %v, %s", c.why, err, files)
		}
	}
}

// mill is a workload with a schema: the files that its wires follow from.
func mill() fstest.MapFS {
	return fstest.MapFS{
		"workload/mill/mill.go": {Data: []byte("package mill\ntype hooked struct{}\ntype Service interface {\n" +
			"Grind(ctx context.Context, g Grain) (Flour, error)\n" +
			"Talk(ctx context.Context, in iter.Seq2[Say, error]) iter.Seq2[Say, error]\n" +
			"Sell(ctx context.Context, g Grain) (Flour, error)\n}\n" +
			"func (g Grain) Validate() error { return nil }\n")},
		"workload/mill/schema/mill.proto": {Data: []byte("service Miller {\n" +
			"  rpc Grind(Grain) returns (Flour) {}\n  rpc Talk(stream Say) returns (stream Say) {}\n}\n")},
		"workload/mill/bind/convert.go": {Data: []byte("package bind\n" +
			"func grainToProto(mill.Grain) *gen.Grain\nfunc grainFromProto(*gen.Grain) (mill.Grain, error)\n" +
			"func flourToProto(mill.Flour) *gen.Flour\nfunc flourFromProto(*gen.Flour) mill.Flour\n" +
			"func sayToProto(mill.Say) *gen.Say\nfunc sayFromProto(*gen.Say) mill.Say\n")},
	}
}

// What each wire gets of an operation: once by the Service, and nothing of a
// method that the schema does not have.
func TestWires(t *testing.T) {
	t.Parallel()
	tree := mill()
	tree["workload/mill/bind/form.go"] = &fstest.MapFile{Data: []byte("package bind\ntype forms struct {\n" +
		"name string\ngrain codec.Form[mill.Grain]\nflour codec.Form[mill.Flour]\nsay codec.Form[mill.Say]\n}\n")}
	files, err := Generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for _, f := range files {
		made[strings.TrimPrefix(f.Path, "workload/mill/")] = string(f.Content)
	}
	for name, wanted := range map[string][]string{
		"bind/stub_gen.go": {
			"if err := g.Validate(); err != nil {", "grind: func(context.Context, mill.Grain) (mill.Flour, error)",
		},
		"bind/exchange_gen.go": {
			"grind().Unary(service.Grind),", "talk().BidiStream(service.Talk),",
			"exchange.CheckedProtoOf(grainToProto, grainFromProto)", "exchange.ProtoOf(sayToProto, sayFromProto)",
			"return s.grind.Call(ctx, s.client, g)", "// Given: 2",
		},
		"bind/netrpc_gen.go": {
			"return netrpc.Answer(req, rep, s.service.Grind)", `netrpcName+".Grind", g)`, `"Talk": netrpc.NoStreams`,
		},
		"bind/connect_gen.go": {
			"genconnect.MillerGrindProcedure", "g, err := grainFromProto(message.Msg)",
			"return flourFromProto(reply.Msg), nil",
			"_ = call.Send(nil)",
		},
		"bind/grpc_gen.go": {
			"gen.UnimplementedMillerServer", "g, err := grainFromProto(message)", "CloseSend: call.CloseSend",
		},
		"bind/grpc_form_gen.go": {`wiregrpc.Unary("Grind", f.grain, f.flour, mill.Service.Grind)`},
	} {
		for _, want := range wanted {
			if !strings.Contains(made[name], want) {
				t.Errorf("%s lacks %s:\n%s", name, want, made[name])
			}
		}
		if strings.Contains(made[name], "Sell") {
			t.Errorf("%s has an operation that the schema has not:\n%s", name, made[name])
		}
	}
}

// A number that an operation has is for ever, and one that was given is not
// given again, though its operation is gone.
func TestNumbersStay(t *testing.T) {
	t.Parallel()
	tree := mill()
	files, err := Generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	const name = "workload/mill/bind/exchange_gen.go"
	for _, f := range files {
		if f.Path == name {
			moved := strings.Replace(string(f.Content), "Number:  1,", "Number:  7,", 1)
			moved = strings.Replace(moved, "func talk()", "func gone()", 1)
			tree[name] = &fstest.MapFile{Data: []byte(strings.Replace(moved, "Given: 2", "Given: 9", 1))}
		}
	}
	files, err = Generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path != name {
			continue
		}
		for _, want := range []string{"Number:  7,", "Number:  10,", "Given: 10"} {
			if !strings.Contains(string(f.Content), want) {
				t.Errorf("lacks %s:\n%s", want, f.Content)
			}
		}
	}
}

func TestByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, add, has, not string }{
		{"a stub's method", "func (s stub) Grind() {}", "func (s stub) Talk(", "func (s stub) Grind("},
		{"a whole stub", "type stub struct{ calls }", "type functions struct", "func (s stub)"},
	} {
		tree := mill()
		tree["workload/mill/bind/hand.go"] = &fstest.MapFile{Data: []byte("package bind\n" + c.add)}
		files, err := Generate(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			got := string(f.Content)
			if strings.HasSuffix(f.Path, "stub_gen.go") &&
				(!strings.Contains(got, c.has) || strings.Contains(got, c.not)) {
				t.Errorf("%s: has no %q, or %q:\n%s", c.why, c.has, c.not, got)
			}
		}
	}
}

// What a wire needs and does not have is named.
func TestWiresFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, file, old, new, says string }{
		{
			"no converter", "bind/convert.go", "func flourFromProto", "func flourFrom",
			"FromProto(*gen.Flour) mill.Flour",
		},
		{
			"one way in the schema", "schema/mill.proto", "returns (stream Say)", "returns (Say)",
			"differ in which calls are streams",
		},
		{
			"items that fail", "bind/convert.go", "sayFromProto(*gen.Say) mill.Say",
			"sayFromProto(*gen.Say) (mill.Say, error)", "sayFromProto can fail",
		},
		{
			"no form", "bind/convert.go", "package bind",
			"package bind\ntype forms struct{ say codec.Form[mill.Say] }", "codec.Form[mill.Grain]",
		},
		{"not Go", "bind/convert.go", "package bind", "func", "convert.go"},
	} {
		tree := mill()
		file := tree["workload/mill/"+c.file]
		file.Data = []byte(strings.Replace(string(file.Data), c.old, c.new, 1))
		if _, err := Generate(tree); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.why, err, c.says)
		}
	}
}

// asked is the mill with a schema of GraphQL, of which gqlgen made a resolver.
func asked(argument, resolver string) fstest.MapFS {
	tree := mill()
	file := tree["workload/mill/mill.go"]
	file.Data = append(file.Data, "type Grain struct { Kind string; At time.Time }\n"...)
	tree["workload/mill/schema/mill.graphqls"] = &fstest.MapFile{Data: []byte("type Sack { weight: Int! }\n" +
		"type Flour { kind: String! sacks: [Sack!]! }\ntype Query { grind(" + argument + "): Flour! }\n")}
	tree["workload/mill/gen/gengraphql/exec.go"] = &fstest.MapFile{Data: []byte("package gengraphql\n" +
		"type QueryResolver interface { Grind(ctx context.Context, " + resolver + ") (*mill.Flour, error) }\n")}
	return tree
}

func TestGraphQL(t *testing.T) {
	t.Parallel()
	tree := asked("kind: String! at: String!", "kind string, at string")
	files, err := Generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, f := range files {
		if strings.HasSuffix(f.Path, "graphql_gen.go") {
			got = string(f.Content)
		}
	}
	// The text is cut into lines.
	whole := strings.ReplaceAll(got, "\" +\n\t\"", "")
	for _, want := range []string{
		`"query Grind($kind: String!, $at: String!) { grind(kind: $kind, at: $at) { kind sacks { weight } } }"`,
		"func (r graphqlResolver) Grind(", "atTime, err := rfc3339.Parse(at)", "At:   rfc3339.Text(g.At),",
		"calls.grind = graphqlGrind(client)",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
}

func TestGraphQLFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, argument, resolver, hand, says string }{
		{"an argument that is no field", "colour: String!", "colour string", "", "colour is no field of mill.Grain"},
		{"an argument of another type", "kind: Int!", "kind int32", "", "the argument kind is int32"},
		{"a whole request", "g: String!", "g mill.Grain", "", "write the function graphqlGrind"},
		{"a whole request by hand", "g: String!", "g mill.Grain", "func graphqlGrind() {}", ""},
	} {
		tree := asked(c.argument, c.resolver)
		tree["workload/mill/bind/hand.go"] = &fstest.MapFile{Data: []byte("package bind\n" + c.hand)}
		_, err := Generate(tree)
		if c.says == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.why, err, c.says)
		}
	}
	tree := asked("kind: String!", "kind string")
	tree["workload/mill/gen/gengraphql/exec.go"].Data = []byte("package gengraphql\n")
	if _, err := Generate(tree); err == nil || !strings.Contains(err.Error(), "has made no resolver of grind") {
		t.Errorf("before gqlgen: %v", err)
	}
	if files, err := Hooks(tree); err != nil || len(files) != 1 {
		t.Errorf("the hooks, which gqlgen needs: %v, %v", files, err)
	}
}
