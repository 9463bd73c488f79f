package graphql_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// leaving is a feed that has ended, and whose subscription the API has not taken away yet.
type leaving struct{ feed }

func (*leaving) Ack(context.Context, []broker.Range) error {
	return status.Errorf(status.Canceled, "canceled")
}

func (l *leaving) Nack(ctx context.Context, _ []broker.Range, _ string, _ int64) error {
	return l.Ack(ctx, nil)
}

// An acknowledgement of a subscription that just ends gets the same answer by both APIs whether it comes before
// or after the API takes the subscription away.
func TestLeaving(t *testing.T) {
	t.Parallel()
	f := &leaving{feed{batches: make(chan broker.Batch, 1)}}
	f.batches <- batch(0, "a")
	s := start(t, &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
		return f, nil
	}})
	k := s.open("/graphql")
	k.subscribe("x", `subscription{messages(topic:"t",group:"g"){subscription}}`)
	_, id, _ := strings.Cut(k.next(), `"subscription":"`)
	id, _, _ = strings.Cut(id, `"`)
	s.want(s.ask("/graphql", `mutation($s:ID!){ack(subscription:$s,ranges:[{first:0,last:0}])}`, "s", id),
		"not_found: ")
	s.want(s.ask("/graphql", `mutation($s:ID!){nack(subscription:$s,ranges:[{first:0,last:0}])}`, "s", id),
		"not_found: ")
	for _, does := range []string{"/ack", "/nack"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+s.address+"/v1/subscriptions/"+id+does,
			strings.NewReader(`{"ranges":[{"first":0,"last":0}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		w, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if w.Body.Close(); w.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", does, w.Status)
		}
	}
}
