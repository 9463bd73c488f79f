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

// maxEncoded bounds the encoded form, in bytes. A full histogram has 33,792 counts of at most 9 bytes, and zlib adds
// almost nothing to data that it cannot compress.
const maxEncoded = 400 << 10

// After decompression, V2 has these fields before the counts: a cookie, the payload's length, an offset, then digits,
// lowest and highest value, and a ratio.
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
	cookieSize   = 0xf0 // the bits that give the maximum length of a number
	widestWord   = 0x10 // the value of these bits for numbers of variable length

	longestCount = 9 // bytes
)

// deflaters are reused: a new one needs 800 kB, and a result has hundreds of histograms.
var deflaters = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlib.BestCompression)
	if err != nil {
		panic(err) // the level is a constant of package zlib
	}
	return w
}}

// inflaters are reused for the same reason: a new one needs 40 kB.
var inflaters sync.Pool

// MarshalBinary encodes the counts in HdrHistogram's compressed V2 format, which its tools in other languages read.
//
// The bytes are the same as those of the HdrHistogram library; tests check this. The library's encoder allocates two
// arrays of all buckets and a new deflater for each histogram, and writes each count separately.
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

// packed returns the counts up to the last one that is not 0, in V2's form: two or more zeros in a row are one
// negative number. An empty histogram has one count.
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

// appendZigzag appends a number in the form that [zigzag] reads.
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

// UnmarshalBinary replaces the counts by encoded ones. It accepts only what MarshalBinary's layout can hold without
// loss (1 ns, 1 h, 3 digits). Another layout, or damaged data, is an error that wraps [ErrInput] and changes nothing.
// It never allocates more than about 1 MB, whatever the bytes say.
//
// The counts stay encoded until something is added. A large result has tens of thousands of histograms, which would
// take gigabytes of mostly empty buckets. The library's decoder, which tests compare with this one, allocates three
// arrays of all buckets.
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
		fresh.encoded = bytes.Clone(payload) // a copy of exact length, since it is kept
	}
	*h = fresh
	return nil
}

// inflate checks the two headers and returns the counts. It does not trust the lengths in a header, which could
// request allocations of 100 MB.
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
	// One byte more than declared is read, because only reaching the end checks zlib's checksum.
	counts, err := io.ReadAll(io.LimitReader(inflated, int64(payload)+1))
	if err != nil {
		return nil, err
	}
	if len(counts) != int(payload) {
		return nil, fmt.Errorf("%d bytes of counts, %d declared", len(counts), payload)
	}
	return counts, nil
}

// zigzag reads a number in V2's variant of LEB128, in which the ninth and last byte has eight bits. size is 0 if the
// number is cut off.
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

// MarshalJSON encodes the histogram as a string: V2 in base64, as in a log of HdrHistogram.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	data, err := h.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(data))
}

// UnmarshalJSON decodes the output of MarshalJSON. Its errors are those of [Histogram.UnmarshalBinary]. null leaves
// the histogram unchanged.
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
