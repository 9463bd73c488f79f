package grpcschema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	"wirelab/internal/input"
)

const (
	maxSource = 4 << 20 // bytes of a .proto file
	upwards   = 8       // folders above a file in which its imports are looked for
)

// Compile compiles .proto files. importPaths are the folders that imports are relative to; without any it is
// for each file the nearest folder upwards in which all its imports are.
func Compile(ctx context.Context, files, importPaths []string) (*Schema, error) {
	if len(files) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "no .proto file is given")
	}
	if len(files) > maxFiles {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "more than %d .proto files", maxFiles)
	}
	read := func(path string) ([]byte, error) { return input.File(ctx, path, maxSource) }
	if len(importPaths) > 0 {
		paths := slices.Clone(importPaths)
		names := make([]string, len(files))
		for i, file := range files {
			var root string
			if names[i], root = within(file, paths); root != "" {
				paths = append(paths, root)
			}
		}
		return compile(ctx, read, paths, names)
	}
	var err error
	for up := range upwards {
		var paths, names []string
		for _, file := range files {
			root, name := filepath.Dir(file), filepath.Base(file)
			for range up {
				if parent := filepath.Join(root, ".."); parent != root {
					if abs, failed := filepath.Abs(root); failed == nil {
						name = filepath.Join(filepath.Base(abs), name)
					}
					root = parent
				}
			}
			names = append(names, filepath.ToSlash(name))
			if !slices.Contains(paths, root) {
				paths = append(paths, root)
			}
		}
		s, failed := compile(ctx, read, paths, names)
		if failed == nil {
			return s, nil
		}
		if err == nil {
			err = failed
		}
		var absent *notFound
		if !errors.As(failed, &absent) {
			return nil, failed
		}
	}
	return nil, wirelab.Errorf(wirelab.InvalidArgument,
		"%s; give the folder that imports are relative to as an import path", said(err))
}

// within returns a file's name in one of the import paths, or its base name and the folder that it is in.
func within(file string, paths []string) (name, root string) {
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(path, file)); err == nil && !filepath.IsAbs(file) {
			return filepath.ToSlash(file), "" // as protoc takes it
		}
	}
	for _, path := range paths {
		base, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		whole, err := filepath.Abs(file)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(base, whole); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), ""
		}
	}
	return filepath.Base(file), filepath.Dir(file)
}

// notFound is the error of a file that imports a missing file.
type notFound struct{ error }

// Unwrap implements errors.Unwrap.
func (n *notFound) Unwrap() error { return n.error }

// sources reads files for the compiler, which does so from several goroutines, and bounds what it reads.
type sources struct {
	read func(path string) ([]byte, error)

	mu           sync.Mutex // guards all below
	files, bytes int
	failed       error // the first that is not the absence of a file
}

func (s *sources) open(path string) (io.ReadCloser, error) {
	data, err := s.read(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err == nil {
		s.files++
		s.bytes += len(data)
		if s.files > maxFiles || s.bytes > maxBytes {
			err = wirelab.Errorf(wirelab.InvalidArgument, "more than %d .proto files or %d bytes", maxFiles, maxBytes)
		}
	}
	if err != nil {
		if s.failed == nil {
			s.failed = fmt.Errorf("%s: %w", path, err)
		}
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// compile compiles files by their names in the import paths.
func compile(ctx context.Context, read func(string) ([]byte, error), paths, names []string) (*Schema, error) {
	from := &sources{read: read}
	var found complaints
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: paths,
			Accessor:    from.open,
		}),
		Reporter:       reporter.NewReporter(found.add, nil),
		SourceInfoMode: protocompile.SourceInfoNone,
	}
	compiled, err := compiler.Compile(ctx, names...)
	from.mu.Lock()
	failed := from.failed
	from.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, wirelab.Errorf(wirelab.CodeOf(ctx.Err()), "compiling %s: %v", names[0], ctx.Err())
	case failed != nil:
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s", failed)
	case err != nil:
		return nil, found.tell(err)
	}
	var texts []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var take func(file protoreflect.FileDescriptor)
	take = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] || file.IsPlaceholder() {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			take(file.Imports().Get(i).FileDescriptor)
		}
		texts = append(texts, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range compiled {
		take(file)
	}
	s, err := build(texts, nil)
	if err == nil && len(s.services) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s: no service is declared there; give the file that has one",
			strings.Join(names, ", "))
	}
	return s, err
}

// complaints are what the compiler finds.
type complaints struct {
	mu    sync.Mutex
	texts []string
	more  int
}

// add makes the compiler continue, so that all mistakes are reported at once.
func (c *complaints) add(err reporter.ErrorWithPos) error {
	const most = 5
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.texts) < most {
		at := err.GetPosition()
		c.texts = append(c.texts, fmt.Sprintf("%s:%d:%d: %v", at.Filename, at.Line, at.Col, err.Unwrap()))
	} else {
		c.more++
	}
	return nil
}

// tell makes one error of them; whole is the compiler's own.
func (c *complaints) tell(whole error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.texts, "; ")
	if text == "" {
		text = whole.Error()
	}
	if c.more > 0 {
		text += fmt.Sprintf("; and %d more", c.more)
	}
	err := wirelab.Errorf(wirelab.InvalidArgument, "%s", text)
	if errors.Is(whole, fs.ErrNotExist) || strings.Contains(text, fs.ErrNotExist.Error()) {
		return &notFound{err}
	}
	return err
}
