package stat_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"wirelab/lab/stat"
)

func TestEncodingLosesNothing(t *testing.T) {
	t.Parallel()
	full := stat.NewHistogram()
	for v := int64(1); v < int64(stat.Limit); v += v/1024 + 1 {
		full.RecordN(v, uint64(v))
	}
	for name, h := range map[string]*stat.Histogram{
		"empty":   stat.NewHistogram(),
		"one":     histogramOf([]int64{1}),
		"zero":    histogramOf([]int64{0, 0}),
		"clipped": histogramOf([]int64{int64(2 * time.Hour), 5}),
		"drawn":   histogramOf(draws(rand.New(rand.NewPCG(3, 3)), 5000)),
		"full":    full,
	} {
		data, err := h.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back stat.Histogram
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(back.Buckets(), h.Buckets()) || back.Count() != h.Count() || back.Clipped() != h.Clipped() {
			t.Errorf("%s: came back different", name)
		}
		text, err := json.Marshal(map[string]*stat.Histogram{"H": h, "None": nil})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var parsed map[string]*stat.Histogram
		if err := json.Unmarshal(text, &parsed); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(parsed["H"].Buckets(), h.Buckets()) || parsed["None"] != nil {
			t.Errorf("%s: came back from JSON different", name)
		}
		parsed["H"].Record(1) // and can be recorded into
	}
}

// Each byte equals that of the library that other tools write with.
func TestEncodingIsTheLibrarys(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	for i := range 60 {
		h, reference := stat.NewHistogram(), hdrhistogram.New(1, int64(stat.Limit), 3)
		for range i { // none, then more and more, near to each other and far apart
			v, n := 1+random.Int64N(1<<random.IntN(41)), 1+random.Int64N(1<<random.IntN(50))
			h.RecordN(v, uint64(n))
			if err := reference.RecordValues(v, n); err != nil {
				t.Fatal(err)
			}
		}
		got, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		text, err := reference.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := base64.StdEncoding.DecodeString(string(text)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d values: %x, and the library writes %x (%v)", i, got, want, err)
		}
	}
}

