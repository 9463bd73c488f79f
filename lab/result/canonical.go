package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sort"
)

// canonical writes valid JSON in the one form that all layouts have in common:
// without white space, keys sorted, of equal keys the last, strings as
// [json.Encoder] writes them without escapes for HTML, numbers as they are. It
// makes no tree of the text: it holds the keys of the objects that it is in,
// and where long values end.
type canonical struct {
	text []byte
	long []extent // by start
	// members are those of the objects that it is in, the innermost last.
	members []member
	out     *bufio.Writer
	err     error // of a string; in valid JSON there is none
}

// extent is where an array or object is in the text.
type extent struct{ start, end int }

// short is how long, in bytes, arrays and objects are whose ends are looked
// for anew each time. None of them has many others within.
const short = 64

// writeCanonical writes text, which must be valid.
func writeCanonical(out *bufio.Writer, text []byte) error {
	c := canonical{text: text, out: out}
	c.index()
	c.value(c.space(0))
	c.byte('\n')
	return errors.Join(c.err, out.Flush())
}

// index finds in one pass where long arrays and objects end. Without it, a
// text would be read once for each level of its depth.
func (c *canonical) index() {
	var open []int // places in long
	for i := 0; i < len(c.text); i++ {
		switch c.text[i] {
		case '"':
			i = c.stringEnd(i) - 1
		case '{', '[':
			open = append(open, len(c.long))
			c.long = append(c.long, extent{start: i})
		case '}', ']':
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if c.long[last].end = i + 1; i+1-c.long[last].start <= short {
				c.long = c.long[:last] // what is within is shorter still, and gone
			}
		}
	}
}

// member is a member of an object: its key without quotes and escapes, and where its value begins.
type member struct {
	key   []byte
	value int
}

// value writes the value that begins at i and returns where it ends.
func (c *canonical) value(i int) int {
	switch c.text[i] {
	case '{':
		return c.object(i)
	case '[':
		return c.array(i)
	case '"':
		end := c.stringEnd(i)
		c.literal(c.text[i:end])
		return end
	}
	end := c.end(i)
	c.write(c.text[i:end])
	return end
}

func (c *canonical) array(i int) int {
	c.byte('[')
	for i = c.space(i + 1); c.text[i] != ']'; {
		if i = c.space(c.value(i)); c.text[i] == ',' {
			c.byte(',')
			i = c.space(i + 1)
		}
	}
	c.byte(']')
	return i + 1
}

func (c *canonical) object(i int) int {
	first := len(c.members)
	for i = c.space(i + 1); c.text[i] != '}'; {
		end := c.stringEnd(i)
		m := member{c.unquoted(c.text[i:end]), c.space(c.space(end) + 1)} // behind the colon
		c.members = append(c.members, m)
		if i = c.space(c.end(m.value)); c.text[i] == ',' {
			i = c.space(i + 1)
		}
	}
	slices.SortStableFunc(c.members[first:], func(a, b member) int { return bytes.Compare(a.key, b.key) })
	after := len(c.members)
	c.byte('{')
	some := false
	for n := first; n < after; n++ {
		m := c.members[n]
		if n+1 < after && bytes.Equal(c.members[n+1].key, m.key) {
			continue
		}
		if some {
			c.byte(',')
		}
		some = true
		c.quote(m.key)
		c.byte(':')
		c.value(m.value)
	}
	c.members = c.members[:first]
	c.byte('}')
	return i + 1
}

// end is where the value ends that begins at i.
func (c *canonical) end(i int) int {
	switch c.text[i] {
	case '"':
		return c.stringEnd(i)
	case '{', '[':
		at := sort.Search(len(c.long), func(n int) bool { return c.long[n].start >= i })
		if at < len(c.long) && c.long[at].start == i {
			return c.long[at].end
		}
		for depth := 0; ; i++ {
			switch c.text[i] {
			case '"':
				i = c.stringEnd(i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for ; i < len(c.text); i++ {
		switch c.text[i] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
	}
	return i
}

// stringEnd is where the string ends that begins at i.
func (c *canonical) stringEnd(i int) int {
	for i++; c.text[i] != '"'; i++ {
		if c.text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// space is where the white space ends that may begin at i.
func (c *canonical) space(i int) int {
	for i < len(c.text) && (c.text[i] == ' ' || c.text[i] == '\n' || c.text[i] == '\t' || c.text[i] == '\r') {
		i++
	}
	return i
}

// literal writes a string that stands in the text with its quotes.
func (c *canonical) literal(text []byte) {
	if plain(text) {
		c.write(text)
		return
	}
	c.quote(c.unquoted(text))
}

// quote writes a string as JSON.
func (c *canonical) quote(says []byte) {
	if plain(says) && !bytes.Contains(says, []byte{'"'}) {
		c.byte('"')
		c.write(says)
		c.byte('"')
		return
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(string(says)); err != nil {
		c.err = err
	}
	c.write(bytes.TrimSuffix(out.Bytes(), []byte{'\n'}))
}

func (c *canonical) write(text []byte) { _, _ = c.out.Write(text) } // Flush tells

func (c *canonical) byte(b byte) { _ = c.out.WriteByte(b) } // Flush tells

// plain reports whether a string is the same with and without escapes, but for quotes in it.
func plain(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b == '\\' || b >= 0x80 {
			return false
		}
	}
	return true
}

// unquoted is what a valid string says.
func (c *canonical) unquoted(text []byte) []byte {
	if plain(text) {
		return text[1 : len(text)-1]
	}
	var says string
	if err := json.Unmarshal(text, &says); err != nil {
		c.err = err
	}
	return []byte(says)
}
