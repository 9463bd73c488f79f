// Package programtest builds the programs of this project, for tests that run them as
// processes. It knows how a program is built, and nothing of what it does.
package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Build puts a program of folder cmd, built from this source, into a folder.
func Build(folder, name string) (program string, err error) {
	program = filepath.Join(folder, name)
	// go run keeps what it linked in Go's cache, and go build does not. So the
	// packages whose tests need the program link it once, not once each.
	command := exec.Command("go", "run", "-exec", "cp", "wirelab/cmd/"+name, program)
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, said)
	}
	return program, nil
}

// Shared are programs that several tests of a process need. Each is built when a test
// first asks for it. The zero value is ready.
type Shared struct {
	mu     sync.Mutex // guards all below
	folder string
	built  map[string]string
	closed bool
}

// Build returns a program that is built already, or builds it.
func (s *Shared) Build(name string) (program string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", fmt.Errorf("build %s: the tests are over", name)
	}
	if program = s.built[name]; program != "" {
		return program, nil
	}
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "wirelab-program-"); err != nil {
			return "", err
		}
		s.built = map[string]string{}
	}
	if program, err = Build(s.folder, name); err == nil {
		s.built[name] = program
	}
	return program, err
}

// Close removes the programs, at the end of all tests.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.folder == "" {
		return nil
	}
	return os.RemoveAll(s.folder)
}
