package stat

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxEncoded bounds what is decoded. A full histogram has 33,792 counts of at
// most 9 bytes, and zlib adds next to nothing to what it cannot compress.
const maxEncoded = 400 << 10

// V2 puts these before the counts, once inflated: a cookie, the payload's
// length, an offset, then digits, lowest and highest value, and a ratio.
const (
	headerLen    = 40
	digitsAt     = 12
	lowestAt     = 16
	highestAt    = 24
	significant  = 3
	compressedAt = 8 // cookie and length come before the compressed part
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
func (h *Histogram) UnmarshalBinary(data []byte) error {
	if err := checkLayout(data); err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	decoded, err := hdrhistogram.Decode([]byte(base64.StdEncoding.EncodeToString(data)))
	if err != nil {
		return fmt.Errorf("%w: encoded histogram: %w", ErrInput, err)
	}
	fresh := &Histogram{}
	for i, n := range decoded.Export().Counts {
		if n == 0 {
			continue
		}
		if i > bucket(limit) {
			return fmt.Errorf("%w: encoded histogram: a count beyond %v", ErrInput, Limit)
		}
		lowest, _ := bounds(i)
		fresh.RecordN(lowest, uint64(n))
	}
	*h = *fresh
	return nil
}

// checkLayout reads the header alone. The library would believe it and
// allocate what it declares, up to 100 MB.
func checkLayout(data []byte) error {
	if len(data) < compressedAt || len(data) > maxEncoded {
		return fmt.Errorf("%d bytes", len(data))
	}
	inflated, err := zlib.NewReader(bytes.NewReader(data[compressedAt:]))
	if err != nil {
		return err
	}
	var header [headerLen]byte
	if _, err := io.ReadFull(inflated, header[:]); err != nil {
		return err
	}
	digits := binary.BigEndian.Uint32(header[digitsAt:])
	lowest := binary.BigEndian.Uint64(header[lowestAt:])
	highest := binary.BigEndian.Uint64(header[highestAt:])
	if digits != significant || lowest != 1 || highest != uint64(limit) {
		return fmt.Errorf("layout of %d to %d with %d digits, want 1 to %d with %d",
			lowest, highest, digits, limit, significant)
	}
	return nil
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
