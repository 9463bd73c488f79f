package wirelab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"wirelab"
)

// Every code has a name of its own that reads back.
func TestCodesHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range wirelab.Codes() {
		name := code.String()
		if seen[name] || strings.Contains(name, "(") {
			t.Errorf("code %d has the name %q", code, name)
		}
		seen[name] = true
		if back, ok := wirelab.ParseCode(name); !ok || back != code {
			t.Errorf("%q reads back as %v, %v", name, back, ok)
		}
	}
	if code, ok := wirelab.ParseCode("teapot"); ok || code != wirelab.Internal {
		t.Errorf("an unknown name reads as %v, %v", code, ok)
	}
	if name := wirelab.Code(200).String(); name != "code(200)" {
		t.Errorf("a code that is none reads %q", name)
	}
}

// What travels is the code and the message that was meant for the caller, and
// of any other error only what kind it is.
func TestCodeOfAndPublic(t *testing.T) {
	t.Parallel()
	coded := wirelab.Errorf(wirelab.Conflict, "id %q used", "a")
	for _, c := range []struct {
		name    string
		err     error
		code    wirelab.Code
		message string
	}{
		{"coded", coded, wirelab.Conflict, `id "a" used`},
		{"coded inside", fmt.Errorf("while storing: %w", coded), wirelab.Conflict, `id "a" used`},
		{"deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), wirelab.DeadlineExceeded, "deadline exceeded"},
		{"canceled", context.Canceled, wirelab.Canceled, "canceled"},
		{"a stranger's", io.ErrUnexpectedEOF, wirelab.Internal, "internal error"},
		{"with secrets", errors.New("password=x"), wirelab.Internal, "internal error"},
	} {
		if got := wirelab.CodeOf(c.err); got != c.code {
			t.Errorf("%s: code %v, want %v", c.name, got, c.code)
		}
		if got := wirelab.Public(c.err); got.Code != c.code || got.Message != c.message {
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
	wirelab.CodeOf(nil)
}

func TestUnknownNameListsTheKnown(t *testing.T) {
	t.Parallel()
	err := wirelab.UnknownName("protocol", "gprc", []string{"sse", "grpc", "grpc"})
	if got, want := err.Error(), `invalid_argument: unknown protocol "gprc"; known: grpc, sse`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
