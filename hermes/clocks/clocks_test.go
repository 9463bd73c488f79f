package clocks

import (
	"testing"
	"time"
)

// TestMedian: of clocks that differ, the cluster's time is what most say, and else what the log continues with.
func TestMedian(t *testing.T) {
	const bound, hour = int64(5 * time.Second), int64(time.Hour)
	for _, c := range []struct {
		what   string
		ahead  []int64 // of this node's clock; it is one of them
		log    int64
		middle int64
		sure   bool
	}{
		{"alone", []int64{0}, -hour, 0, true},
		{"three that agree", []int64{0, 1e6, -1e6}, 0, 0, true},
		{"this one is an hour ahead", []int64{0, -hour, -hour + 2}, -hour, -hour + 2, true},
		{"another is an hour behind", []int64{0, -hour, 5}, 0, 0, true},
		{"two that agree", []int64{0, 4e9}, 0, 0, true},
		{"of two this one is ahead of the log", []int64{0, -hour}, -hour, -hour, false},
		{"of two this one is before the log", []int64{0, hour}, hour, hour, false},
		{"of two the other is ahead of the log", []int64{0, hour}, 0, 0, false},
		{"of two the other is before the log", []int64{0, -hour}, 0, 0, false},
		{"both are before the log", []int64{0, -hour}, 3 * hour, 0, false},
		{"four, two and two", []int64{0, hour, 1, hour + 1}, 0, 1, false},
		{"four, of which one is off", []int64{0, 10, 20, hour}, 0, 15, true},
	} {
		middle, sure := median(c.ahead, bound, c.log)
		if middle != c.middle || sure != c.sure {
			t.Errorf("%s: %d, sure %v; not %d, sure %v", c.what, middle, sure, c.middle, c.sure)
		}
	}
}

// TestClocks: a node's own clock counts until a majority says otherwise, and again when it was set.
func TestClocks(t *testing.T) {
	const second, hour = int64(time.Second), int64(time.Hour)
	c, voters := New(1, 5*time.Second), []uint64{1, 2, 3}
	if _, is := c.Judge(voters, 0, 0); is != (Agreement{}) {
		t.Errorf("told by no one: %+v", is)
	}
	if !c.Tell(2, -hour, second, 0) || c.Tell(2, -hour, second, 1) {
		t.Error("the first reading is reported as another")
	}
	if _, is := c.Judge(voters, 0, 0); is.Sure {
		t.Errorf("two that differ are sure: %+v", is)
	}
	c.Tell(3, -hour, 4*second, 0) // vague
	if _, is := c.Judge(voters, 0, 0); !is.Skewed {
		t.Errorf("an hour, by two of which one is vague: %+v", is)
	}
	c.Tell(2, second, 4*second, 3*second)
	if _, is := c.Judge(voters, 3*second, 0); is.Sure {
		t.Errorf("one that is vague and another are sure: %+v", is)
	}
	c.Tell(2, -hour, second, 3*second)
	c.Tell(3, -hour, second, 3*second)
	if _, is := c.Judge(voters, 3*second, 0); !is.Sure || !is.Skewed || is.Right() != -hour {
		t.Errorf("an hour ahead of two: %+v", is)
	}
	if c.Mends(-2*hour) || !c.Mends(-hour) {
		t.Error("a clock that is set wrong is followed, or one that is set right is not")
	}
	if was, is := c.Judge(voters, 3*second, 0); !was.Skewed || is != (Agreement{Sure: true}) {
		t.Errorf("set right: %+v", is)
	}
	if _, is := c.Judge(voters, hour, 0); is.Sure {
		t.Errorf("an hour later, told by no one: %+v", is)
	}
	if _, is := New(1, time.Second).Judge([]uint64{1}, 0, -hour); !is.Sure || is.Skewed {
		t.Errorf("alone: %+v", is)
	}
}
