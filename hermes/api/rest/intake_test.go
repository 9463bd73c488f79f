package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/rest"
)

// A body without a length takes what came of it, and not what may come: clients that send five bytes and then
// nothing keep no other waiting, and as many ordinary ones as there are goroutines are all served.
func TestChunkedBodiesTakeWhatCame(t *testing.T) {
	t.Parallel()
	// No machine is so slow that one of the ordinary ones would be ended for standing still, or for waiting.
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Minute, Stall: time.Minute})
	s := start(t, rest.Config{Intake: in})
	s.topic("t")
	server := httptest.NewServer(s.handler)
	defer server.Close()
	for range 8 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/json\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"pay\r\n")
	}
	client := server.Client()
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 3 {
				body := bufio.NewReader(bytes.NewReader(bytes.Repeat([]byte("x"), 600<<10))) // of no known length
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
					server.URL+"/v1/topics/t/messages", body)
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("Content-Type", kindBytes)
				reply, err := client.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(reply.Body)
				reply.Body.Close()
				if reply.StatusCode != http.StatusOK || !strings.Contains(string(text), `"count":1`) {
					t.Errorf("%s: %s", reply.Status, text)
				}
			}
		})
	}
	all.Wait()
	// An answer is sent before its request is let go of. Those that say nothing are ended if others wait for long.
	for in.Counts().Bytes > 8*5 {
		time.Sleep(time.Millisecond)
	}
}
