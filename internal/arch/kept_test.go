package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keptLimit is the most bytes of a file in the repository; the largest, which is generated, has 260,000.
const keptLimit = 1 << 20

// Nothing that was built is in the repository: go build leaves its program in the folder it was called in, and
// git add takes that with all else.
func TestNoProgramIsKept(t *testing.T) {
	t.Parallel()
	const root = "../.."
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Skipf("git does not tell which files are its: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil {
			continue // it is to be removed
		}
		if info.Size() > keptLimit {
			t.Errorf("%s has %d bytes; at most %d are kept", name, info.Size(), keptLimit)
		}
	}
}
