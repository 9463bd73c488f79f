package bind_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
	"wirelab/internal/schematest"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
	"wirelab/workload/ledger/gen"
)

// published is the schema as the published service's clients have it: the
// numbers, types and methods of its fields, and none that we added. The names
// of messages are not on the wire, and here other than ours.
const published = `
name: "published.proto" package: "benchmark" syntax: "proto3"
message_type { name: "AccountQuery" field { name: "account_id" number: 1 type: TYPE_STRING } }
message_type { name: "AccountBalance"
  field { name: "account_id" number: 1 type: TYPE_STRING }
  field { name: "balance_tinybar" number: 2 type: TYPE_INT64 }
  field { name: "timestamp" number: 3 type: TYPE_STRING } }
message_type { name: "AccountsQuery" field { name: "account_ids" number: 1 type: TYPE_STRING label: LABEL_REPEATED } }
message_type { name: "AccountBalances"
  field { name: "balances" number: 1 type: TYPE_MESSAGE type_name: ".benchmark.AccountBalance" label: LABEL_REPEATED } }
message_type { name: "FeedQuery"
  field { name: "since_timestamp" number: 1 type: TYPE_STRING }
  field { name: "rate_limit" number: 2 type: TYPE_INT32 }
  field { name: "filter_account" number: 3 type: TYPE_STRING } }
message_type { name: "FeedItem"
  field { name: "tx_id" number: 1 type: TYPE_STRING }
  field { name: "from_account" number: 2 type: TYPE_STRING }
  field { name: "to_account" number: 3 type: TYPE_STRING }
  field { name: "amount_tinybar" number: 4 type: TYPE_INT64 }
  field { name: "tx_type" number: 5 type: TYPE_STRING }
  field { name: "timestamp" number: 6 type: TYPE_STRING } }
`

// publishedClient is a client made of the published schema alone.
type publishedClient struct {
	conn   *grpc.ClientConn
	schema protoreflect.FileDescriptor
}

// eachPublished runs test with such a client of each of our gRPC servers.
func eachPublished(t *testing.T, test func(t *testing.T, c publishedClient)) {
	t.Helper()
	described := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal([]byte(published), described); err != nil {
		t.Fatal(err)
	}
	schema, err := protodesc.NewFile(described, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := bind.GRPC()
	for _, server := range b.Servers {
		t.Run(server.Library, func(t *testing.T) {
			set, err := ledger.Sized("100x1000")
			if err != nil {
				t.Fatal(err)
			}
			address, _ := pair{Binding: b, Server: server, Client: b.Clients[0]}.Serve(t, set.New())
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, publishedClient{conn, schema})
		})
	}
}

// message reads one of the published messages from its text.
func (c publishedClient) message(t *testing.T, name, text string) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(c.schema.Messages().ByName(protoreflect.Name(name)))
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// ask makes a call of BalanceService and returns the reply's fields as text.
func (c publishedClient) ask(t *testing.T, method, request, text, reply string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := c.message(t, reply, "")
	err := c.conn.Invoke(ctx, "/benchmark.BalanceService/"+method, c.message(t, request, text), got)
	return shown(got), err
}

