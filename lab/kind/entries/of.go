package entries

import (
	"slices"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Of returns the followed entries of a trial: empty if it has none.
func Of(t *result.Trial) result.Followed {
	if t.Followed == nil {
		return result.Followed{}
	}
	return *t.Followed
}

// StateOf is how the followed entries of an arm did: nothing where it has none.
func StateOf(s *claim.ArmState) claim.EntryState {
	if s.Entries == nil {
		return claim.EntryState{}
	}
	return *s.Entries
}

// All reports whether the entries of each trial were followed.
func All(trials []*result.Trial) bool {
	return !slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Followed == nil })
}

// Arms are those arms of a load whose entries were followed until they were stored.
func Arms(l *claim.LoadAnalysis) []int {
	var all []int
	for a := range l.Arms {
		if l.Arms[a].Entries != nil {
			all = append(all, a)
		}
	}
	return all
}

// Ranked reports whether all arms that were measured had their entries followed until they were stored, and any was:
// then it can be said when to use which.
func Ranked(l *claim.LoadAnalysis) bool {
	return len(Arms(l)) > 0 && !slices.ContainsFunc(l.Arms,
		func(s claim.ArmState) bool { return s.Rounds > 0 && s.Entries == nil })
}
