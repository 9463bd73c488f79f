package raw

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// What the writer encodes the library decodes, whatever the table's size and
// however often it changes.
func TestHeaderWriter(t *testing.T) {
	t.Parallel()
	for _, size := range []uint32{0, 40, 100, 4096} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			d := hpack.NewDecoder(4096, nil)
			w := newHeaderWriter()
			w.resize(size)
			for round := range 20 {
				if round == 10 {
					w.resize(size / 2)
				}
				fields := []field{
					{":status", "200"},
					{":status", "404"},
					{"content-type", "a/b"},
					{"x-one", "1"},
					{"te", ""},
					{"x-" + fmt.Sprint(round), strings.Repeat("v", 150)},
				}
				block := w.begin(nil)
				for _, f := range fields {
					block = w.append(block, f)
				}
				block = appendLiteral(appendLength(block, 123456), field{"x-literal", "\x00\xff"})
				got, err := d.DecodeFull(block)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				fields = append(fields, field{"content-length", "123456"}, field{"x-literal", "\x00\xff"})
				for i, f := range got {
					if len(got) != len(fields) || f.Name != fields[i].name || f.Value != fields[i].value {
						t.Fatalf("round %d: %v, want %v", round, got, fields)
					}
				}
			}
		})
	}
}

// The reader's memory never shows what the table no longer says.
func TestHeaderReaderForgets(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	e := hpack.NewEncoder(&text)
	e.SetMaxDynamicTableSizeLimit(200) // a few entries, so that they are pushed out all the time
	r := newHeaderReader()
	for i := range 2000 {
		text.Reset()
		want := hpack.HeaderField{Name: "x", Value: fmt.Sprint(i % 7 * (i % 3)), Sensitive: i%5 == 0}
		if err := e.WriteField(want); err != nil {
			t.Fatal(err)
		}
		b, err := r.read(text.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.fields) != 1 || b.fields[0].Value != want.Value {
			t.Fatalf("block %d is read as %v, want %v", i, b.fields, want)
		}
	}
}
