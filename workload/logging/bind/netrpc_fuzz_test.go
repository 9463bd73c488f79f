package bind_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"net"
	"net/rpc"
	"os"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// gobs are values as a client of net/rpc writes them.
func gobs(t testing.TB, values ...any) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := gob.NewEncoder(&text)
	for _, v := range values {
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

// FuzzNetRPC sends arbitrary bytes to the net/rpc listener of the logger, by the published method or by ours: the
// connection ends or gets an answer; any stored entry is valid; and the next caller is served (ms-D01,
// ms-F22).
func FuzzNetRPC(f *testing.F) {
	published := rpc.Request{ServiceMethod: "RPCServer.LogInfo", Seq: 1}
	ours := rpc.Request{ServiceMethod: "Logging.WriteLog", Seq: 1}
	f.Add([]byte(nil))
	f.Add(gobs(f, published, bind.RPCPayload{Name: "n", Data: "d"}))
	f.Add(gobs(f, published, struct{ Name []map[string]any }{}))
	f.Add(gobs(f, published, struct{ Name int }{7}))
	f.Add(gobs(f, ours, netrpc.Request[logging.Entry]{Body: logging.Entry{ID: "a", Name: "n"}, Timeout: time.Second}))
	f.Add(gobs(f, rpc.Request{ServiceMethod: "RPCServer.Nothing"}, struct{ X bool }{true}, published,
		bind.RPCPayload{}))
	f.Add([]byte("\xf8\x7f\xff\xff\xff\xff\xff\xff\xff"))        // a message of 2^63 bytes
	f.Add([]byte("\xfc\x3f\xff\xff\xff" + "not so many by far")) // of 2^30, which gob takes
	memory := logging.New()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := bind.NetRPC().Servers[0].Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Millisecond},
			memory); err != nil {
			f.Error(err)
		}
	})
	f.Cleanup(func() {
		stop()
		serving.Wait()
	})
	address := listener.Addr().String()
	f.Fuzz(func(t *testing.T, text []byte) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, _ = conn.Write(text) // the server may have hung up
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the server neither answers nor hangs up: %v", err)
		}
		list, err := memory.ListEntries(t.Context(), logging.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Entries {
			if err := e.Validate(); err != nil {
				t.Fatalf("stored %v: %v", e, err)
			}
		}
		if _, err := memory.DeleteEntries(t.Context(),
			logging.Retention{Before: time.Now().Add(time.Hour).Truncate(time.Microsecond)}); err != nil {
			t.Fatal(err)
		}
	})
}
