package bind_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// served calls test with each server of bindings that speak gRPC.
func served(
	t *testing.T, test func(t *testing.T, peer conformance.Peer), bindings ...wirelab.Binding[directory.Service],
) {
	t.Helper()
	for _, b := range bindings {
		for _, server := range b.Servers {
			t.Run(b.Protocol.Name+"/"+server.Library, func(t *testing.T) {
				t.Parallel()
				address, roots := conformance.Pair[directory.Service]{Binding: b, Server: server}.Serve(t,
					directory.New())
				test(t, conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots})
			})
		}
	}
}

// What the published framework's clients would not send is refused by the
// services that bear its names, each time with the reason. What they do send is
// replayed in folder origin.
func TestPublishedNamesRefuse(t *testing.T) {
	t.Parallel()
	served(t, func(t *testing.T, peer conformance.Peer) {
		for _, c := range []struct{ why, method, kind, message, code, says string }{
			{"a person", "getPerson", "application/grpc", "\x021", "grpc 0", ""},
			{"an unknown person", "getPerson", "application/grpc", "\x029", "grpc 5", "no person has the id"},
			{"half an id", "getPerson", "application/grpc", "\x041", "grpc 3", "ends within a text"},
			{"no id", "getPerson", "application/grpc", "", "grpc 3", "the message ends"},
			{"more than an id", "getPerson", "application/grpc", "\x021\x00", "grpc 3", "1 bytes follow"},
			{"more than nothing", "listPersons", "application/grpc", "\x00", "grpc 3", "without fields has 1 bytes"},
			{"nothing", "listPersons", "application/grpc", "", "grpc 0", ""},
			{"a method of ours", "GetPerson", "application/grpc", "\x021", "", ""},
			{"our Avro", "getPerson", "application/grpc+avro", "\x021", "", ""},
		} {
			code, text := peer.Post(t, "/PersonServiceAvro/"+c.method, c.kind, []byte(c.message))
			if c.code == "" && code == "grpc 0" || c.code != "" && code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("%s: %s, %q; want %s, %q", c.why, code, text, c.code, c.says)
			}
		}
	}, bind.GRPCAvro(), bind.GRPCTLSAvro())
	served(t, func(t *testing.T, peer conformance.Peer) {
		for method, want := range map[string]bool{
			"getPerson": true, "GetPerson": false, "getperson": false,
			"": false,
		} {
			code, text := peer.Post(t, "/PersonServicePB/"+method, "application/grpc", []byte("\x0a\x011"))
			if (code == "grpc 0") != want {
				t.Errorf("PersonServicePB/%s: %s, %q", method, code, text)
			}
		}
	}, bind.GRPC(), bind.GRPCTLS())
}

// Reflection describes the service in Protocol Buffers with the methods that it
// has under the published name.
func TestPublishedNameIsDescribed(t *testing.T) {
	t.Parallel()
	served(t, func(t *testing.T, peer conformance.Peer) {
		conn, err := grpc.NewClient(peer.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		call, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Send(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "PersonServicePB"},
		}); err != nil {
			t.Fatal(err)
		}
		reply, err := call.Recv()
		if err != nil {
			t.Fatal(err)
		}
		var methods []string
		for _, text := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(text, file); err != nil {
				t.Fatal(err)
			}
			for _, service := range file.GetService() {
				for _, m := range service.GetMethod() {
					if service.GetName() == "PersonServicePB" {
						methods = append(methods, m.GetName())
					}
				}
			}
		}
		if got := strings.Join(methods, " "); got != "listPersons getPerson getPersonLinks createPerson" {
			t.Errorf("described are %q: %v", got, reply)
		}
	}, bind.GRPC())
}
