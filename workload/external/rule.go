package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"wirelab"
	"wirelab/wire/httprpc"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

// refused returns the error of a reply whose status says that the call failed, or redirects it; nil for other
// statuses. Such a status is an answer of the service rather than a wrong reply, so it is counted by its cause.
func refused(r *request.Reply) error {
	why := ""
	switch to := request.Get(r.Fields, "Location"); {
	case r.Status < http.StatusMultipleChoices:
		return nil
	case r.Status < http.StatusBadRequest && to != "":
		why = fmt.Sprintf(", which points to %q, and redirects are not followed: call that, or have a description "+
			"expect "+
			"it by status: '%d'", request.ShownURL(to), r.Status)
	case r.Status < http.StatusBadRequest:
		why = fmt.Sprintf(", and redirects are not followed; if that is right, have a description expect it by "+
			"status: '%d'",
			r.Status)
	}
	return wirelab.Caused(wirelab.StatusCause(r.Status), codeOf(r.Status), "status %d %s%s", r.Status,
		http.StatusText(r.Status), why)
}

// codeOf maps a status to our codes. A redirect is no answer to the request.
func codeOf(status int) wirelab.Code {
	if status < http.StatusBadRequest {
		return wirelab.InvalidArgument
	}
	return httprpc.CodeOf(status)
}

// graphErrors returns the error of a GraphQL reply with errors, whose status is 200 all the same.
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
	return wirelab.Caused(wirelab.Answered, wirelab.InvalidArgument, "GraphQL: %s", reply.Errors[0].Message)
}

// judgeOf returns the judge of a rule, which hides secrets in its messages. decode converts a reply to JSON; nil:
// no conversion.
func judgeOf(rule judge.Rule, decode func([]byte) ([]byte, error), secrets []string) (*judge.Judge, error) {
	hiding := judge.Hiding(func(text string) string { return wirelab.Hide(text, secrets) })
	if decode == nil {
		return judge.New(rule, hiding)
	}
	return judge.New(rule, judge.Decoding(decode), hiding)
}

// rule returns the definition of a right reply for the judge.
func (w *preparing) rule(ctx context.Context, field string, o OperationText, calls Calls) (r judge.Rule, err error) {
	r.Status, r.Ignore = o.Status, o.Ignore
	switch o.Expect {
	case Status:
		r.Mode = judge.Status
	case Schema:
		r.Mode = judge.Schema
		if r.Schema, err = w.Read(ctx, o.Schema); err != nil {
			return r, wirelab.Public(err).Behind(field + ".schema: ")
		}
	case Recorded:
		r.Mode = judge.File
		for _, q := range calls.Requests {
			if q.Reply == nil {
				return r, bad(field+".expect", "%s has no reply that was recorded; expect something else", q.At)
			}
			r.Replies = append(r.Replies, *q.Reply)
		}
	default:
		r.Mode = judge.Learnt
	}
	if _, err := judge.New(r); err != nil {
		return r, wirelab.Public(err).Behind(field + ": ")
	}
	return r, nil
}
