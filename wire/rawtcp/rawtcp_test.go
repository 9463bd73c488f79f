package rawtcp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"wirelab/wire/exchange"
)

func frame(payload string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))) + payload
}

func TestReceive(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 200_000)
	cases := []struct {
		why, in string
		want    []string
		then    error
	}{
		{"messages of any size", frame("") + frame("a") + frame(long), []string{"", "a", long}, io.EOF},
		{"an end within a length", frame("a") + "\x00\x00", []string{"a"}, io.ErrUnexpectedEOF},
		{"an end within a message", "\x00\x00\x00\x03ab", nil, io.ErrUnexpectedEOF},
		{"an end before a message", "\x00\x00\x00\x03", nil, io.ErrUnexpectedEOF},
		{
			"a length above the limit", string(binary.BigEndian.AppendUint32(nil, exchange.MessageLimit+1)), nil,
			exchange.ErrTooLarge,
		},
		{"the largest length", "\xff\xff\xff\xff", nil, exchange.ErrTooLarge},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			in := bufio.NewReader(strings.NewReader(k.in))
			var buffer []byte
			for _, want := range k.want {
				got, err := receive(in, buffer[:0])
				if err != nil || string(got) != want {
					t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
				}
				buffer = got
			}
			if _, err := receive(in, buffer[:0]); !errors.Is(err, k.then) {
				t.Errorf("then %v, want %v", err, k.then)
			}
		})
	}
}

// A length alone costs nothing: what it announces is made room for as it comes.
func TestAnnouncedIsNotAllocated(t *testing.T) {
	t.Parallel()
	head := binary.BigEndian.AppendUint32(nil, exchange.MessageLimit)
	bytesEach := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, _ = receive(bufio.NewReaderSize(bytes.NewReader(head), 16), nil)
		}
	}).AllocedBytesPerOp()
	if bytesEach > 4*step {
		t.Errorf("%d bytes for a length of %d that nothing follows", bytesEach, exchange.MessageLimit)
	}
}

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{"", frame(""), frame("abc") + frame("d"), "\x00\x00\x00\x09abc", "\xff\xff\xff\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(data), 16)
		var again []byte
		for {
			got, err := receive(in, nil)
			if err != nil {
				break
			}
			again = append(again, frame(string(got))...)
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("%q reads as %q", data, again)
		}
	})
}
