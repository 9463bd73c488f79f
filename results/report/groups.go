package report

// Groups collects values by key, in the order in which the keys were first added.
type Groups[K comparable, V any] struct {
	Keys []K
	Of   map[K][]V
}

// Add adds a value to the group of a key.
func (g *Groups[K, V]) Add(key K, value V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[key] == nil {
		g.Keys = append(g.Keys, key)
	}
	g.Of[key] = append(g.Of[key], value)
}

// Each returns a text for each group.
func (g *Groups[K, V]) Each(text func(key K, values []V) string) []string {
	all := make([]string, len(g.Keys))
	for i, key := range g.Keys {
		all[i] = text(key, g.Of[key])
	}
	return all
}