// stream asks for the feed and returns its items' fields as text, at most most of them.
func (c publishedClient) stream(t *testing.T, text string, most int) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	call, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		"/benchmark.TransactionService/StreamTransactions")
	if err == nil {
		err = call.SendMsg(c.message(t, "FeedQuery", text))
	}
	if err == nil {
		err = call.CloseSend()
	}
	var all []string
	for err == nil && len(all) < most {
		item := c.message(t, "FeedItem", "")
		if err = call.RecvMsg(item); err == nil {
			all = append(all, shown(item))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// shown writes the fields that the published schema knows, in their order.
func shown(m proto.Message) string {
	var b strings.Builder
	message := m.ProtoReflect()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		value := message.Get(fields.Get(i))
		if fields.Get(i).IsList() {
			for i := range value.List().Len() {
				b.WriteString("[" + shown(value.List().Get(i).Message().Interface()) + "]")
			}
			continue
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, value.Interface())
	}
	return b.String()
}

// TestPublishedBalances checks that calls of the published clients get the answers they know, and that an unknown
// account has a specific status (grb-F01, F02, D09).
func TestPublishedBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	eachPublished(t, func(t *testing.T, c publishedClient) {
		const first, second = "0.0.100000 91018687071 2025-12-07T09:19:51.261061Z", "0.0.100001 9849682405 " +
			"2025-12-31T11:20:07.404055Z"
		for _, k := range []struct {
			why, method, request, text, reply string
			want                              string
			code                              codes.Code
		}{
			{
				"one account", "GetBalance", "AccountQuery", `account_id: "0.0.100000"`, "AccountBalance", first,
				codes.OK,
			},
			{
				"an account there is not", "GetBalance", "AccountQuery", `account_id: "0.0.9"`, "AccountBalance",
				"", codes.NotFound,
			},
			{"no account at all", "GetBalance", "AccountQuery", ``, "AccountBalance", "", codes.InvalidArgument},
			{
				"a statement", "GetBalance", "AccountQuery", `account_id: "' OR '1'='1"`, "AccountBalance", "",
				codes.InvalidArgument,
			},
			{
				"a batch: those there are, in the order that was asked for", "GetBalances", "AccountsQuery",
				`account_ids: ["0.0.100001", "0.0.9", "0.0.100000", "0.0.100001"]`, "AccountBalances",
				"[" + second + "][" + first + "][" + second + "]", codes.OK,
			},
			{"a batch of nothing", "GetBalances", "AccountsQuery", ``, "AccountBalances", "", codes.InvalidArgument},
			{
				"a batch of too many", "GetBalances", "AccountsQuery",
				strings.Repeat(`account_ids: "1" `, ledger.BatchLimit+1),
				"AccountBalances", "", codes.InvalidArgument,
			},
			{
				"a batch of a million", "GetBalances", "AccountsQuery", strings.Repeat(`account_ids: "1" `, 1_000_000),
				"AccountBalances", "", codes.InvalidArgument,
			},
		} {
			got, err := c.ask(t, k.method, k.request, k.text, k.reply)
			if status.Code(err) != k.code || err == nil && got != k.want {
				t.Errorf("%s: %q, %.200v; want %q, %s", k.why, got, err, k.want, k.code)
			}
			if err != nil && (strings.Contains(err.Error(), "sql") || strings.Contains(err.Error(), "panic")) {
				t.Errorf("%s: says too much: %v", k.why, err)
			}
		}
	})
}

