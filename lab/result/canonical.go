package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sort"
)

// canonical writes valid JSON in one canonical form: without white space, with sorted keys, with the last of equal
// keys, with strings as [json.Encoder] writes them without HTML escapes, and with numbers unchanged. It builds no
// tree of the text. It only keeps the keys of the objects that it is in, and where long values end.
type canonical struct {
	text []byte
	long []extent // by start
	// members are those of the objects that are being written, the innermost last.
	members []member
	out     *bufio.Writer
	err     error // from a string; valid JSON causes none
}

// extent is the position of an array or object in the text.
type extent struct{ start, end int }

// short is the length in bytes up to which the end of an array or object is searched for each time. Such values
// contain few others.
const short = 64

// writeCanonical writes text, which must be valid JSON.
func writeCanonical(out *bufio.Writer, text []byte) error {
	c := canonical{text: text, out: out}
	c.index()
	c.value(c.space(0))
	c.byte('\n')
	return errors.Join(c.err, out.Flush())
}

// index finds the ends of long arrays and objects in one pass. Without it, a text would be read once for each level
// of nesting.
func (c *canonical) index() { // indices in long
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
				c.long = c.long[:last] // everything inside is shorter, and was dropped already
			}
		}
	}
}

// member is a member of an object: its key, without quotes and escapes, and where its value begins.
type member struct {
	key   []byte
	value int
}

// value writes the value that begins at i, and returns where it ends.
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
		m := member{c.unquoted(c.text[i:end]), c.space(c.space(end) + 1)} // after the colon
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

// end is where the value that begins at i ends.
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

// stringEnd is where the string that begins at i ends.
func (c *canonical) stringEnd(i int) int {
	for i++; c.text[i] != '"'; i++ {
		if c.text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// space is where the white space at i ends; i if there is none.
func (c *canonical) space(i int) int {
	for i < len(c.text) && (c.text[i] == ' ' || c.text[i] == '\n' || c.text[i] == '\t' || c.text[i] == '\r') {
		i++
	}
	return i
}

// literal writes a string from the text, including its quotes.
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

func (c *canonical) write(text []byte) { _, _ = c.out.Write(text) } // Flush reports errors

func (c *canonical) byte(b byte) { _ = c.out.WriteByte(b) } // Flush reports errors

// plain reports whether a string is the same with and without escapes, except for quotes in it.
func plain(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b == '\\' || b >= 0x80 {
			return false
		}
	}
	return true
}

// unquoted is the value of a valid string.
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
