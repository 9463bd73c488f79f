package grpc_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// TestErrorTable: every wirelab code crosses and returns with its message, and every code of the wire, known or
// not, reads as a wirelab code.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, code := range status.Codes() {
		want := status.Error{Code: code, Message: "% whole\n„é\x00"}
		var got *status.Error
		if err := wiregrpc.Decode(wiregrpc.Encode(&want)); !errors.As(err, &got) || *got != want {
			t.Errorf("%v came back as %v", &want, err)
		}
	}
	if wiregrpc.Encode(nil) != nil || wiregrpc.Decode(nil) != nil {
		t.Error("success became an error")
	}
	unknown := status.Error{Code: 200, Message: "from the future"}
	if err := wiregrpc.Decode(wiregrpc.Encode(&unknown)); status.CodeOf(err) != status.Internal {
		t.Errorf("a code beyond the table: %v", err)
	}
	secret := errors.New("password is 1234")
	var got *status.Error
	if err := wiregrpc.Decode(wiregrpc.Encode(secret)); !errors.As(err, &got) || *got != *status.Public(secret) {
		t.Errorf("an unclassified error crossed as %v", err)
	}
	if err := wiregrpc.Decode(secret); status.CodeOf(err) != status.Internal {
		t.Errorf("an error of neither: %v", err)
	}
	for code := range codes.Code(40) {
		if code == codes.OK {
			continue
		}
		if got := status.CodeOf(wiregrpc.Decode(grpcstatus.Error(code, "x"))); int(got) >= len(status.Codes()) {
			t.Errorf("%v reads as %v", code, got)
		}
	}
	if err := wiregrpc.Decode(context.DeadlineExceeded); status.CodeOf(err) != status.DeadlineExceeded {
		t.Errorf("a bare deadline: %v", err)
	}
}
