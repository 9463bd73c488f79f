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

// digestForm names the algorithm of a digest, in case there is another one later.
const digestForm = "sha256:"

// Digest is a hash of a result's stored form, which is JSON in any layout. It covers the fields and values of the
// text, not of a [Result] made from it. So a later wirelab, whose type has more fields, computes the same digest for
// an old file. It shows whether a file was edited without updating its digest. It is not a signature.
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

// invalid says why a text is not valid JSON.
func invalid(raw []byte) string {
	var first json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&first); err != nil {
		return err.Error()
	}
	return "there is something after the value"
}

// NotJSON says why a text is not the expected JSON. err is the decoder's error.
func NotJSON(text []byte, err error) string {
	var broken *json.SyntaxError
	if errors.As(err, &broken) && len(text) > 0 && broken.Offset >= int64(len(text)) {
		return fmt.Sprintf("it ends in the middle, after %d bytes, so it is incomplete", len(text))
	}
	return err.Error()
}
