package process_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"wirelab/internal/process"
)

// numbered is an order and a reply of these tests.
type numbered struct {
	Load  int    `json:"load"`
	Error string `json:"error,omitempty"`
}

// What one end writes the other reads, line by line, until the end.
func TestReader(t *testing.T) {
	t.Parallel()
	var pipe bytes.Buffer
	for _, load := range []int{3, 1, 2} {
		if err := process.WriteLine(&pipe, numbered{Load: load}); err != nil {
			t.Fatal(err)
		}
	}
	orders := process.NewReader[numbered](&pipe)
	for _, want := range []int{3, 1, 2} {
		order, err := orders.Read()
		if err != nil || order.Load != want {
			t.Fatalf("order %+v, error %v, want load %d", order, err, want)
		}
	}
	if _, err := orders.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v, want EOF", err)
	}
}

// Ends that do not understand each other say so: nothing is guessed.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"no JSON", "hello\n"},
		{"another shape", `{"load": "seven"}` + "\n"},
		{"a line without end", strings.Repeat("x", process.LineLimit+1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			order, err := process.NewReader[numbered](strings.NewReader(c.text)).Read()
			if err == nil || errors.Is(err, io.EOF) {
				t.Errorf("read %+v with error %v, want one that tells of the line", order, err)
			}
		})
	}
	if err := process.WriteLine(io.Discard, strings.Repeat("x", process.LineLimit)); err == nil {
		t.Error("a line that the other end refuses was written")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"load":1}` + "\n" + `{"load":2}`))
	f.Add([]byte(`{"load":{"response":"AAAA"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		replies := process.NewReader[numbered](bytes.NewReader(data))
		for {
			if _, err := replies.Read(); err != nil {
				return
			}
		}
	})
}
