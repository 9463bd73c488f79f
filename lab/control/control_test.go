package control_test

import (
	"bytes"
	"testing"

	"wirelab/internal/process"
	"wirelab/lab/control"
)

// Whatever a child says is read, or refused.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"usage":{}}` + "\n" + `{"dial":{"loads":[{"in_flight":1}]}}`))
	f.Add([]byte(`{"slice":{"recording":{"response":"AAAA"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		replies := process.NewReader[control.Reply](bytes.NewReader(data))
		for {
			if _, err := replies.Read(); err != nil {
				return
			}
		}
	})
}
