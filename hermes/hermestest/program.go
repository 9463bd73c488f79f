// Package hermestest is the program of Hermes, for the tests of other packages
// that run it as a process. It knows how the program is built, and nothing of
// what it does.
package hermestest

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build puts the program, built from this source, into a folder.
func Build(folder string) (program string, err error) {
	program = filepath.Join(folder, "hermes")
	// go run keeps what it linked in Go's cache, and go build does not. So the
	// packages whose tests need the program link it once, not once each.
	command := exec.Command("go", "run", "-exec", "cp", "wirelab/cmd/hermes", program)
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Hermes: %w\n%s", err, said)
	}
	return program, nil
}
