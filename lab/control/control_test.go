package control_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"wirelab/lab/control"
)

// What one side writes the other reads, line by line, until the end.
func TestLines(t *testing.T) {
	t.Parallel()
	var pipe bytes.Buffer
	for _, load := range []int{3, 1, 2} {
		if err := control.Write(&pipe, control.Order{Warm: &control.Warm{Load: load}}); err != nil {
			t.Fatal(err)
		}
	}
	orders := control.NewReader[control.Order](&pipe)
	for _, want := range []int{3, 1, 2} {
		order, err := orders.Read()
		if err != nil || order.Warm == nil || order.Warm.Load != want {
			t.Fatalf("order %+v, error %v, want load %d", order, err, want)
		}
	}
	if _, err := orders.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v, want EOF", err)
	}
}

// Sides that do not understand each other report an error, and guess nothing.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"no JSON", "hello\n"},
		{"another shape", `{"slice": 7}` + "\n"},
		{"a line without end", strings.Repeat("x", control.LineLimit+1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			order, err := control.NewReader[control.Order](strings.NewReader(c.text)).Read()
			if err == nil || errors.Is(err, io.EOF) {
				t.Errorf("read %+v with error %v, want one that tells of the line", order, err)
			}
		})
	}
	if err := control.Write(io.Discard, strings.Repeat("x", control.LineLimit)); err == nil {
		t.Error("a line that the other end refuses was written")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"usage":{}}` + "\n" + `{"dial":{"loads":[{"in_flight":1}]}}`))
	f.Add([]byte(`{"slice":{"recording":{"response":"AAAA"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		replies := control.NewReader[control.Reply](bytes.NewReader(data))
		for {
			if _, err := replies.Read(); err != nil {
				return
			}
		}
	})
}
