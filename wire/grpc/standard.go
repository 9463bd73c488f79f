package grpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Standard returns health and reflection for the named services and aliases as
// handlers of connect-go by path, for servers that are not grpc-go's. They are grpc-go's
// own implementations behind connect-go's streams: there are modules that do
// the same, but they would be two more dependencies for what takes a page.
// Every service is always SERVING, since a connect-go server that stops closes
// its connections and needs no other word for it.
func Standard(services []string, aliases []Alias, options ...connect.HandlerOption) map[string]http.Handler {
	services = slices.Clone(services)
	files := make([]protoreflect.FileDescriptor, len(aliases))
	for i, a := range aliases {
		services, files[i] = append(services, a.Name), a.file()
	}
	handlers := Health(services, options...)
	known := reflection.ServerOptions{Services: serviceNames(append([]string{
		grpc_health_v1.Health_ServiceDesc.ServiceName,
		reflectionv1.ServerReflection_ServiceDesc.ServiceName,
		reflectionv1alpha.ServerReflection_ServiceDesc.ServiceName,
	}, services...)), DescriptorResolver: newResolver(files...)}
	reflect, reflectAlpha := reflection.NewServerV1(known), reflection.NewServer(known)
	duplex(handlers, reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName,
		reflect.ServerReflectionInfo, options)
	duplex(handlers, reflectionv1alpha.ServerReflection_ServerReflectionInfo_FullMethodName,
		reflectAlpha.ServerReflectionInfo, options)
	return handlers
}

// Health is [Standard] without reflection, which describes Protocol Buffers
// only, for services whose messages are something else.
func Health(services []string, options ...connect.HandlerOption) map[string]http.Handler {
	check := health.NewServer()
	for _, service := range services {
		check.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	handlers := map[string]http.Handler{}
	unary(handlers, grpc_health_v1.Health_Check_FullMethodName, check.Check, options)
	unary(handlers, grpc_health_v1.Health_List_FullMethodName, check.List, options)
	watch := grpc_health_v1.Health_Watch_FullMethodName
	handlers[watch] = connect.NewServerStreamHandler(watch, func(
		ctx context.Context, request *connect.Request[grpc_health_v1.HealthCheckRequest],
		out *connect.ServerStream[grpc_health_v1.HealthCheckResponse],
	) error {
		return recode(check.Watch(request.Msg, &replies[grpc_health_v1.HealthCheckResponse]{ctx: ctx, send: out.Send}))
	}, options...)
	return handlers
}

// serviceNames tells reflection what there is; it finds the descriptors itself.
type serviceNames []string

// GetServiceInfo implements [reflection.ServiceInfoProvider].
func (names serviceNames) GetServiceInfo() map[string]grpc.ServiceInfo {
	all := make(map[string]grpc.ServiceInfo, len(names))
	for _, name := range names {
		all[name] = grpc.ServiceInfo{}
	}
	return all
}

func unary[Req, Rep any](
	handlers map[string]http.Handler, path string,
	call func(context.Context, *Req) (*Rep, error), options []connect.HandlerOption,
) {
	handlers[path] = connect.NewUnaryHandler(path,
		func(ctx context.Context, request *connect.Request[Req]) (*connect.Response[Rep], error) {
			reply, err := call(ctx, request.Msg)
			if err != nil {
				return nil, recode(err)
			}
			return connect.NewResponse(reply), nil
		}, options...)
}

func duplex[Req, Rep any](
	handlers map[string]http.Handler, path string,
	call func(grpc.BidiStreamingServer[Req, Rep]) error, options []connect.HandlerOption,
) {
	handlers[path] = connect.NewBidiStreamHandler(path,
		func(ctx context.Context, both *connect.BidiStream[Req, Rep]) error {
			return recode(call(&exchange[Req, Rep]{replies[Rep]{ctx: ctx, send: both.Send}, both}))
		}, options...)
}

// recode turns a status of grpc-go into an error of connect-go. The numbers
// are the same in both, by the protocol.
func recode(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	return connect.NewError(connect.Code(s.Code()), errors.New(s.Message()))
}

// replies is a connect-go stream as grpc-go's implementations take it. The
// embedded interface is nil: they use none of its other methods.
type replies[Rep any] struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // the interface asks the stream for it
	send func(*Rep) error
}

// Context implements [grpc.ServerStream].
func (r *replies[Rep]) Context() context.Context { return r.ctx }

// Send implements [grpc.ServerStreamingServer].
func (r *replies[Rep]) Send(reply *Rep) error { return r.send(reply) }

// exchange adds the receiving half.
type exchange[Req, Rep any] struct {
	replies[Rep]
	both *connect.BidiStream[Req, Rep]
}

// Recv implements [grpc.BidiStreamingServer].
func (e *exchange[Req, Rep]) Recv() (*Req, error) {
	request, err := e.both.Receive()
	if err != nil {
		return nil, endOfFile(err)
	}
	return request, nil
}

// endOfFile unwraps the end of a stream, which grpc-go's code compares with ==.
func endOfFile(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}
