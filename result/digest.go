package result

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wirelab"
)

// digestForm names the way a digest is made, for the day there is another.
const digestForm = "sha256:"

// Digest is a fingerprint of a result's stored form, JSON in any layout: of its
// fields and values as text, not of a [Result] made from it. So a later
// wirelab, whose type has more fields, finds the digest of an old file
// unchanged. It tells whether a file was edited by somebody who did not make a
// new digest; it is no signature.
func Digest(raw []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // numbers stay the text they are
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", wirelab.Errorf(wirelab.InvalidArgument, "not JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return "", wirelab.Errorf(wirelab.InvalidArgument, "not JSON: there is something after the value")
	}
	sum := sha256.New()
	// Compact, keys sorted: the one form that all layouts have in common.
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	return digestForm + hex.EncodeToString(sum.Sum(nil)), nil
}

// NotJSON says why a text is not the JSON that it should be: err is of the decoder.
func NotJSON(text []byte, err error) string {
	var broken *json.SyntaxError
	if errors.As(err, &broken) && len(text) > 0 && broken.Offset >= int64(len(text)) {
		return fmt.Sprintf("it ends in the middle, after %d bytes, and so is not whole", len(text))
	}
	return err.Error()
}
