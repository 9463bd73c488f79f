package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"wirelab/wire/jsontext"
)

func TestHalf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"\ud800"`: true, `"a\uDC00"`: true, `"\uDE00\uD83D"`: true, `"\ud83dabcdef"`: true, `"\ud83d\\ude00"`: true,
		`"\ud83d\ud83d\ude00"`: true,
		`{"x\ud800":1}`:        true, `"\\\ud800"`: true,
		`"\ud83d\ude00"`: false, `"\\ud800"`: false, `"\u00e9\/\"\n"`: false, `"ud800"`: false, ``: false, `[1]`: false,
		`"\uffff"`: false,
	} {
		if got := jsontext.Half([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// A text has a half exactly where the decoder writes U+FFFD that was not there.
func FuzzHalf(f *testing.F) {
	f.Add(`"\ud800"`)
	f.Add(`{"\ud83d\ude00":"\\ud800"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var value string
		said := strings.ToLower(text)
		if json.Unmarshal([]byte(text), &value) != nil || strings.ToValidUTF8(text, "") != text ||
			strings.Contains(said,
				`\ufffd`) || strings.ContainsRune(said, '\uFFFD') {
			return
		}
		if replaced := strings.ContainsRune(value, '\uFFFD'); replaced != jsontext.Half([]byte(text)) {
			t.Errorf("%s became %q", text, value)
		}
	})
}
