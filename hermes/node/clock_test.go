package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClock: what the wall clock says later does not matter.
func TestClock(t *testing.T) {
	c := newClock(nil)
	if ahead := time.Now().UnixNano() - c.now(); ahead < -int64(time.Hour) || ahead > int64(time.Hour) {
		t.Errorf("it begins %d ns from the wall clock", ahead)
	}
	c.began = 5 // as if the wall clock had been set since
	if now := c.now(); now < 5 || now > int64(time.Hour) {
		t.Errorf("%d", now)
	}
	if a, b := c.now(), c.now(); b < a {
		t.Errorf("it fell from %d to %d", a, b)
	}
}

// TestNoWallClock: no other code of this package asks the wall clock for a number.
func TestNoWallClock(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && name != "clock.go" && strings.Contains(string(text), "UnixNano()") {
			t.Errorf("%s asks the wall clock: a node has its own clock", name)
		}
	}
}
