package agent

import (
	"net"
	"slices"
	"sync"
)

// metMost bounds how many addresses are kept of a name that has more, or other ones each time.
const metMost = 64

// met is which addresses connections reached. The zero value has none.
type met struct {
	mu  sync.Mutex
	all []string
}

func (m *met) add(at net.Addr) {
	address := at.String()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) < metMost && !slices.Contains(m.all, address) {
		m.all = append(m.all, address)
	}
}

// Met implements [Meeter].
func (p *prepared) Met() []string {
	p.reached.mu.Lock()
	defer p.reached.mu.Unlock()
	return slices.Clone(p.reached.all)
}
