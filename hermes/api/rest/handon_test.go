package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
)

// Where callers show a token, an acknowledgement at another node than the one that delivers
// is handed on with it, once, and the other node's answer is theirs.
func TestAckHandedOn(t *testing.T) {
	t.Parallel()
	var asked *http.Request
	var body string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked, body = r, string(text)
		if strings.HasSuffix(r.URL.Path, "nack") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"code":"permission_denied"}`)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer other.Close()
	status := &broker.Status{Node: 1, Leader: 1, Members: []broker.Member{
		{ID: 2, HTTP: strings.TrimPrefix(other.URL, "http://")},
	}}
	ask := func(token, verb, marked string) *httptest.ResponseRecorder {
		s := start(t, rest.Config{Token: token, Broker: &scripted{Broker: memory(t), status: status}})
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/subscriptions/2-x/"+verb,
			strings.NewReader(`{"ranges":[{"first":3,"last":4}]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer secret")
		if marked != "" {
			r.Header.Set("Hermes-Handed-On", marked)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w
	}
	if w := ask("secret", "ack", ""); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if asked.URL.Path != "/v1/subscriptions/2-x/ack" || asked.Header.Get("Authorization") != "Bearer secret" ||
		!strings.Contains(body, `"first":3,"last":4`) {
		t.Errorf("the other node is asked %s %v: %s", asked.URL.Path, asked.Header, body)
	}
	if w := ask("secret", "nack", ""); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(),
		"permission_denied") {
		t.Errorf("the other node's refusal comes as %d %s", w.Code, w.Body)
	}
	if w := ask("secret", "ack", "1"); w.Code != http.StatusTemporaryRedirect {
		t.Errorf("what was handed on goes further: %d", w.Code)
	}
	if w := ask("", "ack", ""); w.Code != http.StatusTemporaryRedirect {
		t.Errorf("without tokens nothing is lost on the way, and it is handed on: %d", w.Code)
	}
	other.Close()
	if w := ask("secret", "ack", ""); w.Code != http.StatusTemporaryRedirect {
		t.Errorf("with the other's door closed: %d", w.Code)
	}
}
