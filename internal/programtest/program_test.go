package programtest_test

import (
	"errors"
	"os"
	"testing"

	"wirelab/internal/programtest"
)

// The shared folder is gone when the tests are over, and nothing is made after that.
func TestSharedIsRemoved(t *testing.T) {
	t.Parallel()
	var s programtest.Shared
	folder, err := s.Folder("wirelab-shared-")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", folder, err)
	}
	if folder, err := s.Folder("wirelab-shared-"); err == nil {
		t.Errorf("%s is made when the tests are over", folder)
	}
	if program, err := s.Build("hermes"); err == nil {
		t.Errorf("%s is built when the tests are over", program)
	}
}
