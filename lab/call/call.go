// Package call makes one call to a server, and explains a failure. It knows cells and their clients, and must not know
// how a reply is shown.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/workload/catalog"
)

// Request says how to make one call.
type Request struct {
	Protocol, Client, Target string
	Timeout                  time.Duration
}

// Report is the output of "call --json".
type Report struct {
	Workload  string            `json:"workload"`
	Operation string            `json:"operation"`
	Protocol  string            `json:"protocol"`
	Client    string            `json:"client"`
	Target    string            `json:"target"`
	Request   string            `json:"request"` // in words
	Reply     []json.RawMessage `json:"reply"`
	Took      plan.Duration     `json:"took"`          // including the time to connect
	TLS       string            `json:"tls,omitempty"` // negotiated version: "TLS 1.2"
	Error     *Error            `json:"error,omitempty"`
}

// Error says why a call has no reply.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Cause   string `json:"cause"` // why: "refused", "reset", "timed out", "status 503"
}

// Make connects, makes one call and disconnects.
func Make(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, operation string,
	data []byte,
) (request any, reply []any, err error) {
	client, err := cell.Dial(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = fault.Both(err, client.Close()) }()
	return client.Call(ctx, operation, data)
}

// Find finds the cell and operation to call, and reports errors that need no server to be found.
func Find(works catalog.Catalog, what string, f Request) (wirelab.Cell, wirelab.OperationInfo, error) {
	fail := func(err error) (wirelab.Cell, wirelab.OperationInfo, error) {
		return wirelab.Cell{}, wirelab.OperationInfo{}, err
	}
	workload, name, dotted := strings.Cut(what, ".")
	w, err := works.Work(workload)
	if err != nil {
		return fail(err)
	}
	op, err := catalog.OperationOf(w, name)
	if err != nil {
		return fail(err)
	}
	switch {
	case !dotted:
		return fail(wirelab.Errorf(wirelab.InvalidArgument, "%.100q is not WORKLOAD.OPERATION%s", what,
			wirelab.Known(what, works.Operations(), "wirelab matrix")))
	case f.Protocol == "":
		return fail(wirelab.Errorf(wirelab.InvalidArgument, "--protocol is missing; %s is carried over %s", w.Name,
			strings.Join(catalog.ProtocolNames(w), ", ")))
	case f.Timeout <= 0:
		return fail(wirelab.Errorf(wirelab.InvalidArgument, "--timeout is %v; it must be above 0", f.Timeout))
	}
	cell, err := works.Cell(workload, f.Protocol, "", f.Client)
	if err != nil {
		return fail(err)
	}
	if f.Target == "" {
		return fail(wirelab.Errorf(wirelab.InvalidArgument,
			"--target is missing; start a server with wirelab serve %s %s and give its HOST:PORT", w.Name,
			cell.Protocol.Name))
	}
	if _, err := plan.ParseArm(cell.Protocol.Name + ",target=" + f.Target); err != nil {
		return fail(wirelab.Errorf(wirelab.InvalidArgument, "--target: %q is not HOST:PORT, such as 127.0.0.1:9000",
			f.Target))
	}
	if reason, hole := cell.Holes[op.Name]; hole {
		return fail(wirelab.Errorf(wirelab.InvalidArgument, "%s cannot carry %s: %s", cell.Protocol.Name, op.Name,
			reason))
	}
	return cell, op, nil
}

// Explain returns an error that says what failed and, if the server was not reached, what to check. Its exit code is
// that of a failure, whatever code the server returned.
func Explain(ctx context.Context, cell wirelab.Cell, operation string, f Request, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	coded := wirelab.Public(err)
	hint := ""
	switch coded.Code {
	case wirelab.Unavailable:
		hint = "; check that a server of " + cell.Workload + " over " + cell.Protocol.Name +
			" listens there (start one: wirelab serve " + cell.Workload + " " + cell.Protocol.Name + ")"
		if cell.Protocol.Secure {
			hint += " and that --ca names its CA certificate"
			if wirelab.CauseOf(err) == wirelab.BadTLS {
				hint += ", and --server-name a name in its certificate; --insecure takes any certificate"
			}
		}
	case wirelab.DeadlineExceeded:
		hint = "; no reply within " + f.Timeout.String() + ": check that the server speaks " + cell.Protocol.Name +
			", or raise --timeout"
	}
	return wirelab.Caused(wirelab.CauseOf(err), coded.Code, "%s over %s at %s: %s: %s%s",
		operation, cell.Protocol.Name, f.Target, coded.Code, coded.Message, hint)
}
