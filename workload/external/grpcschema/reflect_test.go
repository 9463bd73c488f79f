package grpcschema_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	"wirelab/internal/leaktest"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/routeguide/bind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// serve starts a server and returns a connection to it.
func serve(t testing.TB, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return dial(t, listener.Addr().String())
}

func dial(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := wiregrpc.Dial(wirelab.Dialing{Address: address, Connections: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// patient bounds what a test waits for.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestReflectVersions checks that both versions of grpc-go's reflection are read, and that a missing one is
// reported.
func TestReflectVersions(t *testing.T) {
	t.Parallel()
	for name, register := range map[string]func(s *grpc.Server){
		"both": func(s *grpc.Server) { reflection.Register(s) },
		"v1":   func(s *grpc.Server) { reflection.RegisterV1(s) },
		"alpha": func(s *grpc.Server) {
			reflectionv1alpha.RegisterServerReflectionServer(s,
				reflection.NewServer(reflection.ServerOptions{Services: s}))
		},
	} {
		conn := serve(t, func(s *grpc.Server) {
			grpc_health_v1.RegisterHealthServer(s, health.NewServer())
			register(s)
		})
		s, err := grpcschema.Reflect(patient(t), conn, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m := find(t, s, "Check"); m.Name() != "grpc.health.v1.Health/Check" {
			t.Errorf("%s: %s", name, m.Name())
		}
		if slices.ContainsFunc(s.Services(), func(s grpcschema.Service) bool { return !s.Standard }) {
			t.Errorf("%s: %v", name, s.Services())
		}
	}
	_, err := grpcschema.Reflect(patient(t), serve(t, func(*grpc.Server) {}), nil)
	wantError(t, err, wirelab.Unimplemented, "does not offer reflection", ".proto")
}

// What our own servers say of themselves is enough to call them, by either library.
func TestReflectOurs(t *testing.T) {
	t.Parallel()
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.Protocol.Name != "grpc" || !strings.HasSuffix(cell.Client, "grpc-go") {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- cell.Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Second}) }()
		s, err := grpcschema.Reflect(patient(t), dial(t, listener.Addr().String()), nil)
		if err != nil {
			t.Fatalf("%s: %v", cell.Server, err)
		}
		m := find(t, s, "routeguide.RouteGuide/RecordRoute")
		if m.Kind() != wirelab.ClientStream {
			t.Errorf("%s: %s", cell.Server, m.Kind())
		}
		if _, err := m.EncodeAll([]byte(`{"latitude":1,"longitude":2}`)); err != nil {
			t.Error(err)
		}
		if _, err := s.Find("GetFeature"); err == nil { // of v1.RouteGuide, too
			t.Errorf("%s: one GetFeature", cell.Server)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// fake answers reflection as configured.
type fake struct {
	reflectionv1.UnimplementedServerReflectionServer
	services []string
	symbol   func(name string) [][]byte // nil: not found
	file     func(path string) [][]byte
	instead  func(reflectionv1.ServerReflection_ServerReflectionInfoServer) error
}

// ServerReflectionInfo implements the service.
func (f *fake) ServerReflectionInfo(call reflectionv1.ServerReflection_ServerReflectionInfoServer) error {
	if f.instead != nil {
		return f.instead(call)
	}
	for {
		q, err := call.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client has asked all it wants to
		}
		a := &reflectionv1.ServerReflectionResponse{}
		var files [][]byte
		switch q.GetMessageRequest().(type) {
		case *reflectionv1.ServerReflectionRequest_ListServices:
			list := &reflectionv1.ListServiceResponse{}
			for _, name := range f.services {
				list.Service = append(list.Service, &reflectionv1.ServiceResponse{Name: name})
			}
			a.MessageResponse = &reflectionv1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
		case *reflectionv1.ServerReflectionRequest_FileContainingSymbol:
			files = f.symbol(q.GetFileContainingSymbol())
		case *reflectionv1.ServerReflectionRequest_FileByFilename:
			files = f.file(q.GetFileByFilename())
		}
		switch {
		case a.MessageResponse != nil:
		case files != nil:
			a.MessageResponse = &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
				FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: files},
			}
		default:
			a.MessageResponse = &reflectionv1.ServerReflectionResponse_ErrorResponse{ErrorResponse: &reflectionv1.ErrorResponse{
				ErrorCode: int32(codes.NotFound), ErrorMessage: "no such thing",
			}}
		}
		if err := call.Send(a); err != nil {
			return err
		}
	}
}

// files are those of the test's schema by path.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(protoset(t, true), &set); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range set.GetFile() {
		data, err := proto.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file.GetName()] = data
	}
	return all
}

func one(data []byte) [][]byte {
	if data == nil {
		return nil
	}
	return [][]byte{data}
}

func reflectFake(t testing.TB, f *fake) (*grpcschema.Schema, error) {
	t.Helper()
	conn := serve(t, func(s *grpc.Server) { reflectionv1.RegisterServerReflectionServer(s, f) })
	return grpcschema.Reflect(patient(t), conn, nil)
}

