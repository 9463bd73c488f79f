package hermes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
)

// web publishes over HTTP/1.1, with one kept connection for each send in flight. A reply is read to its end;
// otherwise the next send would have to connect anew (docs/origins.md hb-M07).
type web struct {
	turns
	form      form
	urls      []string
	client    *http.Client
	transport *http.Transport
}

// form converts a send to a request and reads the reply.
type form interface {
	path(topic string) string
	body(topic string, batch []broker.Message) ([]byte, error)
	// failure reads a reply; nil only if every message was stored.
	failure(status int, reply []byte) error
}

func newWeb(b *Broker, members []api.Member, width int, f form) *web {
	w := &web{form: f, transport: &http.Transport{
		DialContext: b.config.Connect, DisableCompression: true, MaxConnsPerHost: width, MaxIdleConnsPerHost: width,
	}}
	for _, m := range members {
		w.urls = append(w.urls, "http://"+m.HTTP)
	}
	w.count = len(w.urls)
	w.client = &http.Client{Transport: w.transport}
	return w
}

// Calls implements [broker.Publisher].
func (*web) Calls() bool { return true }

// Send implements [broker.Publisher].
func (w *web) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	node := w.now()
	if err := w.post(ctx, w.urls[node], topic, batch); err != nil {
		done(broker.Receipt{}, w.failed(ctx, node, err))
		return
	}
	done(broker.Receipt{}, nil)
}

// replyLimit is the maximum length of a reply in bytes.
const replyLimit = 1 << 20

func (w *web) post(ctx context.Context, node, topic string, batch []broker.Message) error {
	body, err := w.form.body(topic, batch)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, node+w.form.path(topic), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return w.broken(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	reply, err := io.ReadAll(io.LimitReader(response.Body, replyLimit))
	if err != nil {
		return w.broken(ctx, err)
	}
	return w.form.failure(response.StatusCode, reply)
}

func (*web) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return wirelab.Public(ctx.Err())
	}
	return wirelab.Errorf(wirelab.Unavailable, "a node could not be asked: %v", err)
}

// Close implements [broker.Publisher].
func (w *web) Close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// messageJSON is a message in a request. encoding/json encodes bytes in base64.
type messageJSON struct {
	Payload []byte `json:"payload_base64"`
	Key     []byte `json:"key_base64,omitempty"`
}

// restForm is POST /v1/topics/TOPIC/messages.
type restForm struct{ mode hermes.Mode }

func (f restForm) path(topic string) string {
	return "/v1/topics/" + url.PathEscape(topic) + "/messages?mode=" + modeName(f.mode)
}

func (restForm) body(_ string, batch []broker.Message) ([]byte, error) {
	if len(batch) == 1 {
		return json.Marshal(messageJSON{batch[0].Body, []byte(batch[0].ID)})
	}
	all := make([]messageJSON, len(batch))
	for i, m := range batch {
		all[i] = messageJSON{m.Body, []byte(m.ID)}
	}
	return json.Marshal(map[string]any{"messages": all})
}

func (restForm) failure(status int, reply []byte) error {
	if status == http.StatusOK {
		return nil
	}
	var problem struct{ Code, Detail, Title string }
	if json.Unmarshal(reply, &problem) != nil {
		return wirelab.Errorf(wirelab.Unavailable, "the node answered %d: %.100s", status, reply)
	}
	code, known := wirelab.ParseCode(problem.Code)
	if !known {
		code = wirelab.Unavailable
	}
	return wirelab.Errorf(code, "%s %s", problem.Title, problem.Detail)
}

// modeName returns the name of a mode in the APIs.
func modeName(m hermes.Mode) string {
	switch m {
	case hermes.Eventual:
		return Eventual
	case hermes.Performance:
		return Performance
	}
	return Consistent
}

// graphqlForm is the mutation publish.
type graphqlForm struct{ mode hermes.Mode }

func (graphqlForm) path(string) string { return "/graphql" }

// publishMutation uses variables, so that the server parses the text once. The mode is always sent: the origin's
// tool left it out (docs/origins.md hb-M11).
const publishMutation = `mutation($topic:String!,$messages:[MessageInput!]!,$mode:Mode!)` +
	`{publish(topic:$topic,messages:$messages,mode:$mode){count}}`

func (f graphqlForm) body(topic string, batch []broker.Message) ([]byte, error) {
	type input struct {
		Payload []byte `json:"payloadBase64"`
		Key     []byte `json:"keyBase64,omitempty"`
	}
	all := make([]input, len(batch))
	for i, m := range batch {
		all[i] = input{m.Body, []byte(m.ID)}
	}
	return json.Marshal(map[string]any{"query": publishMutation, "variables": map[string]any{
		"topic": topic, "messages": all, "mode": strings.ToUpper(modeName(f.mode)),
	}})
}

// failure inspects the reply, since resolvers fail with status 200 (docs/origins.md hb-M10).
func (graphqlForm) failure(status int, reply []byte) error {
	var answer struct {
		Data   struct{ Publish *struct{ Count int } }
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return wirelab.Errorf(wirelab.Unavailable, "the node answered %d: %.100s", status, reply)
	}
	if len(answer.Errors) > 0 {
		code, known := wirelab.ParseCode(answer.Errors[0].Extensions.Code)
		if !known {
			code = wirelab.Internal
		}
		return wirelab.Errorf(code, "%s", answer.Errors[0].Message)
	}
	if status != http.StatusOK || answer.Data.Publish == nil {
		return wirelab.Errorf(wirelab.Unavailable, "the node answered %d without a verdict", status)
	}
	return nil
}
