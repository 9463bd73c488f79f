package grpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"wirelab/hermes/access"
	wiregrpc "wirelab/wire/grpc"
)

// healthService is open to those who show no token: who asks for a node's health is
// often no client of it. Reflection is not. (hb-D25)
const healthService = "/grpc.health.v1.Health/"

// guards are the options' policy.
func (o Options) guards() (all []grpc.ServerOption) {
	if o.Access != nil {
		all = append(all, recognise(o.Access)...)
	}
	return all
}

// recognise is the interceptors that put who shows a token of the policy into the
// call's context, and keep all others out before anything of theirs is read.
func recognise(p *access.Policy) []grpc.ServerOption {
	known := func(ctx context.Context, method string) (context.Context, error) {
		if strings.HasPrefix(method, healthService) {
			return ctx, nil
		}
		ctx, err := p.Bearer(ctx, metadata.ValueFromIncomingContext(ctx, "authorization"))
		return ctx, wiregrpc.Encode(err)
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo,
			handle grpc.UnaryHandler,
		) (any, error) {
			ctx, err := known(ctx, info.FullMethod)
			if err != nil {
				return nil, err
			}
			return handle(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(service any, call grpc.ServerStream, info *grpc.StreamServerInfo,
			handle grpc.StreamHandler,
		) error {
			ctx, err := known(call.Context(), info.FullMethod)
			if err != nil {
				return err
			}
			return handle(service, recognisedStream{call, ctx})
		}),
	}
}

// recognisedStream is a stream whose context has the caller.
type recognisedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has its context, by grpc's interface
}

// Context implements [grpc.ServerStream].
func (s recognisedStream) Context() context.Context { return s.ctx }
