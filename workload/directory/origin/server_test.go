package origin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// recordedReplies returns the published server's replies to GET, by path.
func recordedReplies(t *testing.T) map[string]string {
	t.Helper()
	recording, err := os.ReadFile(filepath.Join("testdata", "demo-http.txt"))
	if err != nil {
		t.Fatal(err)
	}
	replies, path := map[string]string{}, ""
	for line := range strings.Lines(string(recording)) {
		if rest, ok := strings.CutPrefix(line, `> "GET `); ok {
			path, _, _ = strings.Cut(rest, " ")
		}
		if rest, ok := strings.CutPrefix(line, "< DATA "); ok && path != "" {
			if replies[path], err = strconv.Unquote(strings.TrimSpace(rest)); err != nil {
				t.Fatal(err)
			}
			path = ""
		}
	}
	return replies
}

// TestPublishedServerCanBeMeasured checks that a load over the published data set passes against the published
// server: its requests match that data set, and replies are checked against the published persons. Recorded replies
// stand in for the server. Like it, the stand-in ignores queries, echoes the created person, and answers an unknown
// person with 500.
func TestPublishedServerCanBeMeasured(t *testing.T) {
	t.Parallel()
	replies := recordedReplies(t)
	replies["/person/2/links"], replies["/person/4/links"] = someLinks(t, "2"), someLinks(t, "4")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch reply, ok := replies[r.URL.Path]; {
		case r.Method == http.MethodPost:
			_, _ = io.Copy(w, r.Body)
		case ok:
			_, _ = io.WriteString(w, reply)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	work := bind.Workload().Erase()
	for _, cell := range work.Cells {
		if cell.Protocol.Name != "http1-json" {
			continue
		}
		cell, err := cell.With(directory.PublishedData)
		if err != nil {
			t.Fatal(err)
		}
		client, err := cell.Dial(t.Context(), wirelab.Dialing{Address: server.Listener.Addr().String(), Connections: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for _, operation := range work.Operations {
			if !slices.Contains(operation.Requests, directory.Published) {
				continue // the published service does not have it
			}
			for _, requests := range operation.Requests {
				call, err := client.Caller(operation.Name, requests, 1)
				if err != nil {
					t.Fatal(err)
				}
				for range 50 {
					if err := call(t.Context()); err != nil {
						t.Errorf("%s, requests %q: %v", operation.Name, requests, err)
						break
					}
				}
			}
		}
	}
}

// someLinks returns links that the demo does not ask for, as our server has them.
func someLinks(t *testing.T, id string) string {
	t.Helper()
	b := conformance.Pick(t, bind.HTTP(), "http1-json")
	pair := conformance.Pair[directory.Service]{Binding: b, Server: b.Servers[0]}
	address, _ := pair.Serve(t, published(t))
	reply, err := http.Get("http://" + address + "/person/" + id + "/links")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
