// Package input reads what a user names: files, devices, pipes and standard input. It bounds what it reads while it
// reads, ends as soon as it is told to, and returns UTF-8 whichever Unicode a file is in. What the text means it does
// not know.
package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"wirelab"
)

// File reads all of a file, at most so many bytes, until ctx ends. The errors are those of the system, as
// [os.PathError], that of ctx, ResourceExhausted for more bytes, InvalidArgument for what is no text, and those of [UTF8].
func File(ctx context.Context, name string, most int64) ([]byte, error) {
	// Without O_NONBLOCK, to open a FIFO would wait for a writer, and nothing could end that.
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // it was only read
	size := int64(0)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err == nil && info.Mode&unix.S_IFMT == unix.S_IFREG {
		size = info.Size
	}
	if size > most {
		return nil, beyond(most)
	}
	text, err := descriptor(ctx, fd, size, most)
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = &os.PathError{Op: "read", Path: name, Err: errno}
	}
	if err != nil {
		return nil, err
	}
	return UTF8(text)
}

// Reader is [File] of what is open already. If it is a file of the system, such as standard input, ctx ends it while
// it waits; another reader must not wait for ever by itself.
func Reader(ctx context.Context, from io.Reader, most int64) (text []byte, err error) {
	if file, ok := from.(*os.File); ok {
		text, err = descriptor(ctx, int(file.Fd()), 0, most)
	} else {
		text, err = all(ctx, from, 0, most)
	}
	if err != nil {
		return nil, err
	}
	return UTF8(text)
}

// descriptor reads a descriptor of the system to its end.
func descriptor(ctx context.Context, fd int, size, most int64) ([]byte, error) {
	// A pipe of our own wakes the wait for the descriptor when ctx ends.
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = woken.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = wake.Close() })
	defer func() {
		if stop() {
			_ = wake.Close()
		}
	}()
	return all(ctx, &waiting{fd: fd, woken: int(woken.Fd())}, size, most)
}

// waiting reads a descriptor when there is something to read.
type waiting struct{ fd, woken int }

func (w *waiting) Read(into []byte) (n int, err error) {
	for {
		ready := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.woken), Events: unix.POLLIN}}
		if err := again(func() error { _, err := unix.Poll(ready, -1); return err }); err != nil {
			return 0, err
		}
		if ready[1].Revents != 0 {
			return 0, context.Canceled // who reads asks the context itself
		}
		if ready[0].Revents == 0 {
			continue
		}
		err = again(func() error { n, err = unix.Read(w.fd, into); return err })
		switch {
		case errors.Is(err, unix.EAGAIN): // somebody else was faster
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// again does what a signal may interrupt until none does.
func again(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// chunk is how much is read at once, and so how often ctx is asked.
const chunk = 1 << 20

// head is how much of an input tells that it is no text.
const head = 4 << 10

// noText is the error of what is no text by its beginning, such as a device or a program: it need not be read further.
func noText(text []byte) error {
	text = text[:min(len(text), head)]
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) || bytes.IndexByte(text, 0) < 0 {
		return nil
	}
	if _, err := UTF8(text); err != nil {
		return err
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "it is not text")
}

// all reads to the end, at most so many bytes. size is how many there are likely to be; 0: not known.
func all(ctx context.Context, from io.Reader, size, most int64) ([]byte, error) {
	text := make([]byte, 0, min(max(size, 4<<10), most)+1) // one more, in which the end is found
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)] // as it grows
		}
		n, err := from.Read(text[len(text):min(cap(text), len(text)+chunk)])
		first := len(text) < head
		text = text[:len(text)+n]
		if first {
			if err := noText(text); err != nil {
				return nil, err
			}
		}
		switch {
		case int64(len(text)) > most:
			return nil, beyond(most)
		case errors.Is(err, io.EOF):
			return text, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
	}
}

func beyond(most int64) error {
	return wirelab.Errorf(wirelab.ResourceExhausted, "it has more than %d bytes, which is the most that is read", most)
}

// UTF8 returns a text in UTF-8 without a byte-order mark. UTF-16 is converted if a mark tells of it, as programs on
// Windows write it. Without a mark it is InvalidArgument, as UTF-32 is, since a guess could be wrong.
func UTF8(text []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(text, []byte("\ufeff")):
		return text[len("\ufeff"):], nil
	case bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(text, []byte{0, 0, 0xfe, 0xff}):
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "it is in UTF-32; save it as UTF-8")
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		return ofUTF16(text[2:], 0)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return ofUTF16(text[2:], 1)
	case len(text) >= 2 && (text[0] == 0) != (text[1] == 0):
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "it looks like UTF-16 without a byte-order mark; save it as UTF-8")
	}
	return text, nil
}

// ofUTF16 converts UTF-16; low is where in two bytes the low one is.
func ofUTF16(text []byte, low int) ([]byte, error) {
	if len(text)%2 != 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "it is in UTF-16 and cut off in the middle of a character; save it as UTF-8")
	}
	plain := make([]byte, 0, len(text)/2)
	unit := func(i int) rune { return rune(text[i+low]) | rune(text[i+1-low])<<8 }
	for i := 0; i < len(text); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) && i+2 < len(text) {
			if pair := utf16.DecodeRune(r, unit(i+2)); pair != utf8.RuneError {
				r, i = pair, i+2
			}
		}
		plain = utf8.AppendRune(plain, r) // half a pair becomes U+FFFD
	}
	return plain, nil
}
