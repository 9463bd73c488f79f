package raw_test

import (
	"fmt"
	"testing"
)

// Every cell, against each of its servers and its null responder: every reply
// of a closed loop is right, and the bytes and connections add up.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, cell := range cells(t) {
		t.Run(cell.Protocol.Name+"/"+cell.Server, func(t *testing.T) {
			t.Parallel()
			server := start(t, cell.Protocol.Secure, "", cell.Serve)
			for _, operation := range operations(cell) {
				shapes, calls := [][2]int{{1, 1}, {3, 3}}, 300
				if testing.Short() {
					shapes, calls = [][2]int{{3, 3}}, 60
				}
				if cell.Protocol.Multiplexed {
					shapes = append(shapes, [2]int{1, 17}, [2]int{3, 50})
				}
				for _, shape := range shapes {
					t.Run(fmt.Sprintf("%s/%dx%d", operation, shape[0], shape[1]), func(t *testing.T) {
						lines := dial(t, cell, server.dialing(shape[0]), shape[1], operation)
						before := lines.Traffic()
						o := loop(t, lines, calls)
						if o.right != calls {
							t.Errorf("%+v", o)
						}
						after := lines.Traffic()
						if n := after.Sent - before.Sent; n < uint64(calls)*9 || n > uint64(calls)*2000 {
							t.Errorf("%d bytes sent for %d calls", n, calls)
						}
						if n := after.Payload - before.Payload; n == 0 && cell.Protocol.Framing != "SSE" ||
							n > after.Sent-before.Sent {
							t.Errorf("%d bytes of requests in %d sent", n, after.Sent-before.Sent)
						}
						if n := after.Received - before.Received; n < uint64(calls)*20 || n > uint64(calls)*60_000 {
							t.Errorf("%d bytes received for %d calls", n, calls)
						}
						if after.Open != uint64(shape[0]) || after.Opened != uint64(shape[0]) {
							t.Errorf("%d connections open and %d opened, want %d", after.Open, after.Opened, shape[0])
						}
					})
				}
			}
		})
	}
}
