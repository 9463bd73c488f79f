package dashboard

import (
	"testing"

	"wirelab/results/store/sqlite"
	"wirelab/results/store/storetest"
)

// BenchmarkListOfFiveThousand is the first page of a list of 5,000 results,
// which is to take less than 200 ms; no test asserts it, since a machine may be
// busy. Most of the time of this benchmark goes into storing them.
func BenchmarkListOfFiveThousand(b *testing.B) {
	s, err := sqlite.Open(b.Context(), b.TempDir()+"/results.db")
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	for n := range 5000 {
		if err := s.Put(b.Context(), storetest.Small(n)); err != nil {
			b.Fatal(err)
		}
	}
	board, err := New(Config{Store: s, Version: "test", Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{
		"page": "/", "filtered": "/?protocol=connect&preset=plan-1",
		"api": "/api/v1/results?limit=50",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := visit(b, board, path)
				if w.status != 200 || w.body.Len() < 1000 {
					b.Fatalf("%d %d bytes", w.status, w.body.Len())
				}
			}
		})
	}
}
