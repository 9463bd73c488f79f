package input_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wirelab/internal/input"
	"wirelab/wire/status"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300_000)
	for _, text := range []string{"", "a", long} {
		read, err := input.File(t.Context(), file(t, text), int64(len(long)))
		if err != nil || string(read) != text {
			t.Errorf("%d bytes: %d, %v", len(text), len(read), err)
		}
		read, err = input.Reader(t.Context(), strings.NewReader(text), int64(len(long)))
		if err != nil || string(read) != text {
			t.Errorf("%d bytes of a reader: %d, %v", len(text), len(read), err)
		}
	}
	if _, err := input.File(t.Context(), filepath.Join(t.TempDir(), "absent"), 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := input.File(t.Context(), t.TempDir(), 10); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}

// What has no end, or hides how long it is, is read as far as the bound and no further.
func TestBound(t *testing.T) {
	t.Parallel()
	if _, err := input.File(t.Context(), file(t, "12345"), 4); status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("a file of 5 bytes where 4 are read: %v", err)
	}
	if _, err := input.File(t.Context(), "/dev/zero", 1<<62); status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("a device: %v", err)
	}
	endless := &counted{}
	if _, err := input.Reader(t.Context(), endless, 3<<20); status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("a reader without an end: %v", err)
	}
	if endless.n > 8<<20 {
		t.Errorf("%d bytes were read of %d", endless.n, 3<<20)
	}
}

type counted struct{ n int }

func (c *counted) Read(into []byte) (int, error) {
	c.n += len(into)
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}

// A read that waits ends with the context: of a FIFO that no one writes to, of one whose writer says nothing,
// and of standard input.
func TestEnds(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	silent, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = silent.Close(), writer.Close() }()
	for name, read := range map[string]func(context.Context) error{
		"a FIFO":      func(ctx context.Context) error { _, err := input.File(ctx, fifo, 10); return err },
		"a pipe":      func(ctx context.Context) error { _, err := input.Reader(ctx, silent, 10); return err },
		"without end": func(ctx context.Context) error { _, err := input.Reader(ctx, &counted{}, 1<<62); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- read(ctx) }()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A FIFO is read to its end, however late its writer comes.
func TestFIFO(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	written := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for who reads
		if err == nil {
			_, err = io.WriteString(w, strings.Repeat("x", 200_000))
			err = errors.Join(err, w.Close())
		}
		written <- err
	}()
	read, err := input.File(t.Context(), fifo, 1<<20)
	if err != nil || len(read) != 200_000 {
		t.Errorf("%d bytes, %v", len(read), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestUTF8(t *testing.T) {
	t.Parallel()
	const text = "name: é😀"
	little := []byte{0xff, 0xfe, 'n', 0, 0xe9, 0, 0x3d, 0xd8, 0x00, 0xde}
	big := []byte{0xfe, 0xff, 0, 'n', 0, 0xe9, 0xd8, 0x3d, 0xde, 0x00}
	for _, c := range []struct {
		given []byte
		want  string
		fails bool
	}{
		{[]byte(text), text, false},
		{[]byte("\ufeff" + text), text, false},
		{little, "né😀", false},
		{big, "né😀", false},
		{[]byte{0xff, 0xfe, 0x3d, 0xd8}, "\ufffd", false}, // half a pair
		{little[:5], "", true},
		{little[2:], "", true},
		{big[2:], "", true},
		{[]byte{0xff, 0xfe, 0, 0, 'n', 0, 0, 0}, "", true},
		{nil, "", false},
	} {
		got, err := input.UTF8(bytes.Clone(c.given))
		if string(got) != c.want || (err != nil) != c.fails {
			t.Errorf("% x: %q, %v", c.given, got, err)
		}
	}
}

// Content that need not be text comes unchanged, and no more of it than is allowed.
func TestBytes(t *testing.T) {
	t.Parallel()
	const secret = "\x00\xff\xfe\ufeff\x00"
	if got, err := input.Bytes(t.Context(), file(t, secret), 100); err != nil || string(got) != secret {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := input.Bytes(t.Context(), "/dev/zero", 3<<20); status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("a device: %v", err)
	}
}

// A file that is read a part at a time can be read again; a pipe cannot.
func TestOpened(t *testing.T) {
	t.Parallel()
	opened, err := input.Open(t.Context(), file(t, "text"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := io.ReadAll(opened); string(got) != "text" || err != nil || opened.Size() != 4 {
			t.Errorf("%q, %v, %d bytes", got, err, opened.Size())
		}
		if err := opened.Rewind(); err != nil {
			t.Error(err)
		}
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if _, err := input.Open(t.Context(), t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting, err := input.Open(ctx, fifo) // which no one writes to
	if err != nil {
		t.Fatal(err)
	}
	if err := waiting.Rewind(); !errors.Is(err, syscall.ESPIPE) {
		t.Errorf("a pipe: %v", err)
	}
	ended := make(chan error, 1)
	go func() { _, err := waiting.Read(make([]byte, 1)); ended <- err }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a read whose context ended: %v", err)
	}
	if err := waiting.Close(); err != nil {
		t.Error(err)
	}
}
