package bind_test

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"

	"wirelab"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// RPCPayload is what the origin's broker sends: gob knows it by its fields.
type RPCPayload struct{ Name, Data string }

// rpcServe serves service over net/rpc until the test ends and returns the address.
func rpcServe(t *testing.T, service logging.Service) string {
	t.Helper()
	b := bind.NetRPC()
	address, _ := pair{Binding: b, Server: b.Servers[0]}.Serve(t, service)
	return address
}

// rpcDial is a client of net/rpc, as the origin has it.
func rpcDial(t *testing.T, address string) *rpc.Client {
	t.Helper()
	client, err := rpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A client shaped as the origin's logs by RPCServer.LogInfo, with a connection
// for each call as it has, and with one for many; a refusal is a text, costs its
// call alone, and stores nothing (ms-F22, ms-D09).
func TestPublishedNetRPC(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	address := rpcServe(t, memory)
	for i := range 3 {
		client := rpcDial(t, address)
		var said string
		if err := client.Call("RPCServer.LogInfo", RPCPayload{"event", fmt.Sprint("data ", i)}, &said); err != nil ||
			!strings.Contains(said, "event") {
			t.Errorf("%q, %v", said, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	client := rpcDial(t, address)
	defer client.Close()
	for why, payload := range map[string]any{
		"nothing":                  RPCPayload{},
		"data without a name":      RPCPayload{Data: "x"},
		"NUL":                      RPCPayload{"a", "\x00"},
		"bytes that are not UTF-8": RPCPayload{"a", "\xff"},
		"a name that is too long":  RPCPayload{Name: strings.Repeat("n", logging.NameLimit+1)},
		"data that are too long":   RPCPayload{"a", strings.Repeat("d", logging.DataLimit+1)},
	} {
		var said string
		err := client.Call("RPCServer.LogInfo", payload, &said)
		if _, told := err.(rpc.ServerError); !told || !strings.HasPrefix(err.Error(), "invalid_argument: ") ||
			said != "" {
			t.Errorf("%s: %q, %v", why, said, err)
		}
	}
	var said string
	err := client.Call("RPCServer.Nothing", RPCPayload{Name: "a"}, &said)
	if _, told := err.(rpc.ServerError); !told {
		t.Errorf("a method that there is not: %v", err)
	}
	if err := client.Call("RPCServer.LogInfo", struct{ Name, Data, Severity string }{"more", "x", "high"},
		&said); err != nil {
		t.Errorf("a payload with a field that is ours to come: %v", err)
	}
	for range 2 { // the same entry, by its id, is stored once
		if err := client.Call("RPCServer.LogInfo", struct{ Name, Data, ID string }{"mine", "x", "mine"},
			&said); err != nil {
			t.Errorf("a payload with an id: %v", err)
		}
	}
	if got, err := memory.GetEntry(t.Context(), logging.EntryID{ID: "mine"}); err != nil || got.Name != "mine" {
		t.Errorf("under the id is %v, %v", got, err)
	}
	err = client.Call("RPCServer.LogInfo", struct{ Name, ID string }{"other", "mine"}, &said)
	if _, told := err.(rpc.ServerError); !told || !strings.HasPrefix(err.Error(), "conflict: ") {
		t.Errorf("another entry under the id: %v", err)
	}
	want := []string{"event=data 0", "event=data 1", "event=data 2", "more=x", "mine=x"}
	if got := inStore(t, memory); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// Many calls at once on one connection are all answered, and as many as the wire
// lets wait.
func TestPublishedNetRPCAtOnce(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	client := rpcDial(t, rpcServe(t, memory))
	defer client.Close()
	const calls = 2 * wirelab.MaxStreams
	var waiting sync.WaitGroup
	for i := range calls {
		waiting.Go(func() {
			var said string
			if err := client.Call("RPCServer.LogInfo", RPCPayload{"event", fmt.Sprint(i)}, &said); err != nil {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	list, err := memory.ListEntries(t.Context(), query{Before: calls + 1, Limit: 1})
	if err != nil || len(list.Entries) != 1 || list.Entries[0].Position != calls {
		t.Errorf("the last is %+v, %v", list, err)
	}
}

// TestPublishedNetRPCFailures checks that a panic in the store fails its call instead of ending the process, as
// net/rpc alone would (ms-D01), and that an unavailable store is reported.
func TestPublishedNetRPCFailures(t *testing.T) {
	t.Parallel()
	calls := 0
	service := logging.Wrap(logging.New(), wirelab.Hooks{
		After: func(string) {},
		Before: func(context.Context, string) error {
			switch calls++; calls {
			case 1:
				panic("the store breaks")
			case 2:
				return wirelab.Errorf(wirelab.Unavailable, "the store is away")
			}
			return nil
		},
	})
	client := rpcDial(t, rpcServe(t, service))
	defer client.Close()
	for _, want := range []string{"internal: internal error", "unavailable: the store is away", "<nil>"} {
		var said string
		if err := client.Call("RPCServer.LogInfo", RPCPayload{Name: "event"}, &said); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPublishedNetRPCHangsUp checks that a caller that hangs up ends its call, so that the server does not wait for
// the store in vain.
func TestPublishedNetRPCHangsUp(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	service := logging.Wrap(logging.New(), wirelab.Hooks{
		After: func(string) {},
		Before: func(ctx context.Context, _ string) error {
			close(begun)
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		},
	})
	client := rpcDial(t, rpcServe(t, service))
	call := client.Go("RPCServer.LogInfo", RPCPayload{Name: "event"}, new(string), make(chan *rpc.Call, 1))
	<-begun
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	<-call.Done
	if err := <-ended; err == nil {
		t.Error("the call continues")
	}
}

// TestPublishedNetRPCNonsense checks that an invalid payload ends its connection and stores nothing, and that
// others continue.
func TestPublishedNetRPCNonsense(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	address := rpcServe(t, memory)
	for why, send := range map[string]func(io.Writer) error{
		"words": func(w io.Writer) error { _, err := io.WriteString(w, "GET / HTTP/1.1\r\n\r\n"); return err },
		"a payload of another shape": func(w io.Writer) error {
			enc := gob.NewEncoder(w)
			if err := enc.Encode(rpc.Request{ServiceMethod: "RPCServer.LogInfo", Seq: 1}); err != nil {
				return err
			}
			return enc.Encode(struct{ Name int }{7})
		},
		"a payload of nothing that is known": func(w io.Writer) error {
			enc := gob.NewEncoder(w)
			if err := enc.Encode(rpc.Request{ServiceMethod: "RPCServer.LogInfo", Seq: 1}); err != nil {
				return err
			}
			return enc.Encode(struct{ Other string }{"x"})
		},
		"a length beyond all memory": func(w io.Writer) error {
			_, err := w.Write([]byte{0xf8, 0x7f, 0xff, 0xff, 0xff})
			return err
		},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := send(conn); err != nil {
			t.Errorf("%s: %v", why, err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", why, err)
		}
		_ = conn.Close()
	}
	if got := inStore(t, memory); len(got) > 0 {
		t.Errorf("stored are %q", got)
	}
	client := rpcDial(t, address)
	defer client.Close()
	var said string
	if err := client.Call("RPCServer.LogInfo", RPCPayload{Name: "after"}, &said); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
