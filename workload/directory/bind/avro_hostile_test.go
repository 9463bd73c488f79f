package bind

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/wire/conformance"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httpbind"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
)

// avroServer is a server that a test talks to.
type avroServer struct {
	address string
	roots   *x509.CertPool
}

// serveAvro serves on loopback until the test ends.
func serveAvro(t *testing.T, secure bool, serve func(context.Context, wirelab.Endpoint) error) avroServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := avroServer{address: listener.Addr().String()}
	at := wirelab.Endpoint{Listener: listener, Drain: time.Second}
	if secure {
		certificate, pem, err := certs.Issue("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if s.roots, err = certs.Trust(pem); err != nil {
			t.Fatal(err)
		}
		at.Certificate = &certificate
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, at) }()
	t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}))
	return s
}

// post sends bytes to the server as the request of CreatePerson, by a client
// that is not ours, and returns what became of it.
func (s avroServer) post(t *testing.T, p wirelab.Protocol, contentType string, message []byte) (code, text string) {
	t.Helper()
	path := pathPersons
	if p.Framing == "gRPC" {
		path = genconnect.PersonServiceCreatePersonProcedure
	}
	return conformance.Peer{Protocol: p, Address: s.address, Roots: s.roots}.Post(t, path, contentType, message)
}

// TestAvroHostile checks that bytes that are not a person are refused with the reason, on every Avro wire and by
// every server, and that the server then continues.
func TestAvroHostile(t *testing.T) {
	t.Parallel()
	codec := inAvro().person
	head := string(handHead(codec))
	person := directory.Newcomer()
	good, err := codec.Encode(&person)
	if err != nil {
		t.Fatal(err)
	}
	listHead := handHead(inAvro().list)
	hostile := []struct {
		name, message, says string
	}{
		{"empty", "", "the message "}, // is empty, or ends within its header
		{"half a header", head[:5], "within its header"},
		{"truncated", string(good[:len(good)-30]), "the message ends within"},
		{"no body", head, "id: the message ends"},
		{"no marker", `{"id": "1"}`, "begins with 7b22, not with the marker c301"},
		{"protobuf", "\x0a\x015", "begins with 0a01, not with the marker c301"},
		{
			"unknown writer", "\xC3\x01\x08\x07\x06\x05\x04\x03\x02\x01" + string(good[10:]),
			"0102030405060708, which is not known; known: directory.Person ef80d4a65b8a83e5",
		},
		{"oversized list", string(binary.AppendVarint(listHead, 1e9)), "is not known"}, // of a type that is no request
		{"trailing bytes", string(good) + "\x00", "1 bytes follow the end"},
		{
			"a text longer than the message", head + string(binary.AppendVarint(nil, math.MaxInt64)) + "x",
			"id: the message ends within a text",
		},
		{"a text of negative length", head + "\x01", "id: a length of -1"},
		{"a text that is not UTF-8", head + "\x02\xff", "id: text is not valid UTF-8"},
		{"a branch that is none", string(good[:len(good)-1]) + "\x08", "picture: branch 4 of a union of 2"},
	}
	if person.Picture != nil {
		t.Fatal("the last byte of the message is the union's branch only without a picture")
	}
	known := map[string]bool{}
	for _, cell := range Workload().Erase().Cells {
		name := cell.Protocol.Name + "/" + cell.Server
		if cell.Protocol.Encoding != "Avro" || known[name] {
			continue
		}
		known[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveAvro(t, cell.Protocol.Secure, cell.Serve)
			contentType, invalid, conflict := "avro/binary", "400", "409"
			if cell.Protocol.Framing == "gRPC" {
				contentType, invalid, conflict = "application/grpc+avro", "grpc 3", "grpc 6"
			}
			for _, c := range hostile {
				code, text := server.post(t, cell.Protocol, contentType, []byte(c.message))
				if code != invalid || !strings.Contains(text, c.says) || strings.Contains(text, "invalid_argument: ") {
					t.Errorf("%s: %s %q, want %s with %q", c.name, code, text, invalid, c.says)
				}
			}
			// The server answers as before: the person is stored, once.
			if code, text := server.post(t, cell.Protocol, contentType, good); code != "200" && code != "grpc 0" {
				t.Errorf("a good message: %s %q", code, text)
			}
			if code, text := server.post(t, cell.Protocol, contentType, good); code != conflict {
				t.Errorf("the same again: %s %q, want %s", code, text, conflict)
			}
		})
	}
	if len(known) != 8 {
		t.Errorf("%d servers speak Avro, want 8: %v", len(known), known)
	}
}

