package core

// Small is New with bounds that a test can reach.
func Small(topics, groups, producers, sequences, runs, ranges int) *Machine {
	m := New()
	m.limits = limits{topics, groups, producers, sequences, runs, ranges, 6, 10}
	return m
}

// Like restores a snapshot with another machine's bounds.
func Like(m *Machine, snapshot []byte) (*Machine, error) {
	restored, err := Restore(snapshot)
	if err == nil {
		restored.limits = m.limits
	}
	return restored, err
}
