package result_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
)

// byTree computes digests in the earlier way: from a tree of the whole text. Files have such digests, so each text
// must keep its digest forever.
func byTree(raw []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return "", errors.New("not JSON: there is something after the value")
	}
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// layouts are texts that differ in what a digest must distinguish, and in what it must not.
func layouts() []string {
	deep := func(n int, open, within, end string) string {
		return strings.Repeat(open, n) + within + strings.Repeat(end, n)
	}
	long := strings.Repeat("x", 100)
	return []string{
		"", " ", "{", "{} {}", "x", "nul", `"a`, `{"a":1,}`, "[1 2]", "01", "[1]x", "{}\x00",
		"null", " true ", "-0", "1e400", "2.50", "1E+2", `""`, "[]", "{}", "[ ]", "{ }", "[[],{}]", `[{},[ 1 , "2" ]]`,
		`{"b":1,"a":{"d":[1,2,{"z":0,"y":null}],"c":"x"}}`, "\t{\r\n\"b\" : 1 ,\"a\"\n:\t2 }\n",
		`{"a":1,"b":2,"a":3}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":1,"\u0061":2,"B":3,"":4,"aa":5,"é":6,"\u00e9":7}`,
		`"<>&\u003c\/\\\"\b\f\n\r\t\u0001\u007f"`, "\"\u2028\u2029 \\u2028é😀\"", `"\ud83d\ude00 \ud83d x \ude00"`,
		"\"\x7f\"",
		"\"\xff\xc3\"", "{\"\xff\":1,\"\\ufffd\":2,\"\xc3\":3}", `{"a\"b":1,"a\\":"]}","c":"{[\""}`,
		`{"` + long + `":["` + long + `"],"a":[[["` + long + `"]],{"q":"}","p":["` + long + `"]}]}`,
		deep(9999, "[", "1", "]"), deep(9999, `{"a":`, "1", "}"), deep(10000, "[", "1", "]"),
		deep(10001, "[", "1", "]"),
	}
}

// same compares a digest with that computed from a tree.
func same(t *testing.T, text []byte) {
	t.Helper()
	want, wrong := byTree(text)
	got, err := result.Digest(text)
	if got != want || (err == nil) != (wrong == nil) {
		t.Errorf("%.200q: %s, %v; want %s, %v", text, got, err, want, wrong)
	}
	if err != nil && err.Error() != wrong.Error() && !strings.Contains(err.Error(), wrong.Error()) {
		t.Errorf("%.200q: it says %v, and said %v", text, err, wrong)
	}
}

func TestDigestStays(t *testing.T) {
	t.Parallel()
	for _, text := range layouts() {
		same(t, []byte(text))
	}
	for _, r := range []*result.Result{
		resulttest.Closed(), resulttest.Open(), resulttest.Troubled(),
		resulttest.Certified(),
	} {
		for _, indent := range []string{"", "\t"} {
			text, err := json.MarshalIndent(r, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			same(t, text)
		}
	}
}

func FuzzDigestStays(f *testing.F) {
	for _, text := range layouts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { same(t, text) })
}

// A digest allocates less in total than the size of its text. Concurrent allocations of others are far smaller than
// the text.
func TestDigestMakesNoTree(t *testing.T) {
	text := []byte("[" + strings.Repeat(`{"window":"50ms","order":[1,2,3,4],"sent":12345},`, 100_000) + "0]")
	taken := func(digest func([]byte) (string, error)) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := digest(text); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if got := taken(result.Digest); got > uint64(len(text)) {
		t.Errorf("%d bytes were allocated for a text of %d; by a tree it was %d", got, len(text), taken(byTree))
	}
}
