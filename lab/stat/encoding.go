package stat

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// maxEncoded bounds what is decoded. A full histogram has 33,792 counts of at
// most 9 bytes, and zlib adds next to nothing to what it cannot compress.
const maxEncoded = 400 << 10

// V2 puts these before the counts, once inflated: a cookie, the payload's
// length, an offset, then digits, lowest and highest value, and a ratio.
const (
	headerLen    = 40
	payloadAt    = 4
	digitsAt     = 12
	lowestAt     = 16
	highestAt    = 24
	ratioAt      = 32
	significant  = 3
	compressedAt = 8 // cookie and length come before the compressed part

	packedCookie = 0x1c849304
	plainCookie  = 0x1c849303
	cookieSize   = 0xf0 // bits that say how long a number may be
	widestWord   = 0x10 // which of them are set: as long as it takes

	longestCount = 9 // bytes
)

// deflaters are kept: a new one takes 800 kB, and a result has hundreds of histograms.
var deflaters = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlib.BestCompression)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	return w
}}

// inflaters are kept for the same reason: a new one takes 40 kB.
var inflaters sync.Pool

// MarshalBinary encodes the counts in HdrHistogram's compressed V2 format,
// which its tools in other languages read.
//
// The bytes are those of the library, which tests hold this against. The
// library's encoder makes two arrays of all buckets and a new deflater for each
// histogram, and writes each count on its own.
func (h *Histogram) MarshalBinary() ([]byte, error) {
	counts := h.packed()
	var header [headerLen]byte
	binary.BigEndian.PutUint32(header[:], plainCookie|widestWord)
	binary.BigEndian.PutUint32(header[payloadAt:], uint32(len(counts)))
	binary.BigEndian.PutUint32(header[digitsAt:], significant)
	binary.BigEndian.PutUint64(header[lowestAt:], 1)
	binary.BigEndian.PutUint64(header[highestAt:], uint64(limit))
	binary.BigEndian.PutUint64(header[ratioAt:], math.Float64bits(1))
	out := bytes.NewBuffer(make([]byte, compressedAt, compressedAt+len(counts)))
	w := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	for _, part := range [][]byte{header[:], counts} {
		if _, err := w.Write(part); err != nil {
			return nil, fmt.Errorf("stat: encode histogram: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("stat: encode histogram: %w", err)
	}
	data := out.Bytes()
	binary.BigEndian.PutUint32(data, packedCookie|widestWord)
	binary.BigEndian.PutUint32(data[4:], uint32(len(data)-compressedAt))
	return data, nil
}

// packed are the counts up to the last that is not 0, as V2 writes them: two or
// more zeros in a row are one negative number. A histogram of nothing has one count.
func (h *Histogram) packed() []byte {
	if h.Count() == 0 {
		return []byte{0}
	}
	data := make([]byte, 0, max(len(h.encoded), 64))
	next := 0
	for i, n := range h.each {
		zeros := i - next
		next = i + 1
		switch {
		case zeros == 1:
			data = append(data, 0)
		case zeros > 1:
			data = appendZigzag(data, -int64(zeros))
		}
		data = appendZigzag(data, int64(n))
	}
	return data
}

// appendZigzag appends a number as [zigzag] reads it.
func appendZigzag(data []byte, n int64) []byte {
	bits := uint64(n<<1) ^ uint64(n>>63)
	for range longestCount - 1 {
		if bits < 0x80 {
			return append(data, byte(bits))
		}
		data = append(data, byte(bits)|0x80)
		bits >>= 7
	}
	return append(data, byte(bits))
}

// UnmarshalBinary replaces the counts by encoded ones. It takes only what
// MarshalBinary's layout can hold without loss (1 ns, 1 h, 3 digits); another
// layout, or damage, is an error that wraps [ErrInput] and changes nothing.
// It never allocates more than about 1 MB, whatever the bytes say.
//
// The counts stay encoded until something is added: a large result has tens of
// thousands of histograms, and was gigabytes of mostly empty buckets. The library's
// decoder, which tests hold this one against, makes three arrays of all buckets.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	payload, err := inflate(data)
	if err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	first, last, total := bucketsLen, -1, uint64(0)
	for at, rest := 0, payload; len(rest) > 0; {
		n, size := zigzag(rest)
		rest = rest[size:]
		switch {
		case size == 0:
			return fmt.Errorf("%w: encoded histogram: a count is cut off", ErrInput)
		case n < 0 && n < int64(at-bucketsLen):
			return fmt.Errorf("%w: encoded histogram: %d empty buckets behind %d", ErrInput, -n, at)
		case n < 0:
			at += int(-n)
			continue
		case at > bucket(limit) && (n > 0 || at >= bucketsLen):
			return fmt.Errorf("%w: encoded histogram: a count beyond %v", ErrInput, Limit)
		case uint64(n) > math.MaxInt64-total:
			return fmt.Errorf("%w: encoded histogram: more counts than can be added", ErrInput)
		case n > 0:
			first, last, total = min(first, at), at, total+uint64(n)
		}
		at++
	}
	fresh := Histogram{total: total, low: first, high: last + 1}
	if total > 0 {
		fresh.encoded = bytes.Clone(payload) // of its own length, since it stays
	}
	*h = fresh
	return nil
}

// inflate checks the two headers and returns the counts. Nothing that a header
// declares is believed: it would allocate up to 100 MB.
func inflate(data []byte) ([]byte, error) {
	if len(data) < compressedAt || len(data) > maxEncoded {
		return nil, fmt.Errorf("%d bytes", len(data))
	}
	if cookie := binary.BigEndian.Uint32(data) &^ cookieSize; cookie != packedCookie {
		return nil, fmt.Errorf("begins with %#x", cookie)
	}
	length := binary.BigEndian.Uint32(data[4:])
	if uint64(length) > uint64(len(data)-compressedAt) {
		return nil, fmt.Errorf("%d compressed bytes, %d declared", len(data)-compressedAt, length)
	}
	compressed := bytes.NewReader(data[compressedAt : compressedAt+length])
	inflated, ok := inflaters.Get().(io.Reader)
	if ok {
		err := inflated.(zlib.Resetter).Reset(compressed, nil)
		if err != nil {
			return nil, err
		}
	} else {
		var err error
		if inflated, err = zlib.NewReader(compressed); err != nil {
			return nil, err
		}
	}
	defer inflaters.Put(inflated)
	var header [headerLen]byte
	if _, err := io.ReadFull(inflated, header[:]); err != nil {
		return nil, err
	}
	payload := binary.BigEndian.Uint32(header[payloadAt:])
	digits := binary.BigEndian.Uint32(header[digitsAt:])
	lowest := binary.BigEndian.Uint64(header[lowestAt:])
	highest := binary.BigEndian.Uint64(header[highestAt:])
	switch {
	case binary.BigEndian.Uint32(header[:])&^cookieSize != plainCookie:
		return nil, errors.New("another format inside")
	case digits != significant || lowest != 1 || highest != uint64(limit):
		return nil, fmt.Errorf("layout of %d to %d with %d digits, want 1 to %d with %d", lowest, highest, digits,
			limit, significant)
	case payload > bucketsLen*longestCount:
		return nil, fmt.Errorf("%d bytes of counts", payload)
	}
	// One byte more than declared: reaching the end checks zlib's sum.
	counts, err := io.ReadAll(io.LimitReader(inflated, int64(payload)+1))
	if err != nil {
		return nil, err
	}
	if len(counts) != int(payload) {
		return nil, fmt.Errorf("%d bytes of counts, %d declared", len(counts), payload)
	}
	return counts, nil
}

// zigzag reads a number of V2's own LEB128, whose ninth byte, the last, holds
// eight bits; size is 0 if it is cut off.
func zigzag(data []byte) (n int64, size int) {
	var bits uint64
	for i, b := range data[:min(len(data), longestCount)] {
		if i == longestCount-1 {
			bits, size = bits|uint64(b)<<(7*i), i+1
			break
		}
		bits |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			size = i + 1
			break
		}
	}
	return int64(bits>>1) ^ -int64(bits&1), size
}

// MarshalJSON encodes the histogram as a string: V2 in base64, as a log of
// HdrHistogram has it.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	data, err := h.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(data))
}

// UnmarshalJSON decodes what MarshalJSON wrote; its errors are those of
// [Histogram.UnmarshalBinary]. null leaves the histogram as it is.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var encoded *string
	if len(text) > 2*maxEncoded {
		return fmt.Errorf("%w: encoded histogram: %d characters", ErrInput, len(text))
	}
	if err := json.Unmarshal(text, &encoded); err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	if encoded == nil {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(*encoded)
	if err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	return h.UnmarshalBinary(data)
}
