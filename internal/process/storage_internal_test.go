package process

import "testing"

// Data that was dropped before it reached storage does not count as written.
func TestStorageOf(t *testing.T) {
	t.Parallel()
	read, written := storageOf([]byte("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: " +
		"8192\ncancelled_write_bytes: 4096\n"))
	if read != 4096 || written != 4096 {
		t.Errorf("read %d and written %d, want 4096 each", read, written)
	}
	if _, written := storageOf([]byte("write_bytes: 1\ncancelled_write_bytes: 2\n")); written != 0 {
		t.Errorf("written %d where more was dropped, want 0", written)
	}
}
