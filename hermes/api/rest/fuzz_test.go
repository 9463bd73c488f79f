package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// Whatever is asked, the API answers, in a form that it describes, and is not at fault.
func FuzzRequests(f *testing.F) {
	f.Add("POST", "/v1/topics/t/messages?mode=eventual", kindJSON, "",
		`{"payload":"x","headers":[{"name":"n","value_base64":"AA=="}]}`)
	f.Add("POST", "/v1/topics/t/messages?producer=1&sequence=1", kindBytes, "a=b", "\xff")
	f.Add("POST", "/v1/topics/t/messages", kindProto, "", "\x12\x03\x0a\x01x\x12\x00")
	f.Add("POST", "/v1/publish", kindJSON, "", `{"runs":[{"topic":"t","messages":[{"payload":"\ud83d\ude00"}]}]}`)
	f.Add("PUT", "/v1/topics/x%2e", kindJSON, "", `{"retention_age":"1h"}`)
	f.Add("PATCH", "/v1/topics/t", kindJSON, "", `{"retention_bytes":1}`)
	f.Add("PUT", "/v1/topics/t/groups/g", kindJSON, "", `{"from":"2026-01-01T00:00:00.5Z"}`)
	f.Add("POST", "/v1/topics/t/groups/g/seek", kindJSON, "", `{"from":"18446744073709551615"}`)
	f.Add("POST", "/v1/subscriptions/1-x/nack", kindJSON, "", `{"ranges":[{"first":0,"last":1}],"delay":"1µs"}`)
	f.Add("POST", "/v1/cluster/members", kindJSON, "", `{"id":"2","peer":"a:1"}`)
	f.Add("GET", "/v1/topics?prefix=t&limit=1&after=%00", "", "", "")
	f.Add("HEAD", "/v1/topics/t/events?from=0", "", "", "")
	f.Add("POST", "/publish/batch", kindJSON, "", `{"topic":"t","payloads":["x"],"mode":2}`)
	f.Add("GET", "/status", "", "", "")
	f.Fuzz(func(t *testing.T, method, target, kind, header, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+target, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(target, "/") || r.URL.Host != "localhost" {
			return
		}
		m := brokertest.Memory()
		defer m.Close()
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
			t.Fatal(err)
		}
		s := start(t, rest.Config{Broker: m})
		if r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/events") || r.URL.Path == "/subscribe") {
			r.Method = "HEAD" // they would last
		}
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Hermes-Header", header)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError || w.Code < 200 {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		if s.api.Holding() != 0 {
			t.Fatalf("%s %s: %d bytes are still counted", method, target, s.api.Holding())
		}
		if w.Code >= 400 {
			if err := s.spec.fits("Problem", w.Body.Bytes()); err != nil {
				t.Fatalf("%s %s: %d %s: %v", method, target, w.Code, w.Body, err)
			}
		}
	})
}

// Any message that a JSON body holds comes back as it was, and the text written for a subscriber is JSON that
// says the same.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("a\x00\"\\\u2028"), []byte("k"), "n", []byte("v"))
	f.Add([]byte{0xff}, []byte{}, "\u00e9", []byte{0xed, 0xa0, 0x80})
	f.Fuzz(func(t *testing.T, payload, key []byte, name string, value []byte) {
		if !utf8.ValidString(name) || name == "" {
			return
		}
		m := hermes.Message{Payload: payload, Key: key, Headers: []hermes.Header{{Name: name, Value: value}}}
		text := rest.Deliver("t", 7, 1, 2, &m)
		var d struct {
			Topic, Time         string
			Offset              uint64
			Attempt             uint32
			Payload, Key, Value *string
			PayloadBase64       []byte `json:"payload_base64"`
			KeyBase64           []byte `json:"key_base64"`
			Headers             []struct {
				Name        string
				Value       *string
				ValueBase64 []byte `json:"value_base64"`
			}
		}
		if err := json.Unmarshal(text, &d); err != nil || bytes.ContainsAny(text, "\r\n") {
			t.Fatalf("%q: %v", text, err)
		}
		same := func(want []byte, text *string, raw []byte) bool {
			if text != nil {
				return string(want) == *text && raw == nil
			}
			return bytes.Equal(want, raw)
		}
		if !same(payload, d.Payload, d.PayloadBase64) || !same(key, d.Key, d.KeyBase64) || d.Headers[0].Name != name ||
			!same(value, d.Headers[0].Value, d.Headers[0].ValueBase64) || d.Offset != 7 || d.Attempt != 2 {
			t.Fatalf("%q does not say what %q does", text, m)
		}
		// What it says can be published again.
		var again map[string]any
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"topic", "offset", "time", "attempt"} {
			delete(again, name)
		}
		back, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rest.ReadMessage(back)
		if err != nil || !bytes.Equal(got.Payload, payload) || !bytes.Equal(got.Key, key) ||
			got.Headers[0].Name != name ||
			!bytes.Equal(got.Headers[0].Value, value) {
			t.Fatalf("%q comes back as %q, %v", m, got, err)
		}
	})
}

// A body either is read as encoding/json reads it, unaltered, or is refused by a code.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"payload":"\ud83d\ude00"}`, `{"payload":"\ud800x"}`, `{"payload_base64":"AA=="}`,
		`{"headers":[{}]}`, "{} ", "[", `{"payload":"\\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := rest.ReadMessage(text)
		if err != nil {
			if code := status.CodeOf(err); code != status.InvalidArgument && code != status.ResourceExhausted {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var plain struct {
			Payload       string
			PayloadBase64 []byte `json:"payload_base64"`
		}
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := string(m.Payload); got != plain.Payload && got != string(plain.PayloadBase64) {
			t.Fatalf("%q is read as %q", text, got)
		}
		if strings.Contains(string(m.Payload), "\uFFFD") && !bytes.Contains(text, []byte("\uFFFD")) &&
			!strings.Contains(strings.ToLower(string(text)), `\ufffd`) && plain.PayloadBase64 == nil {
			t.Fatalf("%q was altered", text)
		}
	})
}
