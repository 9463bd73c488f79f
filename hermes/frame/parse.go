package frame

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"wirelab/hermes"
)

// fields reads the fields of a message one by one. Fields it does not know are left
// out, as Protocol Buffers wants it; one it knows with another type is an error.
type fields struct {
	what string
	data []byte
	at   int // behind the current field
	from int // where the current field begins
	tag  int // bytes of the current field's tag
	num  protowire.Number
	typ  protowire.Type
	err  error
}

// next goes to the next field; false: there is none, or the frame is malformed.
func (f *fields) next() bool {
	if f.err != nil || f.at >= len(f.data) {
		return false
	}
	f.from = f.at
	num, typ, n := protowire.ConsumeTag(f.data[f.at:])
	if n < 0 {
		return f.fail("a field is cut off")
	}
	size := protowire.ConsumeFieldValue(num, typ, f.data[f.at+n:])
	if size < 0 {
		return f.fail("a field is cut off, or has no type")
	}
	f.num, f.typ, f.tag, f.at = num, typ, n, f.at+n+size
	return true
}

func (f *fields) fail(how string) bool {
	if f.err == nil {
		f.err = malformed(f.what, how)
	}
	return false
}

// number is the current field as a number.
func (f *fields) number() uint64 {
	if f.typ != protowire.VarintType {
		f.fail("a number has another type")
		return 0
	}
	v, _ := protowire.ConsumeVarint(f.data[f.from+f.tag : f.at])
	return v
}

// bytes is the current field as bytes, which are part of the frame.
func (f *fields) bytes() []byte {
	if f.typ != protowire.BytesType {
		f.fail("a field of bytes has another type")
		return nil
	}
	v, _ := protowire.ConsumeBytes(f.data[f.from+f.tag : f.at])
	return v
}

// gather puts the fields of a frame that are messages together. They follow one another
// in a frame of any known library, and then they are a part of it and not copied.
type gather struct {
	first, end int    // of data, while they do
	apart      []byte // a copy, where they do not
}

// take adds the current field.
func (g *gather) take(f *fields) {
	switch {
	case f.typ != protowire.BytesType:
		f.fail("its messages have another type")
	case f.tag != 1:
		f.fail("a message's field number is not in its shortest form") // it is stored unchanged
	case g.apart != nil:
		g.apart = append(g.apart, f.data[f.from:f.at]...)
	case g.end == 0:
		g.first, g.end = f.from, f.at
	case g.end == f.from:
		g.end = f.at
	default:
		g.apart = append(append([]byte(nil), f.data[g.first:g.end]...), f.data[f.from:f.at]...)
	}
}

func (g *gather) messages(data []byte) []byte {
	if g.apart != nil {
		return g.apart
	}
	return data[g.first:g.end:g.end]
}

// ParseRun reads a Run or a PublishRequest. Messages is part of data. The error is InvalidArgument.
func ParseRun(data []byte) (r Run, err error) {
	f, g := fields{what: "the run", data: data}, gather{}
	for f.next() {
		switch f.num {
		case 1:
			r.Topic = string(f.bytes())
		case 2:
			g.take(&f)
		case 3:
			r.Mode = hermes.Mode(min(f.number(), unknownMode))
		case 4:
			r.Producer = f.number()
		case 5:
			r.Sequence = f.number()
		case 6:
			r.Tag = f.number()
		}
	}
	r.Messages = g.messages(data)
	return r, f.err
}

// ParseRuns reads a Runs or a PublishBatchRequest of at most most runs, behind those it is given.
// Messages are part of data. The error is InvalidArgument.
func ParseRuns(data []byte, most int, runs Runs) (Runs, error) {
	f := fields{what: "the runs", data: data}
	for f.next() {
		if f.num != 1 {
			continue
		}
		if len(runs) == most {
			f.fail("there are too many")
			break
		}
		r, err := ParseRun(f.bytes())
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, f.err
}

// ParseDelivery reads a Delivery. Messages is part of data. The error is InvalidArgument.
func ParseDelivery(data []byte) (d Delivery, err error) {
	f, g := fields{what: "the delivery", data: data}, gather{}
	for f.next() {
		switch f.num {
		case 1:
			d.Offset = f.number()
		case 2:
			g.take(&f)
		case 3:
			d.Time = int64(f.number())
		case 4:
			d.Attempt = f.uint32()
		case 5:
			d.Live = f.number() != 0
		case 6:
			d.Settled = f.number()
		case 7:
			r, err := parseRange(f.bytes())
			if err != nil {
				return d, err
			}
			d.Late = append(d.Late, r)
		case 8:
			r, err := parseRange(f.bytes())
			if err != nil {
				return d, err
			}
			d.Gap = &r
		}
	}
	d.Messages = g.messages(data)
	return d, f.err
}

func parseRange(data []byte) (r Range, err error) {
	f := fields{what: "a range", data: data}
	for f.next() {
		switch f.num {
		case 1:
			r.First = f.number()
		case 2:
			r.Last = f.number()
		}
	}
	return r, f.err
}

// uint32 is the current field as a number of 32 bits; everything beyond them is cut, as Protocol Buffers wants
// it.
func (f *fields) uint32() uint32 { return uint32(f.number() & math.MaxUint32) }

// ParseVerdicts reads a Verdicts or a PublishBatchReply, behind those it is given. The error is InvalidArgument.
func ParseVerdicts(data []byte, dst Verdicts) (Verdicts, error) {
	f := fields{what: "the verdicts", data: data}
	for f.next() {
		if f.num != 1 {
			continue
		}
		v, err := parseVerdict(f.bytes())
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
	}
	return dst, f.err
}

func parseVerdict(data []byte) (v Verdict, err error) {
	f := fields{what: "a verdict", data: data}
	for f.next() {
		switch f.num {
		case 1:
			v.Tag = f.number()
		case 2:
			v.Offset = f.number()
		case 3:
			v.Count = f.uint32()
		case 4:
			v.Time = int64(f.number())
		case 5:
			v.Duplicate = f.number() != 0
		case 6:
			v.Provisional = f.number() != 0
		case 7:
			v.Term = f.number()
		case 8:
			v.Index = f.number()
		case 9:
			v.Failed = true
			v.error(&f)
		case 10:
			v.Leader = string(f.bytes())
		}
	}
	return v, f.err
}

// error reads the current field as an Error into v.
func (v *Verdict) error(of *fields) {
	f := fields{what: "an error", data: of.bytes()}
	for f.next() {
		switch f.num {
		case 1:
			v.Code = string(f.bytes())
		case 2:
			v.Message = string(f.bytes())
		case 3:
			v.Leader = string(f.bytes())
		}
	}
	if of.err == nil {
		of.err = f.err
	}
}
