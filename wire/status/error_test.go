package status_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"wirelab/wire/status"
)

// Every code has its own name that reads back.
func TestCodesHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range status.Codes() {
		name := code.String()
		if seen[name] || strings.Contains(name, "(") {
			t.Errorf("code %d has the name %q", code, name)
		}
		seen[name] = true
		if back, ok := status.ParseCode(name); !ok || back != code {
			t.Errorf("%q reads back as %v, %v", name, back, ok)
		}
	}
	if code, ok := status.ParseCode("teapot"); ok || code != status.Internal {
		t.Errorf("an unknown name reads as %v, %v", code, ok)
	}
	if name := status.Code(200).String(); name != "code(200)" {
		t.Errorf("a code that is none reads %q", name)
	}
}

// What travels is the code and the message that was meant for the caller, and
// of any other error only what kind it is.
func TestCodeOfAndPublic(t *testing.T) {
	t.Parallel()
	coded := status.Errorf(status.Conflict, "id %q used", "a")
	for _, c := range []struct {
		name    string
		err     error
		code    status.Code
		message string
	}{
		{"coded", coded, status.Conflict, `id "a" used`},
		{"coded inside", fmt.Errorf("while storing: %w", coded), status.Conflict, `id "a" used`},
		{"deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), status.DeadlineExceeded, "deadline exceeded"},
		{"canceled", context.Canceled, status.Canceled, "canceled"},
		{"a stranger's", io.ErrUnexpectedEOF, status.Internal, "internal error"},
		{"with secrets", errors.New("password=x"), status.Internal, "internal error"},
	} {
		if got := status.CodeOf(c.err); got != c.code {
			t.Errorf("%s: code %v, want %v", c.name, got, c.code)
		}
		if got := status.Public(c.err); got.Code != c.code || got.Message != c.message {
			t.Errorf("%s: public %+v, want %v with %q", c.name, got, c.code, c.message)
		}
	}
}

func TestCodeOfSuccessPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("success has a code")
		}
	}()
	status.CodeOf(nil)
}

// An error of a name is a line: it suggests, and lists the known words where that is short.
func TestUnknownName(t *testing.T) {
	t.Parallel()
	var many []string
	for n := range 60 {
		many = append(many, fmt.Sprintf("metric-%02d", n))
	}
	for _, c := range []struct {
		name  string
		known []string
		whole []string
		want  string
	}{
		{"gprc", []string{"sse", "grpc", "grpc"}, nil, `unknown word "gprc"; did you mean grpc? Known: grpc, sse`},
		{"soap", []string{"sse", "grpc"}, []string{"wirelab matrix"}, `unknown word "soap"; known: grpc, sse`},
		{"a", []string{"grpc,client=x", "grpc"}, nil, `unknown word "a"; known: grpc; grpc,client=x`},
		{
			"metric-1", many,
			[]string{"wirelab help metrics"},
			`unknown word "metric-1"; did you mean metric-01, metric-10 or metric-11? wirelab help metrics lists all 60`,
		},
		{"soap", many, []string{"wirelab help metrics"}, `unknown word "soap"; wirelab help metrics lists all 60`},
		{
			"soap", many, nil,
			`unknown word "soap"; known: metric-00, metric-01, metric-02, metric-03, metric-04, metric-05, metric-06, metric-07, metric-08, metric-09, metric-10, metric-11 and 48 more`,
		},
	} {
		if got := status.Public(status.UnknownName("word", c.name, c.known, c.whole...)).Message; got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}
