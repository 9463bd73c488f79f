package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"wirelab/internal/daemon"
)

// What a cluster that was killed left behind goes when the next one starts, its disk too;
// what one that lives has, stays.
func TestLeftIsSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	long := time.Now().Add(-time.Hour)
	var killed, living Cluster
	for _, s := range []*Cluster{&killed, &living} {
		if err := s.settle(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(daemon.Owned(s.home), long, long); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "log"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		if _, err := mountSmall(killed.dir); err != nil {
			t.Fatal(err)
		}
	}
	_ = killed.owned.Close() // as its death does
	var next Cluster
	if err := next.settle(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed.home); !os.IsNotExist(err) {
		t.Errorf("what the killed one left is there: %v", err)
	}
	for _, s := range []*Cluster{&living, &next} {
		if _, err := os.Stat(s.dir); err != nil {
			t.Errorf("one that lives has no directory: %v", err)
		}
		_ = s.owned.Close()
	}
}
