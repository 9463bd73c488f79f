package porttest_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"wirelab/internal/porttest"
)

func TestRefusing(t *testing.T) {
	t.Parallel()
	address := porttest.Refusing(t)
	if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, %v", conn, err)
	}
	if l, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listen: %v, %v", l, err)
	}
}
