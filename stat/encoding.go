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

	"github.com/HdrHistogram/hdrhistogram-go"
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
	significant  = 3
	compressedAt = 8 // cookie and length come before the compressed part

	packedCookie = 0x1c849304
	plainCookie  = 0x1c849303
	cookieSize   = 0xf0 // bits that say how long a number may be

	longestCount = 9 // bytes
)

// MarshalBinary encodes the counts in HdrHistogram's compressed V2 format,
// which its tools in other languages read.
func (h *Histogram) MarshalBinary() ([]byte, error) {
	text, err := h.encode()
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(string(text))
}

// encode returns the V2 format in base64, as HdrHistogram logs hold it.
func (h *Histogram) encode() ([]byte, error) {
	counts := make([]int64, bucketsLen)
	for i, n := range h.used() {
		counts[h.low+i] = int64(n)
	}
	text, err := hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  1,
		HighestTrackableValue: limit,
		SignificantFigures:    significant,
		Counts:                counts,
	}).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("stat: encode histogram: %w", err)
	}
	return text, nil
}

// UnmarshalBinary replaces the counts by encoded ones. It takes only what
// MarshalBinary's layout can hold without loss (1 ns, 1 h, 3 digits); another
// layout, or damage, is an error that wraps [ErrInput] and changes nothing.
// It never allocates more than about 1 MB, whatever the bytes say.
//
// The counts go straight to their place. The library's decoder, which tests
// hold this one against, makes three arrays of all buckets for each histogram;
// a result has hundreds, and reading it took ten times as long.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	payload, err := inflate(data)
	if err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	// Once to check and to see how far it goes, once to fill: a histogram that
	// grows as it is filled is copied for every doubling.
	last, total := -1, uint64(0)
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
			last, total = at, total+uint64(n)
		}
		at++
	}
	fresh := &Histogram{total: total}
	fresh.grow(last + 1)
	for at := 0; at <= last; at++ {
		n, size := zigzag(payload)
		payload = payload[size:]
		if n < 0 {
			at += int(-n) - 1
			continue
		}
		if n > 0 && fresh.high == 0 {
			fresh.low = at
		}
		if fresh.counts[at] = uint64(n); n > 0 {
			fresh.high = at + 1
		}
	}
	*h = *fresh
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
	inflated, err := zlib.NewReader(bytes.NewReader(data[compressedAt : compressedAt+length]))
	if err != nil {
		return nil, err
	}
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
		return nil, fmt.Errorf("layout of %d to %d with %d digits, want 1 to %d with %d", lowest, highest, digits, limit, significant)
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
	text, err := h.encode()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
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
