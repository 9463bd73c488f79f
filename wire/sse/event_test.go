package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"wirelab/wire/httprpc"
)

// readAll reads events as "name|data|id", and what ended them.
func readAll(from io.Reader) (all []string, retry time.Duration, err error) {
	r := NewReader(from)
	for {
		e, err := r.Next()
		if err != nil {
			return all, r.Retry(), err
		}
		all = append(all, e.Name+"|"+string(e.Data)+"|"+e.ID)
	}
}

// TestReader reads what the standard says of each stream, however it arrives.
func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 100_000)
	for _, c := range []struct {
		why, stream string
		want        []string
	}{
		{"one event", "data: a\n\n", []string{"|a|"}},
		{"lines of data are joined by LF", "data: a\ndata: b\ndata:\ndata:  c\n\n", []string{"|a\nb\n\n c|"}},
		{"the space after the colon may be missing", "data:a\n\n", []string{"|a|"}},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"x|a|", "|b|"}},
		{"CR alone", "event: x\rdata: a\r\rdata: b\r\r", []string{"x|a|", "|b|"}},
		{"all three at once", "data: a\r\ndata: b\rdata: c\n\r\n", []string{"|a\nb\nc|"}},
		{"a byte order mark", "\uFEFFdata: a\n\n", []string{"|a|"}},
		{"but only at the start", "data: a\n\n\uFEFFdata: b\n\n", []string{"|a|"}},
		{"comments", ": hello\n:\ndata: a\n:x\n\n", []string{"|a|"}},
		{"a field without a colon", "data\n\ndata\ndata\n\n", []string{"||", "|\n|"}},
		{"unknown fields", "foo: x\nDATA: x\ndata : x\ndata: a\n\n", []string{"|a|"}},
		{"no data, no event, and the name is forgotten", "event: x\n\ndata: a\n\n", []string{"|a|"}},
		{"ids stay", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []string{"|a|1", "|b|1", "|c|"}},
		{"an id with NUL is none", "id: 1\nid: \x00\ndata: a\n\n", []string{"|a|1"}},
		{"the last name counts", "event: x\nevent: y\ndata: a\n\n", []string{"y|a|"}},
		{"an event without its blank line is dropped", "data: a\n\ndata: b\n", []string{"|a|"}},
		{"a line longer than any buffer", "data: " + long + "\n\n", []string{"|" + long + "|"}},
		{"nothing", "", nil},
	} {
		for how, from := range map[string]io.Reader{
			"whole":            strings.NewReader(c.stream),
			"byte by byte":     iotest.OneByteReader(strings.NewReader(c.stream)),
			"with a late end":  iotest.DataErrReader(strings.NewReader(c.stream)),
			"by halves":        iotest.HalfReader(strings.NewReader(c.stream)),
			"with empty reads": &hesitant{from: strings.NewReader(c.stream)},
		} {
			got, _, err := readAll(from)
			if !errors.Is(err, io.EOF) || !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: %.200q, %v; want %.200q", c.why, how, got, err, c.want)
			}
		}
	}
	_, retry, _ := readAll(strings.NewReader("retry: 1500\nretry: +1\nretry: 1s\nretry:\n"))
	if retry != 1500*time.Millisecond {
		t.Errorf("retry is %v", retry)
	}
}

// hesitant returns nothing at every other read.
type hesitant struct {
	from  io.Reader
	pause bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.pause = !h.pause; h.pause {
		return 0, nil
	}
	return h.from.Read(p)
}

// TestReaderDoesNotWait reads an event whose blank line ends with CR before
// anything follows.
func TestReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, "data: a\r\n\r")
	e, err := NewReader(in).Next()
	if err != nil || string(e.Data) != "a" {
		t.Errorf("%q, %v", e.Data, err)
	}
}

// TestReaderLimits feeds events that never end.
func TestReaderLimits(t *testing.T) {
	t.Parallel()
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	for why, stream := range map[string]string{
		"one line":   strings.Repeat("x", httprpc.MessageLimit+1),
		"many lines": strings.Repeat(line, httprpc.MessageLimit>>20+1),
	} {
		if _, _, err := readAll(strings.NewReader(stream)); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if _, _, err := readAll(strings.NewReader("data: \xff\n\n")); !errors.Is(err, ErrNotUTF8) {
		t.Errorf("not UTF-8: %v", err)
	}
	broken := errors.New("broken")
	if _, _, err := readAll(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(broken))); !errors.Is(err,
		broken) {
		t.Errorf("a broken transport: %v", err)
	}
}

// FuzzReader feeds the reader anything: it must end, and read the same
// however the bytes arrive.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: a\rdata\n\r\n", "\uFEFFid: 1\nretry: 5\n:c\ndata:b\n\n", "\r\n\r",
		"data: \xff\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, retry, err := readAll(bytes.NewReader(data))
		slow, retrySlow, errSlow := readAll(iotest.OneByteReader(bytes.NewReader(data)))
		if !slices.Equal(whole, slow) || retry != retrySlow || !errors.Is(errSlow, err) {
			t.Fatalf("whole: %q, %v; byte by byte: %q, %v", whole, err, slow, errSlow)
		}
	})
}

// FuzzAppendEvent writes any data and reads it back.
func FuzzAppendEvent(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "a\r\nb\rc\n", "\n\n", ": x", "data: y\n\n", "\uFEFF"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		data = strings.ToValidUTF8(data, "?")
		stream := AppendEvent(AppendEvent(nil, "x", "1", []byte(data)), "", "", []byte("next"))
		want := strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
		got, _, err := readAll(bytes.NewReader(stream))
		if !errors.Is(err, io.EOF) || !slices.Equal(got, []string{"x|" + want + "|1", "|next|1"}) {
			t.Fatalf("%q is written %q and read %q, %v", data, stream, got, err)
		}
	})
}
