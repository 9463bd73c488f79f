package probe_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"wirelab/lab/probe"
)

func TestResident(t *testing.T) {
	t.Parallel()
	if n := probe.Resident(os.Getpid()); n < 1<<20 || n > 1<<40 {
		t.Errorf("this process holds %d bytes", n)
	}
	if n := probe.Resident(1 << 30); n != 0 {
		t.Errorf("no process holds %d bytes", n)
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if n := probe.Stored(dir); n != 0 {
		t.Errorf("an empty directory takes %d bytes", n)
	}
	const size = 1 << 20
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "below", "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i * i >> 3) // data that a file system cannot leave out
	}
	if _, err := file.Write(bytes); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil { // a file system may allocate blocks only at this point
		t.Fatal(err)
	}
	if n := probe.Stored(dir); n < size/2 || n > 2*size {
		t.Errorf("a file of %d bytes takes %d", size, n)
	}
	if n := probe.Stored(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("no directory takes %d bytes", n)
	}
	if n := probe.WrittenAt(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("%d bytes were written to the device of no directory", n)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	before := probe.Loopback()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	if _, err := socket.WriteTo(make([]byte, 10_000), socket.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if n := probe.Loopback() - before; n < 10_000 {
		t.Errorf("10,000 bytes to ourselves are %d", n)
	}
}
