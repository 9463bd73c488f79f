package external

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"wirelab"
	"wirelab/wire/httprpc"
	"wirelab/workload/external/request"
)

// checker decides whether the reply to a request is right. It may be used by many goroutines.
type checker interface {
	Check(index int, got request.Reply) error
}

// refused is the error of a reply whose status says that the call failed; nil where it does not. A status is the
// service's own word, and not a wrong reply: it is counted by its cause.
func refused(status int) error {
	if status < http.StatusBadRequest {
		return nil
	}
	return wirelab.Caused(wirelab.StatusCause(status), httprpc.CodeOf(status), "status %d %s", status, http.StatusText(status))
}

// graphErrors is the error of a reply of GraphQL that has errors: its status is 200 all the same.
func graphErrors(body []byte) error {
	if !bytes.Contains(body, []byte(`"errors"`)) {
		return nil
	}
	var reply struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return wirelab.Caused(wirelab.BadProtocol, wirelab.Internal, "the reply is not GraphQL's: %v", err)
	}
	if len(reply.Errors) == 0 {
		return nil
	}
	return wirelab.Caused(wirelab.Answered, wirelab.InvalidArgument, "GraphQL: %.200s", reply.Errors[0].Message)
}

// Rule is what a right reply is, as drivers are told.
type Rule struct {
	Expect Expect   `json:"expect"`
	Ignore []string `json:"ignore,omitempty"`
}

// Step is one call of a chain.
type Step struct {
	Call string            `json:"call"`
	Save map[string]string `json:"save,omitempty"`
}

type statusOnly struct{ kind Kind }

func (s statusOnly) Check(_ int, got request.Reply) error {
	if err := refused(got.Status); err != nil {
		return err
	}
	if s.kind == GraphQL {
		return graphErrors(got.Body)
	}
	return nil
}

func (r Rule) checker(w Wire, _ []request.Request) (checker, error) { return statusOnly{w.Kind}, nil }

func (w *preparing) rule(_ context.Context, _ string, o OperationText) (Rule, error) {
	return Rule{Expect: o.Expect, Ignore: o.Ignore}, nil
}

func secretField(name string) bool { return request.Secret(name) }

func openGRPC(w Wire, to wirelab.Dialing) (port, error) {
	return nil, wirelab.Errorf(wirelab.Unimplemented, "gRPC")
}

func replayedGRPC(over http.RoundTripper, w Wire) port { return nil }
