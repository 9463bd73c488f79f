package raw

import (
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// The limits of a header, in bytes.
const (
	headerMax = 16 << 10 // as it travels
	listMax   = 64 << 10 // written out: a table entry can be named many times
)

// block is a header block written out.
type block struct {
	fields []hpack.HeaderField
	reply  *replyHead // worked out once; nil where it has not been
	ask    *askHead   // the same of a request
}

func (b *block) get(name string) string {
	for i := range b.fields {
		if b.fields[i].Name == name {
			return b.fields[i].Value
		}
	}
	return ""
}

// headerReader decodes the header blocks of one connection in their order.
//
// A block that adds nothing to the dynamic table means the same each time
// until another does. Those are remembered by their bytes, so that the usual
// reply costs a lookup: a server's second reply names entries of its first.
type headerReader struct {
	decoder *hpack.Decoder
	fields  []hpack.HeaderField
	size    int
	seen    map[string]*block // Invariant: none of them changes the table
}

// The bounds of what a connection remembers.
const (
	seenBlocks = 512 // blocks
	seenBlock  = 256 // bytes of one
	seenList   = 2048
)

func newHeaderReader() *headerReader {
	r := &headerReader{seen: map[string]*block{}}
	r.decoder = hpack.NewDecoder(tableDefault, func(f hpack.HeaderField) {
		r.size += int(f.Size())
		if r.size <= listMax {
			r.fields = append(r.fields, f)
		}
	})
	r.decoder.SetMaxStringLength(headerMax)
	return r
}

func (r *headerReader) read(data []byte) (*block, error) {
	if b, ok := r.seen[string(data)]; ok {
		return b, nil
	}
	r.fields, r.size = nil, 0
	if _, err := r.decoder.Write(data); err != nil {
		return nil, breach(reasonCompression, "header block: %v", err)
	}
	if err := r.decoder.Close(); err != nil {
		return nil, breach(reasonCompression, "header block: %v", err)
	}
	if r.size > listMax {
		return nil, breach(reasonCalm, "header of more than %d bytes", listMax)
	}
	b := &block{fields: r.fields}
	r.fields = nil
	switch {
	case !passive(data):
		clear(r.seen)
	case len(data) <= seenBlock && r.size <= seenList && len(r.seen) < seenBlocks:
		r.seen[string(data)] = b
	}
	return b, nil
}

// passive reports whether a valid block leaves the dynamic table alone.
func passive(data []byte) bool {
	for len(data) > 0 {
		first := data[0]
		var rest []byte
		var ok bool
		switch {
		case first&0x80 != 0: // indexed
			_, rest, ok = readNumber(data, 7)
		case first&0x40 != 0, first&0x20 != 0: // into the table; a new size of it
			return false
		default: // a literal that stays out of it
			var name uint64
			if name, rest, ok = readNumber(data, 4); ok && name == 0 {
				rest, ok = skipText(rest)
			}
			if ok {
				rest, ok = skipText(rest)
			}
		}
		if !ok {
			return false
		}
		data = rest
	}
	return true
}

func skipText(data []byte) ([]byte, bool) {
	n, rest, ok := readNumber(data, 7)
	if !ok || n > uint64(len(rest)) {
		return nil, false
	}
	return rest[n:], true
}

// readNumber reads an HPACK integer with a prefix of bits (RFC 7541 §5.1).
func readNumber(data []byte, bits uint) (n uint64, rest []byte, ok bool) {
	if len(data) == 0 {
		return 0, nil, false
	}
	limit := uint64(1)<<bits - 1
	n, data = uint64(data[0])&limit, data[1:]
	if n < limit {
		return n, data, true
	}
	for shift := uint(0); shift < 32 && len(data) > 0; shift += 7 {
		b := data[0]
		n, data = n+uint64(b&0x7f)<<shift, data[1:]
		if b&0x80 == 0 {
			return n, data, true
		}
	}
	return 0, nil, false
}

func appendNumber(dst []byte, first byte, bits uint, n uint64) []byte {
	limit := uint64(1)<<bits - 1
	if n < limit {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(limit))
	for n -= limit; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

func appendText(dst []byte, s string) []byte {
	if n := hpack.HuffmanEncodeLength(s); n < uint64(len(s)) {
		return hpack.AppendHuffmanString(appendNumber(dst, 0x80, 7, n), s)
	}
	return append(appendNumber(dst, 0, 7, uint64(len(s))), s...)
}

// field is a name in lower case and a value.
type field struct{ name, value string }

// static is what of the static table (RFC 7541, appendix A) requests and
// replies here use. The last column says whether the value is in it too.
var static = map[field]uint64{ // read only
	{":authority", ""}: 1, {":method", "GET"}: 2, {":method", "POST"}: 3, {":path", "/"}: 4,
	{":scheme", "http"}: 6, {":scheme", "https"}: 7,
	{":status", "200"}: 8, {":status", "204"}: 9, {":status", "206"}: 10, {":status", "304"}: 11,
	{":status", "400"}: 12, {":status", "404"}: 13, {":status", "500"}: 14,
	{"accept", ""}: 19, {"content-encoding", ""}: 26, {"content-length", ""}: 28, {"content-type", ""}: 31,
	{"date", ""}: 33, {"server", ""}: 54, {"user-agent", ""}: 58,
}

// staticNames are the entries that stand for a name with another value.
var staticNames = map[string]uint64{ // read only
	":authority": 1, ":method": 2, ":path": 4, ":scheme": 6, ":status": 8,
	"accept": 19, "content-encoding": 26, "content-length": 28, "content-type": 31,
	"date": 33, "server": 54, "user-agent": 58,
}

// appendLiteral appends a field that stays out of the dynamic table.
func appendLiteral(dst []byte, f field) []byte {
	if i, ok := static[f]; ok && f.value != "" {
		return appendNumber(dst, 0x80, 7, i)
	}
	return appendNamed(dst, 0, 4, f)
}

// appendNamed appends a literal field in the form that first and bits say.
func appendNamed(dst []byte, first byte, bits uint, f field) []byte {
	if i, ok := staticNames[f.name]; ok {
		return appendText(appendNumber(dst, first, bits, i), f.value)
	}
	return appendText(appendText(append(dst, first), f.name), f.value)
}

// appendLength appends content-length, the one field that differs from message
// to message, outside the dynamic table.
func appendLength(dst []byte, n int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], int64(n), 10)
	dst = append(dst, 0x0f, 28-15, byte(len(text)))
	return append(dst, text...)
}

