package vfs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wirelab/hermes/vfs"
)

// TestCreated: a file keeps its time of creation under another name and with other content; a copy has another.
func TestCreated(t *testing.T) {
	memory := vfs.NewMemory()
	if err := memory.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		fs   vfs.FS
		dir  string
		copy func(from, to string) (vfs.Dater, error)
	}{
		{"in memory", memory, "/d", func(from, to string) (vfs.Dater, error) {
			c := memory.Copy()
			return c, c.Rename(from, to)
		}},
		{"the system's", vfs.OS{}, t.TempDir(), func(from, to string) (vfs.Dater, error) {
			return vfs.OS{}, exec.Command("cp", "-a", from, to).Run()
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			one, two, other := filepath.Join(c.dir, "one"), filepath.Join(c.dir, "two"), filepath.Join(c.dir, "other")
			f, err := c.fs.Create(one, 8)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			dater := c.fs.(vfs.Dater)
			was, err := dater.Created(one)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Logf("the file system of %s keeps no births", c.dir)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte("x"), 0); err != nil {
				t.Fatal(err)
			}
			if err := c.fs.Rename(one, two); err != nil {
				t.Fatal(err)
			}
			if is, err := dater.Created(two); err != nil || is != was {
				t.Errorf("it was born %s and then %s, %v", was, is, err)
			}
			copied, err := c.copy(two, other)
			if err != nil {
				t.Fatal(err)
			}
			if is, err := copied.Created(other); err != nil || is == was {
				t.Errorf("a copy was born %s like the file, %v", is, err)
			}
			if _, err := dater.Created(filepath.Join(c.dir, "none")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("of none: %v", err)
			}
		})
	}
}
