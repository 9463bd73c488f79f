package bind_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
	"wirelab/internal/schematest"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
	"wirelab/workload/logging/gen"
)

// published is the schema as the published service's clients have it: an entry
// without an id, and a result without one. The names of messages are not on the
// wire, and here other than ours.
const published = `
name: "published.proto" package: "origin" syntax: "proto3"
message_type { name: "Entry"
  field { name: "name" number: 1 type: TYPE_STRING }
  field { name: "data" number: 2 type: TYPE_STRING } }
message_type { name: "Ask" field { name: "logEntry" number: 1 type: TYPE_MESSAGE type_name: ".origin.Entry" } }
message_type { name: "Said" field { name: "result" number: 1 type: TYPE_STRING } }
`

// publishedClient is a client made of the published schema alone.
type publishedClient struct {
	conn   *grpc.ClientConn
	schema protoreflect.FileDescriptor
}

// eachPublished runs test with such a client of each of our gRPC servers, over
// a service that wrap makes of a new one.
func eachPublished(
	t *testing.T, wrap func(logging.Service) logging.Service, test func(*testing.T, publishedClient, logging.Service),
) {
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
			memory := logging.New()
			address, _ := pair{Binding: b, Server: server, Client: b.Clients[0]}.Serve(t, wrap(memory))
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, publishedClient{conn, schema}, memory)
		})
	}
}

func asItIs(s logging.Service) logging.Service { return s }

// write calls WriteLog with a request in text, and returns the result.
func (c publishedClient) write(t *testing.T, text string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	message := func(name string) *dynamicpb.Message {
		return dynamicpb.NewMessage(c.schema.Messages().ByName(protoreflect.Name(name)))
	}
	ask, said := message("Ask"), message("Said")
	if err := prototext.Unmarshal([]byte(text), ask); err != nil {
		t.Fatal(err)
	}
	err := c.conn.Invoke(ctx, "/logs.LogService/WriteLog", ask, said)
	return said.Get(said.Descriptor().Fields().ByName("result")).String(), err
}

// inStore are the entries that a service has, oldest first, as name=data.
func inStore(t *testing.T, service logging.Service) []string {
	t.Helper()
	list, err := service.ListEntries(t.Context(), query{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(list.Entries))
	for i, s := range list.Entries {
		all[len(all)-1-i] = s.Name + "=" + s.Data
	}
	return all
}

// The published client's calls are answered as it knows it, each stores one
// entry, and a request without an entry is a refusal, not the end of the process
// (ms-F21, ms-D01).
func TestPublishedGRPC(t *testing.T) {
	t.Parallel()
	eachPublished(t, asItIs, func(t *testing.T, c publishedClient, memory logging.Service) {
		for _, k := range []struct {
			why, ask string
			code     codes.Code
		}{
			{"an entry", `logEntry { name: "event" data: "some data" }`, codes.OK},
			{"no entry, which stopped the published server", ``, codes.InvalidArgument},
			{"an entry of nothing", `logEntry {}`, codes.InvalidArgument},
			{"data without a name", `logEntry { data: "x" }`, codes.InvalidArgument},
			{"NUL", `logEntry { name: "a" data: "\000" }`, codes.InvalidArgument},
			{
				"a long name", `logEntry { name: "` + strings.Repeat("n", logging.NameLimit+1) + `" }`,
				codes.InvalidArgument,
			},
			{
				"the same entry again: it has no id, and so is another", `logEntry { name: "event" data: "some data" }`,
				codes.OK,
			},
			{"a name alone", `logEntry { name: "bare" }`, codes.OK},
		} {
			said, err := c.write(t, k.ask)
			if status.Code(err) != k.code || err == nil && said != "logged!" {
				t.Errorf("%s: %q, %v; want %v", k.why, said, err, k.code)
			}
		}
		if got, want := inStore(t, memory), []string{
			"event=some data", "event=some data", "bare=",
		}; !slices.Equal(got, want) {
			t.Errorf("stored are %q, want %q", got, want)
		}
		for _, name := range []string{"", "logs.LogService", "logs.EntryService"} {
			ask := &grpc_health_v1.HealthCheckRequest{Service: name}
			if reply, err := grpc_health_v1.NewHealthClient(c.conn).Check(t.Context(), ask); err != nil ||
				reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("health of %q: %v, %v", name, reply, err)
			}
		}
	})
}

