package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
	"testing"

	"wirelab/internal/prereq"
	"wirelab/system/postgres"
)

// SmallDisk makes a database whose files are in a memory disk of so many MiB, so that it can fill up while the
// server itself continues, and returns its connection string and what gives the disk another size. The server
// is stopped when the test ends, and should be of that test alone. A test that may not mount is skipped.
func SmallDisk(t testing.TB, s *postgres.Server, size int) (dsn string, resize func(size int)) {
	t.Helper()
	prereq.NeedMount(t)
	owner, err := os.Stat(s.Directory())
	if err != nil {
		t.Fatal(err)
	}
	id, ok := owner.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("the owner of the server's directory is not known")
	}
	//nolint:usetesting // no other user may enter a test's own folder, and the server is another user
	dir, err := os.MkdirTemp("", "wirelab-small-")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		_ = os.Remove(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() { // the server first: its files are open until it ends
		if err := errors.Join(s.Stop(context.Background()), syscall.Unmount(dir, syscall.MNT_DETACH),
			os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
		t.Fatal(err)
	}
	run(t, s.DSN(), "CREATE TABLESPACE small LOCATION '"+dir+"'")
	run(t, s.DSN(), "CREATE DATABASE small TABLESPACE small")
	at, err := url.Parse(s.DSN())
	if err != nil {
		t.Fatal("the server's connection string is no URL")
	}
	at.Path = "/small"
	return at.String(), func(size int) {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%dm", size)); err != nil {
			t.Fatal(err)
		}
	}
}