// So is the stream, and no rate stops the server (grb-F03, D01, D08).
func TestPublishedStream(t *testing.T) {
	t.Parallel()
	eachPublished(t, func(t *testing.T, c publishedClient) {
		for _, k := range []struct {
			why, text string
			items     int
			code      codes.Code
		}{
			{"all of it", "", 1000, codes.OK},
			{"at a rate", "rate_limit: 100000", 1000, codes.OK},
			{"since a second of the log's day", `since_timestamp: "2025-12-31T12:00:00Z"`, 500, codes.OK},
			{"since then in another zone", `since_timestamp: "2025-12-31T13:00:00+01:00"`, 500, codes.OK},
			{"since the end", `since_timestamp: "2026-01-01T00:00:00Z"`, 0, codes.OK},
			{"of an account there is not", `filter_account: "0.0.9"`, 0, codes.OK},
			{"of a statement", `filter_account: "x'; DROP TABLE transactions; --"`, 0, codes.InvalidArgument},
			{"since nonsense, which was the beginning", `since_timestamp: "yesterday"`, 0, codes.InvalidArgument},
			{"since a day", `since_timestamp: "2025-12-31"`, 0, codes.InvalidArgument},
			{"since a 31st of November", `since_timestamp: "2026-11-31T00:00:00Z"`, 0, codes.InvalidArgument},
			{"since a hour 24", `since_timestamp: "2025-12-31T24:00:00Z"`, 0, codes.InvalidArgument},
			{"since a time with a comma", `since_timestamp: "2025-12-31T12:00:00,5Z"`, 0, codes.InvalidArgument},
			{"since a time without a zone", `since_timestamp: "2025-12-31T12:00:00"`, 0, codes.InvalidArgument},
			{"since too fine a time", `since_timestamp: "2025-12-31T12:00:00.0000001Z"`, 0, codes.InvalidArgument},
			{"since a year that is none", `since_timestamp: "0000-01-01T00:00:00Z"`, 0, codes.InvalidArgument},
			{"since a year beyond", `since_timestamp: "9999-12-31T23:59:59-23:59"`, 0, codes.InvalidArgument},
			{"at a rate that stopped the published server", "rate_limit: 1000000001", 0, codes.InvalidArgument},
			{"at the highest rate it has a number for", "rate_limit: 2147483647", 0, codes.InvalidArgument},
			{"at a negative rate", "rate_limit: -1", 0, codes.InvalidArgument},
			{"at the lowest rate", "rate_limit: -2147483648", 0, codes.InvalidArgument},
		} {
			items, err := c.stream(t, k.text, 1_000_000)
			if status.Code(err) != k.code || len(items) != k.items {
				t.Errorf("%s: %d items, %v; want %d, %s", k.why, len(items), err, k.items, k.code)
			}
		}
		items, err := c.stream(t,
			`since_timestamp: "2025-12-31T12:00:00Z" filter_account: "0.0.100007" rate_limit: 10000`, 1)
		reference, wantErr := ledger.Sized("100x1000")
		if wantErr != nil {
			t.Fatal(wantErr)
		}
		list, wantErr := reference.New().GetTransactions(t.Context(), ledger.Page{
			Account: "0.0.100007", Since: time.Date(2025, 12, 31, 12, 0, 0, 0, time.UTC), Limit: 1,
		})
		if wantErr != nil {
			t.Fatal(wantErr)
		}
		want := list.Transactions[0]
		line := fmt.Sprintf("%s %s %s %d %s %s", want.ID, want.From, want.To, want.Amount, want.Type,
			want.Timestamp.Format("2006-01-02T15:04:05.999999Z07:00"))
		if err != nil || len(items) != 1 || items[0] != line {
			t.Errorf("the first of an account is %q, %v; want %q", items, err, line)
		}
	})
}

// 2^31 does not fit the published field, but its bytes do: they are refused and
// not cut (grb-D01).
func TestRateBeyond32Bits(t *testing.T) {
	t.Parallel()
	eachPublished(t, func(t *testing.T, c publishedClient) {
		for _, rate := range []int64{1 << 31, 1 << 32, 1<<32 + 1, 1<<63 - 1, -1 << 63} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			call, err := gen.NewTransactionServiceClient(c.conn).StreamTransactions(ctx,
				&gen.StreamTransactionsRequest{RateLimit: rate})
			if err == nil {
				_, err = call.Recv()
			}
			cancel()
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("at %d events a second: %v", rate, err)
			}
		}
	})
}

// Health and reflection answer as the published server's do (grb-F04).
func TestPublishedStandardServices(t *testing.T) {
	t.Parallel()
	eachPublished(t, func(t *testing.T, c publishedClient) {
		names := []string{"benchmark.BalanceService", "benchmark.TransactionService"}
		for _, name := range append([]string{""}, names...) {
			reply, err := grpc_health_v1.NewHealthClient(c.conn).Check(t.Context(),
				&grpc_health_v1.HealthCheckRequest{Service: name})
			if err != nil || reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("health of %q: %v, %v", name, reply, err)
			}
		}
		info, err := reflectionv1.NewServerReflectionClient(c.conn).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(r *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
			if err := info.Send(r); err != nil {
				t.Fatal(err)
			}
			reply, err := info.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		listed := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}).
			GetListServicesResponse().String()
		for _, name := range names {
			file := ask(&reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
			}).GetFileDescriptorResponse()
			if !strings.Contains(listed, `"`+name+`"`) || len(file.GetFileDescriptorProto()) == 0 {
				t.Errorf("reflection: %s is not in %s, or not described", name, listed)
			}
		}
		if err := info.CloseSend(); err != nil {
			t.Error(err)
		}
	})
}