// headerWriter encodes the header blocks of one connection. It never evicts
// from the peer's dynamic table: what does not fit stays a literal, since the
// fields here are few and always the same.
type headerWriter struct {
	limit   uint32 // of the peer's table, in bytes
	used    uint32
	entries []field
	shrunk  bool // the next block must tell the table's new size
	edition int  // counts the changes of the table: an older block is void
}

func newHeaderWriter() *headerWriter { return &headerWriter{limit: tableDefault} }

// resize obeys the peer's limit. A larger one than the default is not used.
func (w *headerWriter) resize(limit uint32) {
	limit = min(limit, tableDefault)
	if limit == w.limit {
		return
	}
	w.limit, w.used, w.entries, w.shrunk = limit, 0, nil, true
	w.edition++
}

// begin appends what a block must start with.
func (w *headerWriter) begin(dst []byte) []byte {
	if w.shrunk { // empty the table, then its new size
		w.shrunk = false
		dst = appendNumber(append(dst, 0x20), 0x20, 5, uint64(w.limit))
		w.edition++
	}
	return dst
}

// append appends a field, by its entry in the table or making one.
func (w *headerWriter) append(dst []byte, f field) []byte {
	if i, ok := static[f]; ok && f.value != "" {
		return appendNumber(dst, 0x80, 7, i)
	}
	for i, e := range w.entries {
		if e == f {
			return appendNumber(dst, 0x80, 7, uint64(62+len(w.entries)-1-i))
		}
	}
	size := uint32(len(f.name)+len(f.value)) + 32
	if size > w.limit-w.used {
		return appendLiteral(dst, f)
	}
	w.used += size
	w.entries = append(w.entries, f)
	w.edition++
	return appendNamed(dst, 0x40, 6, f)
}