// Servers that hand out one file at a time, that lack the usual ones, or that do not
// know one of their services, are called all the same.
func TestReflectPiecemeal(t *testing.T) {
	t.Parallel()
	all := files(t)
	f := &fake{
		services: []string{"shop.v1.Cart", "lost.Service"},
		symbol: func(name string) [][]byte {
			if name == "shop.v1.Cart" {
				return one(all["shop/v1/cart.proto"])
			}
			return nil
		},
		file: func(path string) [][]byte {
			if strings.HasPrefix(path, "google/") {
				return nil
			}
			return one(all[path])
		},
	}
	s, err := reflectFake(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(t, s,
		"AddItem").Encode([]byte(`{"ribbon":{"units":1},"madeAt":"2026-01-01T00:00:00Z"}`)); err != nil {
		t.Error(err)
	}
	_, err = s.Find("lost.Service/Get")
	wantError(t, err, wirelab.InvalidArgument, "lost.Service cannot be called", "no such thing")

	f.file = func(string) [][]byte { return nil } // not even its own
	_, err = reflectFake(t, f)
	wantError(t, err, wirelab.InvalidArgument, "shop.v1.Cart", "shop.v1.Money")
}

// TestReflectMisbehaving checks that servers that misbehave are distinguished from those without reflection, and
// never delay a caller beyond ctx.
func TestReflectMisbehaving(t *testing.T) {
	t.Parallel()
	type stream = reflectionv1.ServerReflection_ServerReflectionInfoServer
	garbage := func(string) [][]byte { return [][]byte{{0xff}} }
	deep := func(path string) [][]byte { // each file imports another
		data, _ := proto.Marshal(&descriptorpb.FileDescriptorProto{Name: &path, Dependency: []string{path + "x"}})
		return [][]byte{data}
	}
	large := func(string) [][]byte { return [][]byte{make([]byte, 1<<20), make([]byte, 17<<20)} }
	self := func(string) [][]byte {
		data, _ := proto.Marshal(&descriptorpb.FileDescriptorProto{Name: proto.String("a"), Dependency: []string{"a"}})
		return [][]byte{data}
	}
	for name, c := range map[string]struct {
		fake fake
		code wirelab.Code
		say  string
	}{
		"none": {fake{}, wirelab.Unavailable, "lists no service"},
		"many": {
			fake{services: strings.Split(strings.Repeat("abc ", 1)+many(), " ")},
			wirelab.ResourceExhausted,
			"1024 services",
		},
		"garbage": {fake{services: []string{"a.B"}, symbol: garbage}, wirelab.Unavailable, "invalid descriptor"},
		"deep":    {fake{services: []string{"a.B"}, symbol: deep, file: deep}, wirelab.ResourceExhausted, "files"},
		"large":   {fake{services: []string{"a.B"}, symbol: large}, wirelab.ResourceExhausted, ""},
		"itself":  {fake{services: []string{"a.B"}, symbol: self}, wirelab.InvalidArgument, "imports itself"},
		"ends":    {fake{instead: func(stream) error { return nil }}, wirelab.Unavailable, "ended before its answer"},
		"fails": {
			fake{instead: func(stream) error { return status.Error(codes.PermissionDenied, "who are you") }},
			wirelab.PermissionDenied, "who are you",
		},
		"off": {
			fake{instead: func(stream) error { return status.Error(codes.Unimplemented, "off") }},
			wirelab.Unimplemented, "does not offer",
		},
		"refuses": {
			fake{services: []string{"a.B"}, symbol: func(string) [][]byte { return nil }},
			wirelab.Unavailable,
			"no such thing",
		},
	} {
		_, err := reflectFake(t, &c.fake)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		t.Log(name, err)
		wantError(t, err, c.code, c.say)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hang := &fake{instead: func(call stream) error {
		cancel()
		<-call.Context().Done()
		return nil
	}}
	conn := serve(t, func(s *grpc.Server) { reflectionv1.RegisterServerReflectionServer(s, hang) })
	_, err := grpcschema.Reflect(ctx, conn, nil)
	wantError(t, err, wirelab.Canceled)
}

func many() string {
	var b strings.Builder
	for i := range 1100 {
		b.WriteString(strings.Repeat("a", i+1) + " ")
	}
	return strings.TrimSpace(b.String())
}

// Metadata goes with the questions.
func TestReflectMetadata(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	f := &fake{instead: func(call reflectionv1.ServerReflection_ServerReflectionInfoServer) error {
		md, _ := metadata.FromIncomingContext(call.Context())
		got <- strings.Join(md["authorization"], ",")
		return status.Error(codes.Unauthenticated, "no")
	}}
	conn := serve(t, func(s *grpc.Server) { reflectionv1.RegisterServerReflectionServer(s, f) })
	_, err := grpcschema.Reflect(patient(t), conn, metadata.Pairs("authorization", "Bearer x"))
	wantError(t, err, wirelab.Unauthenticated)
	if said := <-got; said != "Bearer x" {
		t.Error(said)
	}
}