// TestFormsRefuseOtherEncodings checks that servers refuse other encodings, and name the supported ones.
func TestFormsRefuseOtherEncodings(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, cell := range Workload().Erase().Cells {
		name := cell.Protocol.Name + "/" + cell.Server
		if cell.Protocol.Framing != "gRPC" || cell.Protocol.Encoding == "Protocol Buffers" || known[name] {
			continue
		}
		known[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveAvro(t, cell.Protocol.Secure, cell.Serve)
			for _, contentType := range []string{
				"application/grpc", "application/grpc+proto", "application/grpc+avro", "application/grpc+json",
			} {
				if strings.HasSuffix(contentType, strings.ToLower(cell.Protocol.Encoding)) {
					continue
				}
				code, text := server.post(t, cell.Protocol, contentType, []byte("\x0a\x015"))
				if cell.Server == "connect-go" && code == "grpc " {
					continue // status 415, where connect-go knows no codec at all
				}
				if code != "grpc 3" || !strings.Contains(text, "this service speaks ") {
					t.Errorf("%s: %s %q", contentType, code, text)
				}
			}
			if cell.Protocol.Encoding == "JSON" {
				for _, message := range []string{"", "{", "\xff", `{"id": 1}`, `[]`, `{} {}`} {
					if code, text := server.post(t, cell.Protocol, "application/grpc+json",
						[]byte(message)); code != "grpc 3" {
						t.Errorf("%q: %s %q", message, code, text)
					}
				}
			}
		})
	}
}

// A reply that claims what it has not is the server's fault, and costs its
// reader nothing: a list of a billion persons in a few bytes, and the like.
func TestAvroHostileReplies(t *testing.T) {
	t.Parallel()
	head := handHead(inAvro().list)
	replies := map[string]string{
		"oversized list": string(binary.AppendVarint(bytes.Clone(head), 1e9)) + "\x00\x00",
		"oversized list with a size": string(binary.AppendVarint(binary.AppendVarint(bytes.Clone(head), -1e9), 1)) +
			"\x00",
		"truncated":      string(binary.AppendVarint(bytes.Clone(head), 1)) + "\x021",
		"unknown writer": "\xC3\x0112345678",
		"no marker":      "<html>",
		"trailing bytes": string(head) + "\x00\x00\x00" + "more",
	}
	for name, message := range replies {
		says := map[string]string{
			"oversized list":             "persons: a block says that it has 1000000000 items",
			"oversized list with a size": "1000000000 items",
			"truncated":                  "persons[0].name.title: the message ends", "unknown writer": "is not known",
			"no marker":      "marker",
			"trailing bytes": "4 bytes follow",
		}[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evil := avroForms()
			evil.list.Append = func(dst []byte, _ *directory.PersonList) ([]byte, error) {
				return append(dst, message...), nil
			}
			server := serveAvro(t, false, func(ctx context.Context, at wirelab.Endpoint) error {
				return wiregrpc.Serve(ctx, at, false, "avro", func(to grpc.ServiceRegistrar) {
					evil.register(to, directory.New())
				})
			})
			for _, client := range GRPCAvro().Clients {
				if err := listBy(t, client, server); wirelab.CodeOf(err) != wirelab.Internal ||
					!strings.Contains(err.Error(), says) {
					t.Errorf("gRPC, %s: %v, want internal with %q", client.Library, err, says)
				}
			}
			plain := serveAvro(t, false, func(ctx context.Context, at wirelab.Endpoint) error {
				return httpbind.HTTP1(false).Serve(ctx, at,
					http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "avro/binary")
						_, _ = io.WriteString(w, message)
					}))
			})
			if err := listBy(t, conformance.Pick(t, HTTP(), "http1-avro").Clients[0],
				plain); wirelab.CodeOf(err) != wirelab.Internal {
				t.Errorf("HTTP: %v, want internal", err)
			}
		})
	}
}

// listBy asks the server for its list.
func listBy(t *testing.T, client wirelab.Dialer[directory.Service], server avroServer) error {
	t.Helper()
	service, closer, err := client.Dial(t.Context(), wirelab.Dialing{Address: server.address, Roots: server.roots})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closer.Close() }()
	if list, err := service.ListPersons(t.Context(), directory.Page{}); err != nil {
		return err
	} else {
		return fmt.Errorf("%+v was taken for a list", list)
	}
}
