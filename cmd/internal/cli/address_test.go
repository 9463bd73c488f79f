package cli_test

import (
	"testing"

	"wirelab/cmd/internal/cli"
)

func TestReachable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"[::]:8080": "localhost:8080", "0.0.0.0:8080": "localhost:8080", ":8080": "localhost:8080",
		"127.0.0.1:1": "127.0.0.1:1", "[::1]:1": "[::1]:1", "example.com:1": "example.com:1", "": "", "x": "x",
	} {
		if got := cli.Reachable(address); got != want {
			t.Errorf("%q is dialled at %q, want %q", address, got, want)
		}
	}
}
