package connect_test

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
)

// TestErrorTable: every wirelab code crosses and returns with its message, and every code of the wire, known or
// not, reads as a wirelab code.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, code := range wirelab.Codes() {
		want := wirelab.Error{Code: code, Message: "% whole\n„é\x00"}
		var got *wirelab.Error
		if err := wireconnect.Decode(wireconnect.Encode(&want)); !errors.As(err, &got) || *got != want {
			t.Errorf("%v came back as %v", &want, err)
		}
	}
	if wireconnect.Encode(nil) != nil || wireconnect.Decode(nil) != nil {
		t.Error("success became an error")
	}
	unknown := wirelab.Error{Code: 200, Message: "from the future"}
	if err := wireconnect.Decode(wireconnect.Encode(&unknown)); wirelab.CodeOf(err) != wirelab.Internal {
		t.Errorf("a code beyond the table: %v", err)
	}
	secret := errors.New("password is 1234")
	var got *wirelab.Error
	if err := wireconnect.Decode(wireconnect.Encode(secret)); !errors.As(err, &got) || *got != *wirelab.Public(secret) {
		t.Errorf("an unclassified error crossed as %v", err)
	}
	if err := wireconnect.Decode(secret); wirelab.CodeOf(err) != wirelab.Internal {
		t.Errorf("an error of neither: %v", err)
	}
	for code := range connect.Code(40) {
		if got := wirelab.CodeOf(wireconnect.Decode(connect.NewError(code, nil))); int(got) >= len(wirelab.Codes()) {
			t.Errorf("%v reads as %v", code, got)
		}
	}
	if err := wireconnect.Decode(context.DeadlineExceeded); wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
		t.Errorf("a bare deadline: %v", err)
	}
}
