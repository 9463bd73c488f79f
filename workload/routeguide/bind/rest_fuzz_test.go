package bind

import (
	"net/url"
	"testing"

	"wirelab"
	"wirelab/wire/httprpc"
)

// FuzzRESTMessages decodes arbitrary JSON as every message: a decoded value must survive encoding and decoding.
func FuzzRESTMessages(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"latitude":-2147483648,"longitude":2147483647}`, `{"latitude":1.5}`, `{"latitude":"1"}`,
		`{"lo":null,"hi":{"latitude":1}}`, `{"name":"\ud800","location":{}}`, "{\"message\":\"\u0000\xff\"}",
		`{"pointCount":1,"POINTCOUNT":2}`,
	} {
		f.Add([]byte(seed))
	}
	c := newRESTCodecs()
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, c.point.JSON, data)
		again(t, c.feature.JSON, data)
		again(t, c.rectangle, data)
		again(t, c.note, data)
		again(t, c.summary, data)
	})
}

func again[T comparable](t *testing.T, codec httprpc.Codec[T], data []byte) {
	t.Helper()
	v, err := codec.Decode(data)
	if err != nil {
		return
	}
	written, err := codec.Encode(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	if back, err := codec.Decode(written); err != nil || back != v {
		t.Fatalf("%#v is written %s and read %#v, %v", v, written, back, err)
	}
}

// FuzzRESTQuery feeds the query of a rectangle anything.
func FuzzRESTQuery(f *testing.F) {
	for _, seed := range []string{
		"", "lo.latitude=1&hi.longitude=-5", "lo.latitude=+1", "lo.latitude=99999999999",
		"hi.latitude=1&hi.latitude=2", "lo.latitude=%31",
	} {
		f.Add(seed)
	}
	query := rectangleQuery()
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		r, err := query.Decode(values)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if back, err := query.Decode(query.Encode(r)); err != nil || back != r {
			t.Fatalf("%v became %v, %v", r, back, err)
		}
	})
}
