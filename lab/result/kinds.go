package result

import (
	"slices"

	"wirelab/lab/plan"
)

// allKinds are the kinds of load, in the order in which reports show what they measure.
func allKinds() []*Kind { return []*Kind{callKind(), entryKind(), messageKind(), streamKind()} }

// kindOf is the kind of a load.
func kindOf(l plan.Load) *Kind { return kindNamed(l.Kind()) }

// kindNamed is a kind by its name; calls, of a name that nobody knows, which only an edited file has.
func kindNamed(name plan.Kind) *Kind {
	all := allKinds()
	return all[max(0, slices.IndexFunc(all, func(k *Kind) bool { return k.Name == name }))]
}
