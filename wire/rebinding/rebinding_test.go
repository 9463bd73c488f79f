package rebinding_test

import (
	"testing"

	"wirelab/wire/rebinding"
)

// Only what no other can point here is the server's own.
func TestOwn(t *testing.T) {
	names := []string{"broker.example", "b"}
	for _, host := range []string{
		"localhost", "LOCALHOST:8080", "localhost.", "lab.localhost:1", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:9",
		"::1",
		"10.1.2.3:8080", "[fe80::1%25eth0]:1", "broker.example", "Broker.Example:443", "broker.example.:443", "b:1",
	} {
		if !rebinding.Own(host, names...) {
			t.Errorf("%q is refused", host)
		}
	}
	for _, host := range []string{
		"", ":80", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example:80",
		"notlocalhost",
		"broker.example.evil.example", "a.broker.example", "0x7f.1", "2130706433", "127.1", "..", "[localhost",
	} {
		if rebinding.Own(host, names...) {
			t.Errorf("%q is taken", host)
		}
	}
}