// The library that other tools use reads the encoding, and what that library writes is read.
func TestOtherToolsReadTheEncoding(t *testing.T) {
	t.Parallel()
	values := draws(rand.New(rand.NewPCG(4, 4)), 3000)
	h, reference := histogramOf(values), hdrhistogram.New(1, int64(stat.Limit), 3)
	for _, v := range values {
		if err := reference.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	data, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	read, err := hdrhistogram.Decode([]byte(base64.StdEncoding.EncodeToString(data)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.Export().Counts, reference.Export().Counts) {
		t.Error("the library reads other counts than it records itself")
	}
	text, err := reference.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	var back stat.Histogram
	if err := json.Unmarshal([]byte(`"`+string(text)+`"`), &back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Buckets(), h.Buckets()) {
		t.Error("what the library wrote is read differently")
	}
}

// header returns an encoding whose inflated part starts with these fields.
func header(payload, digits int32, lowest, highest int64, rest []byte) []byte {
	var inflated bytes.Buffer
	for _, field := range []any{int32(0x1c849303 | 0x10), payload, int32(0), digits, lowest, highest, 1.0} {
		_ = binary.Write(&inflated, binary.BigEndian, field)
	}
	inflated.Write(rest)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(inflated.Bytes())
	_ = w.Close()
	all := binary.BigEndian.AppendUint32(nil, 0x1c849304|0x10)
	all = binary.BigEndian.AppendUint32(all, uint32(packed.Len()))
	return append(all, packed.Bytes()...)
}

func TestDecodingRefuses(t *testing.T) {
	t.Parallel()
	good, err := histogramOf([]int64{1, 2, 3}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(stat.Limit)
	flipped := slices.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for name, data := range map[string][]byte{
		"nothing":            {},
		"a header cut":       good[:10],
		"the end cut":        good[:len(good)-1],
		"a flipped bit":      flipped,
		"another cookie":     append([]byte{1}, good[1:]...),
		"a huge layout":      header(0, 5, 1, 1<<62, nil),
		"a long layout":      header(3, 3, 1, 1<<62, []byte{2, 4, 6}),
		"a short layout":     header(3, 3, 1, 1<<20, []byte{2, 4, 6}),
		"another precision":  header(0, 2, 1, limit, nil),
		"another unit":       header(0, 3, 1000, limit, nil),
		"a negative length":  header(-1, 3, 1, limit, nil),
		"a bomb":             header(1<<30, 3, 1, limit, make([]byte, 64<<20)),
		"more than declared": header(1, 3, 1, limit, make([]byte, 1<<20)),
		"too many counts":    header(1<<17, 3, 1, limit, make([]byte, 1<<17)),
		// 33,700 empty buckets, then a count.
		"a count beyond 1 h":   header(4, 3, 1, limit, binary.AppendVarint(binary.AppendVarint(nil, -33_700), 1)),
		"not even zlib":        append(slices.Clone(good[:8]), "hello, hello"...),
		"longer than any real": make([]byte, 1<<20),
	} {
		h := histogramOf([]int64{42})
		if err := h.UnmarshalBinary(data); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: error %v", name, err)
		}
		if h.Count() != 1 || h.Max() != 42 {
			t.Errorf("%s: changed the histogram", name)
		}
	}
	for _, text := range []string{`5`, `{}`, `"%%"`, `""`, `[`, `"AAAA"`} {
		var h stat.Histogram
		if err := h.UnmarshalJSON([]byte(text)); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func FuzzHistogramUnmarshalBinary(f *testing.F) {
	for _, h := range []*stat.Histogram{stat.NewHistogram(), histogramOf([]int64{0, 1, 5000, int64(stat.Limit)})} {
		data, err := h.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(header(3, 3, 1, int64(stat.Limit), []byte{2, 4, 6}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h stat.Histogram
		if h.UnmarshalBinary(data) != nil {
			return
		}
		again, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back stat.Histogram
		if err := back.UnmarshalBinary(again); err != nil || !slices.Equal(back.Buckets(), h.Buckets()) {
			t.Fatalf("came back different: %v", err)
		}
		if h.Quantile(1) < h.Quantile(0) {
			t.Fatal("maximum below minimum")
		}
	})
}

// FuzzCountsPayload fuzzes the data inside of zlib, because random bytes do not pass its checksum.
func FuzzCountsPayload(f *testing.F) {
	f.Add([]byte{2, 4, 6})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xff, 0x8f, 0x04, 2})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var h stat.Histogram
		if err := h.UnmarshalBinary(header(int32(len(payload)), 3, 1, int64(stat.Limit), payload)); err == nil {
			sum := uint64(0)
			for _, b := range h.Buckets() {
				sum += b.Count
			}
			if sum != h.Count() {
				t.Fatalf("counts sum to %d, count is %d", sum, h.Count())
			}
		}
	})
}

// The library's decoder is the reference. Both accept the same data with the same counts, except for counts that our
// layout cannot hold.
func FuzzDecodersAgree(f *testing.F) {
	f.Add([]byte{2, 4, 6})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2})
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 2})
	f.Add([]byte{0xff, 0x8f, 0x04, 2})
	f.Add([]byte{0xff, 0x8f, 0x84, 0x80, 0x00, 2, 0, 0, 7})
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, payload []byte) {
		data := header(int32(len(payload)), 3, 1, int64(stat.Limit), payload)
		var h stat.Histogram
		err := h.UnmarshalBinary(data)
		reference, referenceErr := hdrhistogram.Decode([]byte(base64.StdEncoding.EncodeToString(data)))
		if referenceErr != nil {
			if err == nil {
				t.Fatalf("accepted, but refused by the library: %v", referenceErr)
			}
			return
		}
		if err != nil {
			if reference.Max() <= int64(stat.Limit) {
				t.Fatalf("refused: %v, but accepted by the library", err)
			}
			return
		}
		again := &stat.Histogram{}
		for _, bar := range reference.Distribution() {
			again.RecordN(bar.From, uint64(bar.Count))
		}
		if !slices.Equal(again.Buckets(), h.Buckets()) || again.Count() != h.Count() {
			t.Fatal("other counts than the library's")
		}
	})
}
