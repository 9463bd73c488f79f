package bind_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// front is a gateway that says what the test wants, to whatever is well formed.
func front(t *testing.T, status int, reply string, connections *atomic.Int64) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Action string
			Log    struct{ ID, Name, Data string }
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &asked) != nil || asked.Action != "log" || asked.Log.Name != "event" ||
			r.URL.Path != "/log-grpc" {
			t.Errorf("%s: %s, %v", r.URL, body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, reply, asked.Log.ID) // the caller sees what is missing
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Both clients of a path hand on the same entry, and take a failure for what its
// status says; the published one throws its connection away with each reply that
// it leaves unread, and the other keeps it (ms-M03).
func TestClientsOfPaths(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat(" ", 8<<10) // more than net/http reads by itself
	for _, c := range []struct {
		status int
		reply  string
		want   wirelab.Code
	}{
		{http.StatusAccepted, `{"error":false,"message":"logged","data":{"id":%q}}` + padding, 0},
		{
			http.StatusBadRequest, `{"error":true,"message":"no","data":{"code":"invalid_argument"}}%.0s`,
			wirelab.InvalidArgument,
		},
		{http.StatusConflict, `{"error":true,"message":"no","data":{"code":"conflict"}}%.0s`, wirelab.Conflict},
		{
			http.StatusServiceUnavailable, `{"error":true,"message":"no","data":{"code":"unavailable"}}%.0s`,
			wirelab.Unavailable,
		},
	} {
		for _, dialer := range conformance.Pick(t, bind.Paths(), "log-grpc").Clients {
			var connections atomic.Int64
			stub, closer, err := dialer.Dial(t.Context(), wirelab.Dialing{
				Address: front(t, c.status, c.reply, &connections), Connections: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				written, err := stub.WriteLog(t.Context(), logging.Entry{ID: fmt.Sprint("e-", i), Name: "event"})
				switch {
				case c.status == http.StatusAccepted && (err != nil || written.ID != fmt.Sprint("e-", i)):
					t.Errorf("%s: %+v, %v", dialer.Library, written, err)
				case c.status != http.StatusAccepted && (err == nil || wirelab.CodeOf(err) != c.want):
					t.Errorf("%s: %d is %v, want %v", dialer.Library, c.status, err, c.want)
				}
			}
			if _, err := stub.GetEntry(context.Background(),
				logging.EntryID{ID: "e-1"}); wirelab.CodeOf(err) != wirelab.Unimplemented {
				t.Errorf("%s reads: %v", dialer.Library, err)
			}
			want := int64(1)
			if dialer.Library == "published" && c.status == http.StatusAccepted {
				want = 3
			}
			if got := connections.Load(); c.status == http.StatusAccepted && got != want {
				t.Errorf("%s: %d connections for 3 calls, want %d", dialer.Library, got, want)
			}
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