// The numbers and names by which clients of other languages know the services
// are written down, here too: a change of one breaks them all.
func TestSchemaIsForEver(t *testing.T) {
	t.Parallel()
	want := []string{
		"Balance: account_id=1 balance_tinybar=2 timestamp=3",
		"BalanceService: GetBalance(GetBalanceRequest)Balance GetBalances(GetBalancesRequest)GetBalancesResponse",
		"GetBalanceRequest: account_id=1",
		"GetBalancesRequest: account_ids=1",
		"GetBalancesResponse: balances=1 verdicts=2",
		"GetTransactionsRequest: after_tx_id=1 filter_account=2 since_timestamp=3 limit=4",
		"GetTransactionsResponse: transactions=1 next=2",
		"LedgerService: GetTransactions(GetTransactionsRequest)GetTransactionsResponse " +
			"PostTransaction(PostTransactionRequest)Transaction",
		"PostTransactionRequest: tx_id=1 from_account=2 to_account=3 amount_tinybar=4 tx_type=5",
		"StreamTransactionsRequest: since_timestamp=1 rate_limit=2 filter_account=3 after_tx_id=4 limit=5 follow=6",
		"Transaction: tx_id=1 from_account=2 to_account=3 amount_tinybar=4 tx_type=5 timestamp=6",
		"TransactionEvent: tx_id=1 from_account=2 to_account=3 amount_tinybar=4 tx_type=5 timestamp=6 sequence=7 " +
			"due_unix_nano=8 sent_unix_nano=9",
		"TransactionService: StreamTransactions(StreamTransactionsRequest)TransactionEvent",
		"Verdict: account_id=1 found=2",
	}
	schematest.Keeps(t, gen.File_benchmark_proto, want)
}

// asIs sends and takes bytes as they are.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (asIs) Name() string                       { return "proto" }

// Bytes that are no message cost their call, not the server.
func TestForeignBytes(t *testing.T) {
	t.Parallel()
	eachPublished(t, func(t *testing.T, c publishedClient) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for why, sent := range map[string][]byte{
			"a length beyond the message's end": {0x0a, 0x7f, 'x'},
			"a length beyond all memory":        {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
			"text that is not UTF-8":            {0x0a, 0x01, 0xff},
			"a tag that never ends":             slices.Repeat([]byte{0xff}, 20),
			"an end group without a group":      {0x0c},
			"a message above the limit": append([]byte{0x7a, 0x80, 0x80, 0x80, 0x05},
				make([]byte, wirelab.MessageLimit+1)...),
		} {
			for _, method := range []string{
				"BalanceService/GetBalance", "BalanceService/GetBalances", "LedgerService/GetTransactions",
				"LedgerService/PostTransaction", "TransactionService/StreamTransactions",
			} {
				var reply []byte
				err := c.conn.Invoke(ctx, "/benchmark."+method, &sent, &reply, grpc.ForceCodec(asIs{}))
				// gRPC leaves the code open: grpc-go says Internal, connect-go InvalidArgument.
				switch status.Code(err) {
				case codes.Internal, codes.InvalidArgument, codes.ResourceExhausted:
				default:
					t.Errorf("%s to %s: %.200v", why, method, err)
				}
			}
		}
		if _, err := c.ask(t, "GetBalance", "AccountQuery", `account_id: "0.0.100000"`, "AccountBalance"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
