package result

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

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
	if !json.Valid(raw) {
		return "", wirelab.Errorf(wirelab.InvalidArgument, "not JSON: %s", invalid(raw))
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(sum, 32<<10)
	if err := writeCanonical(out, raw); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	return digestForm + hex.EncodeToString(sum.Sum(nil)), nil
}

// invalid says what is wrong with a text that is not valid JSON.
func invalid(raw []byte) string {
	var first json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&first); err != nil {
		return err.Error()
	}
	return "there is something after the value"
}

// NotJSON says why a text is not the JSON that it should be: err is of the decoder.
func NotJSON(text []byte, err error) string {
	var broken *json.SyntaxError
	if errors.As(err, &broken) && len(text) > 0 && broken.Offset >= int64(len(text)) {
		return fmt.Sprintf("it ends in the middle, after %d bytes, and so is not whole", len(text))
	}
	return err.Error()
}
