package graphql_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wirelab/hermes/api/graphql"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
)

// Whatever is asked of either schema, the API answers, and is not at fault.
func FuzzQuestions(f *testing.F) {
	f.Add(true, `{"query":"{topics{name groups{name acked{first}}}}"}`)
	f.Add(true,
		`{"query":"mutation($m:[MessageInput!]!){publish(topic:\"t\",messages:$m){offset}}","variables":{"m":[{"payloadBase64":"/w=="}]}}`)
	f.Add(true,
		`{"query":"mutation{createGroup(topic:\"t\",name:\"g\",from:\"2026-01-01T00:00:00Z\",maxAttempts:2147483648){name}}"}`)
	f.Add(true, `{"query":"mutation{configureTopic(name:\"t\",retentionBytes:18446744073709551615){name}}"}`)
	f.Add(true, `{"query":"mutation{nack(subscription:\"x\",ranges:[{first:1,last:2}],delay:\"1h\")}"}`)
	f.Add(false, `{"query":"mutation{publishBatch(topic:\"t\",payloads:[\"\"],mode:PERFORMANCE){success}}"}`)
	f.Add(false, `{"query":"fragment a on Query{...a} query{...a}"}`)
	f.Fuzz(func(t *testing.T, ours bool, body string) {
		m := brokertest.Memory()
		defer m.Close()
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
			t.Fatal(err)
		}
		handlers, err := graphql.Handlers(graphql.Config{Broker: m})
		if err != nil {
			t.Fatal(err)
		}
		path := graphql.OriginPath
		if ours {
			path = graphql.Path
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handlers[path](t.Context()).ServeHTTP(w, r)
		var got struct{ Errors []failure }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code >= 500 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		for _, e := range got.Errors {
			if e.Extensions.Code == "internal" {
				t.Fatalf("%q: %s", body, w.Body)
			}
		}
	})
}