// A panic in the store costs its call (ms-D01), and a failure of it is the
// server's and not the caller's (ms-D17).
func TestPublishedGRPCFailures(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	failing := func(s logging.Service) logging.Service {
		return logging.Wrap(s, wirelab.Hooks{
			After: func(string) {},
			Before: func(context.Context, string) error {
				switch calls.Add(1) % 3 {
				case 1:
					panic("the store breaks")
				case 2:
					return wirelab.Errorf(wirelab.Unavailable, "the store is away")
				}
				return nil
			},
		})
	}
	eachPublished(t, failing, func(t *testing.T, c publishedClient, _ logging.Service) {
		for _, want := range []codes.Code{codes.Internal, codes.Unavailable, codes.OK} {
			_, err := c.write(t, `logEntry { name: "event" }`)
			if status.Code(err) != want || strings.Contains(fmt.Sprint(err), "breaks") {
				t.Errorf("%v, want %v", err, want)
			}
		}
	})
}

// asIs sends and takes bytes as they are.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (asIs) Name() string                       { return "proto" }

// Bytes that are no message cost their call, not the server, and store nothing.
func TestForeignBytes(t *testing.T) {
	t.Parallel()
	eachPublished(t, asItIs, func(t *testing.T, c publishedClient, memory logging.Service) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for why, sent := range map[string][]byte{
			"nothing":                            {},
			"an entry that is no message":        {0x0a, 0x01, 0xff},
			"an entry of another type":           {0x08, 0x01},
			"a length beyond the message's end":  {0x0a, 0x7f, 'x'},
			"a length beyond all memory":         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
			"a name that is not UTF-8":           {0x0a, 0x03, 0x0a, 0x01, 0xff},
			"a name, and then the entry is cut":  {0x0a, 0x05, 0x0a, 0x01, 'x', 0x12},
			"a tag that never ends":              slices.Repeat([]byte{0xff}, 20),
			"an end group without a group":       {0x0c},
			"entries of entries, none of them a": slices.Repeat([]byte{0x0a, 0x00}, 1000),
			"a message above the limit": append([]byte{0x7a, 0x80, 0x80, 0x80, 0x05},
				make([]byte, wirelab.MessageLimit+1)...),
		} {
			for _, method := range []string{
				"LogService/WriteLog", "EntryService/GetEntry",
				"EntryService/DeleteEntries",
			} {
				var reply []byte
				err := c.conn.Invoke(ctx, "/logs."+method, &sent, &reply, grpc.ForceCodec(asIs{}))
				// gRPC leaves the code open: grpc-go says Internal, connect-go InvalidArgument.
				switch status.Code(err) {
				case codes.Internal, codes.InvalidArgument, codes.ResourceExhausted:
				default:
					t.Errorf("%s to %s: %.200v", why, method, err)
				}
			}
		}
		if got := inStore(t, memory); len(got) > 0 {
			t.Errorf("stored are %q", got)
		}
		if said, err := c.write(t, `logEntry { name: "after" }`); err != nil || said != "logged!" {
			t.Errorf("afterwards: %q, %v", said, err)
		}
	})
}

// The numbers and names by which clients of other languages know the services
// are written down, here too: a change of one breaks them all.
func TestSchemaIsForEver(t *testing.T) {
	t.Parallel()
	want := []string{
		"DeleteEntriesRequest: before=1",
		"DeleteEntriesResponse: count=1",
		"EntryService: GetEntry(GetEntryRequest)StoredEntry ListEntries(ListEntriesRequest)ListEntriesResponse " +
			"DeleteEntries(DeleteEntriesRequest)DeleteEntriesResponse",
		"GetEntryRequest: id=1",
		"ListEntriesRequest: name=1 since=2 until=3 before=4 limit=5",
		"ListEntriesResponse: entries=1 next=2",
		"Log: name=1 data=2 id=3",
		"LogRequest: logEntry=1",
		"LogResponse: result=1 id=2",
		"LogService: WriteLog(LogRequest)LogResponse",
		"StoredEntry: entry=1 position=2 stored_at=3",
	}
	schematest.Keeps(t, gen.File_logs_proto, want)
	if gen.File_logs_proto.Package() != "logs" {
		t.Errorf("the package is %s", gen.File_logs_proto.Package())
	}
}
