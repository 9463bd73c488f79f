// Package programtest builds the programs of this project, for tests that run them as
// processes, and keeps what all tests of a process share. It knows how a program is built, and nothing of what it does.
package programtest

import (
	"errors"
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

// Shared are programs and folders that several tests of a process need. A program is
// built when a test first asks for it. The zero value is ready.
type Shared struct {
	mu       sync.Mutex // guards all below
	programs string     // the folder of those that are built
	built    map[string]string
	folders  []string
	closed   bool
}

// Folder makes a folder, with what comes before * in its name, for what outlives the
// test that asks for it.
func (s *Shared) Folder(pattern string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folder(pattern)
}

func (s *Shared) folder(pattern string) (string, error) {
	if s.closed {
		return "", errors.New("the tests are over")
	}
	folder, err := os.MkdirTemp("", pattern)
	if err == nil {
		s.folders = append(s.folders, folder)
	}
	return folder, err
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
	if s.programs == "" {
		if s.programs, err = s.folder("wirelab-program-"); err != nil {
			return "", err
		}
		s.built = map[string]string{}
	}
	if program, err = Build(s.programs, name); err == nil {
		s.built[name] = program
	}
	return program, err
}

// Close removes the programs and folders, at the end of all tests.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, folder := range s.folders {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}
