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

// reflectTime is how long a server may take to tell what it serves.
const reflectTime = 10 * time.Second

// schema is what a service of gRPC says of itself: its files, or its server, which is started for that where it is not
// running.
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
		defer func() { _ = server.Stop() }() // it was asked what it serves, and has told
		address = server.Ready().Address
	}
	return s.Reflected(ctx, address, wire, text)
}

// Reflected asks a server what it serves.
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
	defer func() { _ = conn.Close() }() // there is nothing that could be lost
	ctx, cancel := context.WithTimeout(ctx, reflectTime)
	defer cancel()
	answered := s.Tell.Waiting("what "+address+" serves", reflectTime)
	defer answered()
	return grpcschema.Reflect(ctx, conn, metadata.New(text.Headers))
}

// launched starts the server behind a wire, for a question.
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
