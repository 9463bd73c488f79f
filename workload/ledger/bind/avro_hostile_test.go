package bind_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/conformance"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
	"wirelab/workload/ledger/gen/genconnect"
	"wirelab/workload/ledger/schema"
)

// foreign is a client that has the schemas, and none of our stubs.
type foreign struct {
	pair
	conformance.Peer
}

// eachForeign runs test for every server of the bindings that want says.
func eachForeign(t *testing.T, want func(wirelab.Protocol) bool, test func(t *testing.T, s foreign)) (servers int) {
	t.Helper()
	for _, b := range bind.Bindings() {
		if !want(b.Protocol) {
			continue
		}
		for _, server := range b.Servers {
			servers++
			t.Run(b.Protocol.Name+"/"+server.Library, func(t *testing.T) {
				t.Parallel()
				p := pair{Binding: b, Server: server}
				address, roots := p.Serve(t, ledger.New())
				test(t, foreign{p, conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots}})
			})
		}
	}
	return servers
}

// postingByHand is a posting in Avro, made of the schema's text alone.
func postingByHand(t *testing.T, p ledger.Posting) (head, message string) {
	t.Helper()
	s, err := avro.Parse(schema.AvroPosting())
	if err != nil {
		t.Fatal(err)
	}
	head = string(binary.LittleEndian.AppendUint64([]byte{0xC3, 0x01}, s.Fingerprint()))
	var body []byte
	for _, text := range []string{p.ID, p.From, p.To} {
		body = append(binary.AppendVarint(body, int64(len(text))), text...)
	}
	body = binary.AppendVarint(binary.AppendVarint(body, p.Amount), int64(len(p.Type)))
	return head, head + string(body) + p.Type
}

// TestAvroHostile checks that bytes that are not a posting are refused with the reason, on every Avro wire and by
// every server, which moves no money for them and continues.
func TestAvroHostile(t *testing.T) {
	t.Parallel()
	p := ledger.Posting{ID: "foreign", From: payer, To: payee, Amount: 5, Type: "transfer"}
	head, good := postingByHand(t, p)
	p.Amount++
	_, other := postingByHand(t, p)
	_, negative := postingByHand(t, ledger.Posting{ID: "n", From: payer, To: payee, Amount: math.MinInt64})
	_, injected := postingByHand(t,
		ledger.Posting{ID: "x'; DROP TABLE accounts; --", From: payer, To: payee, Amount: 1})
	hostile := []struct{ name, message, says string }{
		{"empty", "", "the message "}, // is empty, or ends within its header
		{"half a header", head[:5], "within its header"},
		{"no body", head, "id: the message ends"},
		{"truncated", good[:len(good)-3], "type: the message ends within a text"},
		{"no marker", `{"tx_id": "1"}`, "begins with 7b22, not with the marker c301"},
		{"protobuf", "\x0a\x015", "begins with 0a01, not with the marker c301"},
		{
			"unknown writer", "\xC3\x01\x08\x07\x06\x05\x04\x03\x02\x01" + good[10:],
			"0102030405060708, which is not known; known: ledger.Posting ",
		},
		{"trailing bytes", good + "\x00", "1 bytes follow the end"},
		{
			"a text longer than the message", head + string(binary.AppendVarint(nil, math.MaxInt64)) + "x",
			"id: the message ends within a text",
		},
		{"a text of negative length", head + "\x01", "id: a length of -1"},
		{"a text that is not UTF-8", head + "\x02\xff", "id: text is not valid UTF-8"},
		{
			"an amount of too many bits", head + "\x02a\x02a\x02b" + strings.Repeat("\xff", 10) + "\x01",
			"amount: a number has too many bits",
		},
		{"the least amount", negative, "is outside 1 to"},
		{"a statement for an id", injected, "holds other characters than"},
	}
	inAvro := func(p wirelab.Protocol) bool { return p.Encoding == "Avro" }
	servers := eachForeign(t, inAvro, func(t *testing.T, s foreign) {
		path, contentType, invalid, conflict := "/api/v1/transactions", "avro/binary", "400", "409"
		if s.Protocol.Framing == "gRPC" {
			path = genconnect.LedgerServicePostTransactionProcedure
			contentType, invalid, conflict = "application/grpc+avro", "grpc 3", "grpc 6"
		}
		for _, c := range hostile {
			code, text := s.Post(t, path, contentType, []byte(c.message))
			if code != invalid || !strings.Contains(text, c.says) || strings.Contains(text, "invalid_argument: ") {
				t.Errorf("%s: %s %q, want %s with %q", c.name, code, text, invalid, c.says)
			}
		}
		for range 2 { // the same again is the same posting
			if code, text := s.Post(t, path, contentType, []byte(good)); code != "200" && code != "grpc 0" {
				t.Errorf("a good message: %s %q", code, text)
			}
		}
		if code, text := s.Post(t, path, contentType, []byte(other)); code != conflict {
			t.Errorf("another posting of that id: %s %q, want %s", code, text, conflict)
		}
	})
	if servers != 8 {
		t.Errorf("%d servers speak Avro, want 8", servers)
	}
}

// TestFormsRefuseOtherEncodings checks that servers refuse other encodings, and name the supported ones, for the
// stream as for the other calls; and that they refuse bytes in the right encoding that are not a message.
func TestFormsRefuseOtherEncodings(t *testing.T) {
	t.Parallel()
	own := func(p wirelab.Protocol) bool { return p.Framing == "gRPC" && p.Encoding != "Protocol Buffers" }
	paths := []string{
		genconnect.LedgerServicePostTransactionProcedure, genconnect.TransactionServiceStreamTransactionsProcedure,
	}
	servers := eachForeign(t, own, func(t *testing.T, s foreign) {
		for _, path := range paths {
			for _, contentType := range []string{
				"application/grpc", "application/grpc+proto", "application/grpc+avro", "application/grpc+json",
			} {
				if strings.HasSuffix(contentType, strings.ToLower(s.Protocol.Encoding)) {
					continue
				}
				code, text := s.Post(t, path, contentType, []byte("\x0a\x015"))
				if s.Server.Library == "connect-go" && code == "grpc " {
					continue // status 415, where connect-go knows no codec at all
				}
				if code != "grpc 3" || !strings.Contains(text, "this service speaks ") {
					t.Errorf("%s in %s: %s %q", path, contentType, code, text)
				}
			}
			if s.Protocol.Encoding != "JSON" {
				continue
			}
			for _, message := range []string{
				"", "{", "\xff", `{"after": 1}{}`, `[]`, `{} {}`, `{"limit": 9223372036854775808, "amount": 0.5}`,
			} {
				if code, text := s.Post(t, path, "application/grpc+json", []byte(message)); code != "grpc 3" {
					t.Errorf("%s of %q: %s %q", path, message, code, text)
				}
			}
		}
		if s.Protocol.Encoding == "JSON" { // grb-D08: never "from the beginning"
			code, text := s.Post(t, paths[1], "application/grpc+json", []byte(`{"since": "yesterday", "limit": 1}`))
			if code != "grpc 3" || !strings.Contains(text, "is not a time") {
				t.Errorf("since yesterday: %s %q", code, text)
			}
		}
	})
	if servers != 8 {
		t.Errorf("%d servers, want 8", servers)
	}
}
