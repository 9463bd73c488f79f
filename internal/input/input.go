// Package input reads sources that a user names: files, devices, pipes and standard input. It limits the length
// while it reads, stops when its context ends, and returns text as UTF-8 for any Unicode encoding of the file. It
// does not know the meaning of the text.
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

	"wirelab/wire/status"
)

// File reads all of a text file, at most so many bytes, until ctx ends. The errors are those of the system, as
// [os.PathError], that of ctx, ResourceExhausted for more bytes, InvalidArgument for whatever is no text, and
// those of [UTF8].
func File(ctx context.Context, name string, most int64) ([]byte, error) {
	text, err := whole(ctx, name, most, true)
	if err != nil {
		return nil, err
	}
	return UTF8(text)
}

// Bytes is [File] of what need not be text: the bytes are as they are in the file.
func Bytes(ctx context.Context, name string, most int64) ([]byte, error) {
	return whole(ctx, name, most, false)
}

func whole(ctx context.Context, name string, most int64, isText bool) ([]byte, error) {
	file, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if file.size > most {
		return nil, beyond(most)
	}
	return all(ctx, file, file.size, most, isText)
}

// Reader is [File] of an open file. If it is a file of the system, such as standard input, ctx ends it while it
// waits; another reader must not wait for ever by itself.
func Reader(ctx context.Context, from io.Reader, most int64) ([]byte, error) {
	from, release, err := Ending(ctx, from)
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := all(ctx, from, 0, most, true)
	if err != nil {
		return nil, err
	}
	return UTF8(text)
}

// Opened is a file that is read a part at a time, for content that is too large to be held. Its reads end with
// the context that it was opened with, also while they wait.
type Opened struct {
	name    string
	fd      int
	size    int64
	ending  *ending
	release func()
}

// Open opens a file to be read. It does not wait for the writer of a FIFO; reading does. The errors are those of the
// system, as [os.PathError]; a folder is refused. Call Close afterwards.
func Open(ctx context.Context, name string) (*Opened, error) {
	o := &Opened{name: name}
	// Without O_NONBLOCK, to open a FIFO would wait for a writer, and nothing could end that.
	err := again(func() (err error) {
		o.fd, err = unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var info unix.Stat_t
	if err = unix.Fstat(o.fd, &info); err == nil {
		switch info.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			o.size = info.Size
		case unix.S_IFDIR:
			err = unix.EISDIR
		}
	}
	if err == nil {
		o.ending, o.release, err = endingOf(ctx, o.fd)
	}
	if err != nil {
		_ = unix.Close(o.fd) // nothing was read
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return o, nil
}

// Size is how many bytes the file has; 0 if that is not known.
func (o *Opened) Size() int64 { return o.size }

// Read implements [io.Reader]. Its errors are those of the system, as [os.PathError], and that of the context.
func (o *Opened) Read(into []byte) (int, error) {
	n, err := o.ending.Read(into)
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = &os.PathError{Op: "read", Path: o.name, Err: errno}
	}
	return n, err
}

// Rewind goes back to the beginning. A pipe cannot.
func (o *Opened) Rewind() error {
	if _, err := unix.Seek(o.fd, 0, io.SeekStart); err != nil {
		return &os.PathError{Op: "seek", Path: o.name, Err: err}
	}
	return nil
}

// Close closes the file, once no one reads.
func (o *Opened) Close() error {
	o.release()
	return unix.Close(o.fd)
}

// Ending is from as a reader that ends with ctx: if from is a file of the system, such as standard input, also while
// it waits. Call release when nothing reads any more; from stays open.
func Ending(ctx context.Context, from io.Reader) (_ io.Reader, release func(), err error) {
	file, ok := from.(*os.File)
	if !ok {
		return from, func() {}, nil
	}
	e, release, err := endingOf(ctx, int(file.Fd()))
	if err != nil {
		return nil, nil, err
	}
	return e, release, nil
}

// ending is a descriptor of the system whose reads end with a context.
type ending struct {
	waiting

	ctx context.Context //nolint:containedctx // it is the reader's whole life
}

func (e *ending) Read(into []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := e.waiting.Read(into)
	if errors.Is(err, context.Canceled) {
		err = e.ctx.Err()
	}
	return n, err
}

func endingOf(ctx context.Context, fd int) (e *ending, release func(), err error) {
	// A pipe of our own wakes the wait for the descriptor when ctx ends.
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = wake.Close() })
	return &ending{waiting{fd: fd, woken: int(woken.Fd())}, ctx}, func() {
		if stop() {
			_ = wake.Close()
		}
		_ = woken.Close()
	}, nil
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
		case errors.Is(err, unix.EAGAIN): // someone else was faster
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

// noText is the error of whatever is no text by its beginning, such as a device or a program: it need not be
// read further.
func noText(text []byte) error {
	text = text[:min(len(text), head)]
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) ||
		bytes.IndexByte(text, 0) < 0 {
		return nil
	}
	if _, err := UTF8(text); err != nil {
		return err
	}
	return status.Errorf(status.InvalidArgument, "it is not text")
}

// all reads to the end, at most so many bytes. size is how many there are likely to be; 0: not known.
func all(ctx context.Context, from io.Reader, size, most int64, isText bool) ([]byte, error) {
	text := make([]byte, 0, min(max(size, 4<<10), most)+1) // one more, in which the end is found
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)] // as it grows
		}
		n, err := from.Read(text[len(text):min(cap(text), len(text)+chunk)])
		first := isText && len(text) < head
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
	return status.Errorf(status.ResourceExhausted, "it has more than %d bytes, which is the most that is read", most)
}

// UTF8 returns a text in UTF-8 without a byte-order mark. UTF-16 is converted if a mark says so, as programs on
// Windows write it. Without a mark it is InvalidArgument, as UTF-32 is, since a guess could be wrong.
func UTF8(text []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(text, []byte("\ufeff")):
		return text[len("\ufeff"):], nil
	case bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(text, []byte{0, 0, 0xfe, 0xff}):
		return nil, status.Errorf(status.InvalidArgument, "it is in UTF-32; save it as UTF-8")
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		return ofUTF16(text[2:], 0)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return ofUTF16(text[2:], 1)
	case len(text) >= 2 && (text[0] == 0) != (text[1] == 0):
		return nil, status.Errorf(status.InvalidArgument,
			"it looks like UTF-16 without a byte-order mark; save it as UTF-8")
	}
	return text, nil
}

// ofUTF16 converts UTF-16; low is where in two bytes the low one is.
func ofUTF16(text []byte, low int) ([]byte, error) {
	if len(text)%2 != 0 {
		return nil, status.Errorf(status.InvalidArgument,
			"it is in UTF-16 and cut off in the middle of a character; save it as UTF-8")
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
