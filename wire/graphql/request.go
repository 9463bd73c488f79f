package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// body is a request's, which has been read.
type body struct {
	*bytes.Reader
	text []byte
}

// Close implements io.Closer.
func (body) Close() error { return nil }

// request is what a body says. What else is in it, such as extensions, is
// passed over, and no memory spent on it.
type request struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

// parseRequest reads a body. Its errors are coded.
func parseRequest(text []byte) (request, error) {
	var r request
	if !utf8.Valid(text) {
		return r, status.Errorf(status.InvalidArgument, "the request is not valid UTF-8") // JSON would alter it
	}
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && start[0] == '[' {
		return r, status.Errorf(status.InvalidArgument, "batches are not taken: send one request at a time")
	}
	if tooManyValues(text) {
		return r, beyond("request of more than %d values", valueLimit)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&r); err != nil {
		return r, status.Errorf(status.InvalidArgument, "the request is not JSON of a query")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return r, status.Errorf(status.InvalidArgument, "the request is followed by something else")
	}
	return r, nil
}

// tooManyValues reports whether a JSON text may hold more than valueLimit values. An array of a million is 3 MB
// of text but some hundred in memory, and no schema here takes a list. Whatever is not JSON is judged as if it
// were.
func tooManyValues(text []byte) bool {
	if len(text) <= valueLimit {
		return false // a value takes a byte: the usual case
	}
	values := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',', '[', '{': // each is followed by a value, or by nothing
			if values++; values > valueLimit {
				return true
			}
		case '"':
			i = endOfText(text, i)
		}
	}
	return false
}

// endOfText returns where the JSON string that starts at i ends: the place of
// its last quote, or the end of data.
func endOfText(data []byte, i int) int {
	for i++; i < len(data); i++ {
		n := bytes.IndexAny(data[i:], `"\`)
		if n < 0 {
			return len(data)
		}
		if i += n; data[i] == '"' {
			return i
		}
		i++ // what a backslash hides
	}
	return i
}

// prepare reads a request and returns the operation to run, or the reply that
// refuses it.
func prepare(
	ctx context.Context, r *http.Request, exec graphql.GraphExecutor,
) (*graphql.OperationContext, *graphql.Response) {
	held, ok := r.Body.(body)
	if !ok {
		panic("graphql: a request that was not read") // newAnswer does
	}
	start := graphql.Now()
	asked, err := parseRequest(held.text)
	if err != nil {
		return nil, exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(err)})
	}
	operation, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: asked.Query, OperationName: asked.OperationName, Variables: asked.Variables,
		Headers: r.Header, ReadTime: graphql.TraceTiming{Start: start, End: graphql.Now()},
	})
	if errs != nil {
		return nil, exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
	}
	return operation, nil
}

// queries answers whatever is not a subscription. gqlgen has such a transport, but it repeats a body that it
// cannot read in its reply, whatever its size, and bounds neither what a request holds nor what a reply grows
// to.
type queries struct{}

var _ graphql.Transport = queries{}

// Supports implements [graphql.Transport].
func (queries) Supports(r *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mediaType == httprpc.MediaJSON
}

// Do implements [graphql.Transport].
func (queries) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	mediaType := replyType(r.Header.Get("Accept"))
	operation, refused := prepare(ctx, r, exec)
	if refused != nil {
		status := http.StatusBadRequest
		if mediaType == httprpc.MediaJSON {
			status = http.StatusOK // of which such callers know that it says nothing
		}
		write(w, status, mediaType, refused)
		return
	}
	responses, ctx := exec.DispatchOperation(ctx, operation)
	response := responses(ctx)
	if len(response.Data) > httprpc.MessageLimit {
		response = exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(
			beyond("reply of more than %d bytes", httprpc.MessageLimit),
		)})
	}
	write(w, http.StatusOK, mediaType, response)
}

// replyType is the type of a reply to a caller that sent Accept. The standard
// leaves application/json to callers who ask for it and not for the newer one.
func replyType(accept string) string {
	if strings.Contains(accept, httprpc.MediaJSON) && !strings.Contains(accept, mediaResponse) {
		return httprpc.MediaJSON
	}
	return mediaResponse
}

// write sends a reply whole.
func write(w http.ResponseWriter, status int, mediaType string, response *graphql.Response) {
	data, err := json.Marshal(response)
	if err != nil {
		panic(err) // gqlgen's own JSON is well formed
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // to a caller that may be gone
}
