package services

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"wirelab"
	"wirelab/lab/launch"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
)

// reflectTime limits how long a server may take to describe its services.
const reflectTime = 10 * time.Second

// schema returns the schema of a gRPC service. It comes from files, or from the server, which is started for this if
// it is not running.
func (s *Services) schema(ctx context.Context, file string, start *started, wire external.Wire,
	text external.WireText,
) (*grpcschema.Schema, error) {
	from := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(file), name)
	}
	switch {
	case strings.HasSuffix(text.Schema, ".proto"):
		paths := make([]string, len(text.ImportPaths))
		for i := range paths {
			paths[i] = from(text.ImportPaths[i])
		}
		return grpcschema.Compile(ctx, []string{from(text.Schema)}, paths)
	case text.Schema != "" && text.Schema != "reflection":
		data, err := s.sources(file).Read(ctx, text.Schema)
		if err != nil {
			return nil, err
		}
		return grpcschema.Protoset(text.Schema, data)
	}
	address := wire.Address
	if start != nil {
		server, err := s.launched(ctx, start, wire.Name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = server.Stop() }() // it has answered, and is not needed any more
		address = server.Ready().Address
	}
	return s.Reflected(ctx, address, wire, text)
}

// Reflected asks a server for its schema, by gRPC server reflection.
func (s *Services) Reflected(ctx context.Context, address string, wire external.Wire,
	text external.WireText,
) (*grpcschema.Schema, error) {
	to := wirelab.Dialing{Address: address, Foreign: true}
	if err := wire.Trust(&to); err != nil {
		return nil, err
	}
	conn, err := wiregrpc.Dial(to, wire.Secure)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the connection was only read
	ctx, cancel := context.WithTimeout(ctx, reflectTime)
	defer cancel()
	answered := s.Tell.Waiting("what "+address+" serves", reflectTime)
	defer answered()
	return grpcschema.Reflect(ctx, conn, metadata.New(text.Headers))
}

// launched starts the server of a wire, for a single request.
func (s *Services) launched(ctx context.Context, start *started, wire string) (*launch.Process, error) {
	if err := start.build(ctx, s.Tell); err != nil {
		return nil, err
	}
	spec, err := start.spec(wire, wire)
	if err != nil {
		return nil, err
	}
	return launch.Start(ctx, spec)
}
