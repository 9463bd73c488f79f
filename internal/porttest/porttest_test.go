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

// A held port refuses, and can be listened at again and again.
func TestHeld(t *testing.T) {
	t.Parallel()
	address := porttest.Held(t)
	for range 3 {
		if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial: %v, %v", conn, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		near, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = l.Close(), far.Close(), near.Close()
	}
}

// It is given to no one who asks for any. (One that was listened at would not be for a
// minute, as connections of it are remembered.)
func TestHeldIsGivenToNoOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	address := porttest.Held(t)
	for range 40_000 { // more than there are
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		given := l.Addr().String()
		_ = l.Close()
		if given == address {
			t.Fatal("another was given the held port")
		}
	}
}
