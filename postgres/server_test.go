package postgres

import (
	"testing"
	"time"
)

func TestFirst(t *testing.T) {
	began := time.Now()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began), s.PID(), Redact(s.DSN()), s.Version())
	p, err := Open(t.Context(), s.DSN(), Pooling{Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(p.About(t.Context()))
	began = time.Now()
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("killed", time.Since(began))
	_, err = p.About(t.Context())
	t.Log(err)
	began = time.Now()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("restarted", time.Since(began))
	t.Log(p.About(t.Context()))
	t.Log(p.About(t.Context()))
	p.Close()
	began = time.Now()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("stopped", time.Since(began))
}
