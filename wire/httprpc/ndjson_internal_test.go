package httprpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"wirelab/wire/status"
)

type thing struct {
	N int32  `json:"n"`
	S string `json:"s"`
}

func things() Codec[thing] {
	return JSONOf(func(v thing) thing { return v }, func(v thing) thing { return v })
}

// FuzzLines feeds the stream decoder anything. It must end, keep its bound,
// not depend on how the bytes arrive, and read back what it has read.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{\"end\":true}\n", "{\"result\":{\"n\":1,\"s\":\"a\"}}\n{\"end\":true}",
		"{\"error\":{\"code\":404,\"message\":\"no\"}}\n", "{\"result\":null}\n", "{\"result\":{\"n\":2147483648}}\n",
		"\r\n \n{\"result\":{}}\r\n{\"end\":true}\r\nx", "{\"RESULT\":{\"N\":5}}\n",
		strings.Repeat("{\"result\":{}}\n", 500),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := things()
		read := func(from io.Reader) (all []thing, err error) {
			lines := newLineReader(from, &codec)
			for {
				frame, err := lines.next()
				switch {
				case err != nil:
					return all, err
				case frame.err != nil:
					return all, frame.err
				case frame.end:
					return all, lines.rest()
				}
				all = append(all, frame.item)
			}
		}
		all, err := read(bytes.NewReader(data))
		again, errAgain := read(iotest.OneByteReader(bytes.NewReader(data)))
		if len(all) != len(again) || (err == nil) != (errAgain == nil) {
			t.Fatalf("whole: %v, %v; byte by byte: %v, %v", all, err, again, errAgain)
		}
		var out bytes.Buffer
		lines := newLineWriter(&out, &codec)
		for _, v := range all {
			if err := lines.item(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := lines.end(nil); err != nil {
			t.Fatal(err)
		}
		back, err := read(&out)
		if err != nil || len(back) != len(all) {
			t.Fatalf("written and read again: %v, %v; want %v", back, err, all)
		}
		for i := range all {
			if all[i] != back[i] {
				t.Fatalf("item %d: %v became %v", i, all[i], back[i])
			}
		}
	})
}

// FuzzErrorBody feeds both error decoders anything, and every error they read
// must survive being written again.
func FuzzErrorBody(f *testing.F) {
	for _, code := range status.Codes() {
		body := bodyOf(status.Errorf(code, "no \x00 „ink“"))
		f.Add(body.encode(JSON))
		f.Add(body.encode(Proto))
	}
	f.Add([]byte(`{"code":"CARD","message":"later form"}`))
	f.Add([]byte("\x08\x01\x1a\x00\x1a\x02\x0a\x00\x22\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, media := range []string{MediaJSON, MediaProto, "text/plain"} {
			err := decodeError(500, media, data)
			var coded *status.Error
			if !errors.As(err, &coded) {
				t.Fatalf("%s: %v is no *status.Error", media, err)
			}
			for _, e := range []Encoding{JSON, Proto} {
				again := decodeError(statusOf(coded.Code), e.mediaType(), bodyOf(coded).encode(e))
				if want := status.Errorf(coded.Code, "%s",
					strings.ToValidUTF8(coded.Message, "\uFFFD")); again.Error() != want.Error() {
					t.Fatalf("%s: %v became %v", e.mediaType(), want, again)
				}
			}
		}
	})
}

// FuzzAccept feeds the header parser anything: what it chooses is always a
// type this server writes.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"", "*/*", "application/json;q=0, application/x-protobuf", "text/html,;q=,,q=0", "APPLICATION/JSON",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		for _, otherwise := range []string{MediaJSON, mediaProtoX} {
			name, ok := accepted(accept, otherwise, everything)
			if encoding, _ := encodingOf(name); ok != (encoding != 0) {
				t.Fatalf("%q gives %q, %v", accept, name, ok)
			}
		}
		covers(accept, MediaNDJSON)
	})
}

// TestTableIsTotal checks that every code has its own status or is distinguished by name, and that the status
// alone leads back to a code that shares it.
func TestTableIsTotal(t *testing.T) {
	t.Parallel()
	for _, code := range status.Codes() {
		status := statusOf(code)
		if status < 400 || status > 599 {
			t.Errorf("%v travels as %d, which is no failure", code, status)
		}
		if back := codeOfStatus(status); statusOf(back) != status {
			t.Errorf("%v travels as %d and that reads as %v", code, status, back)
		}
	}
	if len(statuses) != len(status.Codes()) {
		t.Errorf("%d statuses for %d codes", len(statuses), len(status.Codes()))
	}
}
