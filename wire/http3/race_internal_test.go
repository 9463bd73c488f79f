package http3

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// Of several addresses the one that answers is taken: no one listens at the first, and nothing says so.
func TestFirstThatAnswers(t *testing.T) {
	t.Parallel()
	silent, refusing, right := &net.UDPAddr{Port: 1}, &net.UDPAddr{Port: 2}, &net.UDPAddr{Port: 3}
	answer := new(quic.Conn)
	for name, c := range map[string]struct {
		peers []*net.UDPAddr
		fails string
	}{
		"the first is silent":    {[]*net.UDPAddr{silent, right}, ""},
		"two do not answer":      {[]*net.UDPAddr{silent, refusing, right}, ""},
		"the others never asked": {[]*net.UDPAddr{right, silent}, ""},
		"all refuse":             {[]*net.UDPAddr{refusing, refusing}, "refused\nrefused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex // guards asked
			var asked []*net.UDPAddr
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := first(ctx, c.peers, func(ctx context.Context, peer *net.UDPAddr) (*quic.Conn, error) {
				mu.Lock()
				asked = append(asked, peer)
				mu.Unlock()
				switch peer {
				case silent:
					<-ctx.Done()
					return nil, ctx.Err()
				case refusing:
					return nil, errors.New("refused")
				}
				return answer, nil
			})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Error(err)
				}
				return
			}
			if conn != answer || err != nil {
				t.Error(conn, err)
			}
			if c.peers[0] == right && slices.Contains(asked, silent) {
				t.Error("an address was asked although the one before had answered")
			}
		})
	}
	if _, err := resolve(t.Context(), "no port"); err == nil {
		t.Error("an address without a port was resolved")
	}
	peers, err := resolve(t.Context(), "localhost:443")
	if err != nil || len(peers) == 0 || peers[0].Port != 443 || !peers[0].IP.IsLoopback() {
		t.Error(peers, err)
	}
}
