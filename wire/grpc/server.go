package grpc

import (
	"context"
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirelab/wire/endpoint"
	"wirelab/wire/panics"
	"wirelab/wire/status"
)

// Serve serves what register registers, with health in addition unless that is among it, by grpc-go as the
// package comment says. Messages are in the encoding of a subtype, for services of [Describe], or in Protocol
// Buffers where it is "": then there is reflection too, which describes those only. It follows the contract of
// package endpoint; when the drain time is over it ends the contexts of the calls that are left and waits for
// their handlers, which must heed that. More options come after its own, so that a server that is no row of a
// comparison may be set up as it needs.
func Serve(
	ctx context.Context, at endpoint.Endpoint, secure bool, subtype string, register func(grpc.ServiceRegistrar),
	more ...grpc.ServerOption,
) error {
	if at.Listener == nil {
		return status.Errorf(status.InvalidArgument, "gRPC needs a listener")
	}
	options := []grpc.ServerOption{
		grpc.MaxConcurrentStreams(endpoint.MaxStreams),
		grpc.MaxRecvMsgSize(MaxMessage),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.ChainUnaryInterceptor(containUnary),
		grpc.ChainStreamInterceptor(containStream),
		grpc.WaitForHandlers(true),
	}
	if subtype != "" {
		options = append(options, grpc.ForceServerCodecV2(newCodec(subtype)))
	}
	if secure {
		if at.Certificate == nil {
			return status.Errorf(status.InvalidArgument, "gRPC over TLS needs a certificate")
		}
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13,
		})))
	}
	server := grpc.NewServer(append(options, more...)...)
	register(server)
	health := health.NewServer()
	services := server.GetServiceInfo()
	for service := range services {
		health.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	if _, own := services[grpc_health_v1.Health_ServiceDesc.ServiceName]; !own {
		grpc_health_v1.RegisterHealthServer(server, health)
	}
	if subtype == "" {
		reflect(server, services)
	}

	listener := &listener{Listener: at.Listener, open: map[*conn]struct{}{}}
	served := make(chan error, 1) // bounded by the one send
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served: // the listener broke
		listener.cut()
		server.Stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it broke because it was to stop
		}
		return status.Errorf(status.Unavailable, "gRPC server stopped: %v", err)
	case <-ctx.Done():
	}
	health.Shutdown() // watchers are notified before the calls end
	drain(server, listener, at.DrainTime())
	<-served //nolint:errcheck // says that it was stopped
	return nil
}

// reflect adds reflection to a server, of aliases too: the description of one
// brings its file with it.
func reflect(server *grpc.Server, services map[string]grpc.ServiceInfo) {
	var files []protoreflect.FileDescriptor
	for _, service := range services {
		if file, ok := service.Metadata.(protoreflect.FileDescriptor); ok {
			files = append(files, file)
		}
	}
	known := reflection.ServerOptions{Services: server, DescriptorResolver: newResolver(files...)}
	reflectionv1.RegisterServerReflectionServer(server, reflection.NewServerV1(known))
	reflectionv1alpha.RegisterServerReflectionServer(server, reflection.NewServer(known))
}

// drain lets calls in flight end within limit, then cuts them.
func drain(server *grpc.Server, listener *listener, limit time.Duration) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		listener.dropSilent()
		server.GracefulStop()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-drained:
		return
	case <-timer.C:
	}
	// Stop alone could wait two minutes for a client in the middle of its
	// handshake, so the connections go first.
	listener.cut()
	server.Stop()
	<-drained
}

// The contain functions make a panic in a handler the call's failure.

func containUnary(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, Encode(panics.Error(ctx, p))
		}
	}()
	return handle(ctx, request)
}

func containStream(
	service any, call grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Encode(panics.Error(call.Context(), p))
		}
	}()
	return handle(service, call)
}
