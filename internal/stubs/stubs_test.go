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
	if len(files) < 4 {
		t.Errorf("%d files, want one for each workload with a hooked service", len(files))
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
		{"a chat", hooked + "type Service interface {\n" +
			"Talk(ctx context.Context, in iter.Seq2[Say, error]) iter.Seq2[Say, error] }", "h.service.Talk(ctx, in)(yield)", ""},
		{"a stream one way", hooked + "type Service interface {\n" +
			"Pour(ctx context.Context, g Grain) iter.Seq2[Flour, error] }", "", "write it by hand"},
		{"a stream by hand", hooked + "type Service interface {\n" +
			"Pour(ctx context.Context, g Grain) iter.Seq2[Flour, error] }\nfunc (h hooked) Pour() {}", "var _ Service", ""},
		{"no error", hooked + "type Service interface { Grind(ctx context.Context, g Grain) Flour }", "", "returns neither"},
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

func TestExchange(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"workload/mill/mill.go": {Data: []byte("package mill\ntype hooked struct{}\ntype Service interface {\n" +
			"Grind(ctx context.Context, g Grain) (Flour, error)\n" +
			"Talk(ctx context.Context, in iter.Seq2[Say, error]) iter.Seq2[Say, error]\n" +
			"Sell(ctx context.Context, g Grain) (Flour, error)\n}\n")},
		"workload/mill/bind/exchange.go": {Data: []byte("package bind\nfunc grind() {}\nfunc talk() {}\n" +
			"func (s *exchangeCalls) Talk() {}\n")},
	}
	files, err := Generate(tree)
	if err != nil || len(files) != 2 || files[1].Path != "workload/mill/bind/exchange_gen.go" {
		t.Fatalf("%v, %v", files, err)
	}
	got := string(files[1].Content)
	for _, want := range []string{
		"grind().Unary(service.Grind),", "talk().BidiStream(service.Talk),", "exchange.Operation[mill.Grain, mill.Flour]",
		"return s.grind.Call(ctx, s.client, g)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
	for _, not := range []string{"Sell", "func (s *exchangeCalls) Talk", "CallBidiStream"} {
		if strings.Contains(got, not) {
			t.Errorf("has %s, which is by hand or no operation:\n%s", not, got)
		}
	}
}
