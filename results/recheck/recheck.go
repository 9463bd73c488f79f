// Package recheck computes a whole result again, from the store or from a file, and says whether it was edited. It
// knows where results are stored and which package verifies them. It must not know what the parts of a result mean.
package recheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/results/measure"
	"wirelab/results/report"
	"wirelab/results/report/verify"
	"wirelab/results/store"
)

// Verify checks one result. An error means that there was nothing to check.
func Verify(ctx context.Context, m *measure.Measurer, name string) (*verify.Verification, error) {
	if !measure.IsFile(name) {
		return verifyStored(ctx, m, name)
	}
	data, err := m.ReadFile(ctx, "", name, measure.ResultLimit)
	if err != nil && name != "-" && ctx.Err() == nil { // the name may be a result's
		if named, sought := verifyStored(ctx, m, name); sought == nil {
			return named, nil
		}
	}
	if err != nil {
		return nil, err
	}
	raw, _, err := verify.Split(data)
	if err != nil {
		return unreadable("", "", err), nil
	}
	r, err := store.Decode(raw)
	if err != nil {
		return undecoded("result", err)
	}
	v, err := verify.File(data, r, probe.Environment().Commit)
	if err != nil {
		return nil, err
	}
	v.From = from(r, "a file")
	noteUnread(v, r)
	checkOrders(v, r)
	return v, nil
}

// from says where a result was measured, according to itself, and how it came to this store.
func from(r *result.Result, origin string) string {
	if origin == "" {
		origin = "stored before wirelab noted from where results come"
	}
	commit := r.Environment.Commit
	if commit == "" {
		commit = "of an unknown commit"
	}
	return fmt.Sprintf("%s; by its own word measured on %s, %s, by wirelab %s", origin,
		cmp.Or(r.Environment.Host, "a host without a name"),
		r.Began.UTC().Format("2006-01-02 15:04 UTC"), commit)
}

// noteUnread says which parts of a later version's result could not be checked.
func noteUnread(v *verify.Verification, r *result.Result) {
	if said := report.Unread(r); said != "" {
		v.Unchecked = append(v.Unchecked, said)
	}
}

// verifyStored checks a result in the store, and its entry in the store's list.
func verifyStored(ctx context.Context, m *measure.Measurer, name string) (*verify.Verification, error) {
	var found store.Stored
	err := m.WithStore(ctx, func(s store.Store) error {
		id, err := measure.Latest(ctx, s, name)
		if err != nil {
			return err
		}
		found, err = s.Raw(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if found.JSON == nil {
		return unreadable(found.Summary.ID, "result", errors.New(found.Damage)), nil
	}
	r, err := store.Decode(found.JSON)
	if err != nil {
		return undecoded("result", err)
	}
	v, err := verify.Stored(found.JSON, found.Digest, r)
	if err != nil {
		return nil, err
	}
	listed := store.Summarize(r)
	// the size of the packed form, which is no fact about the result
	listed.Bytes = found.Summary.Bytes
	listed.Label, listed.Finding = found.Summary.Label, found.Summary.Finding // no part of the result
	if err := v.Compare("list", found.Summary, listed); err != nil {
		return nil, err
	}
	v.From = from(r, found.Origin)
	noteUnread(v, r)
	checkOrders(v, r)
	return v, nil
}

// undecoded returns what was found about raw data that cannot be decoded. A result of a later version is not judged.
func undecoded(path string, err error) (*verify.Verification, error) {
	if wirelab.CodeOf(err) == wirelab.Unimplemented {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s", fault.Describe(err))
	}
	return unreadable("", path, err), nil
}

// unreadable returns what was found about data that cannot be read.
func unreadable(id, path string, err error) *verify.Verification {
	v := &verify.Verification{ID: id, Checked: []string{}}
	v.Add(verify.Difference{Path: path, Says: fault.Describe(err)})
	return v
}

// checkOrders checks that slices ran in the order that follows from the seed. If no round agrees, a version that
// draws in another way may have run it. If some rounds agree and some do not, the result was edited.
func checkOrders(v *verify.Verification, r *result.Result) {
	var wrong []verify.Difference
	right := 0
	for n, round := range r.Rounds {
		places := experiment.Orders(r.Plan, n, experiment.OutBefore(r, n))
		for i, t := range round.Trials {
			want := places[t.Arm][t.Load] // in range: store.Decode has checked it
			if slices.Equal(t.Order, want) {
				right++
				continue
			}
			wrong = append(wrong, verify.Difference{
				Path:   fmt.Sprintf("result.rounds[%d].trials[%d].order", n, i),
				Stored: fmt.Sprint(t.Order), Computed: fmt.Sprint(want),
				Says: "slices ran in another order than the seed gives",
			})
		}
	}
	switch {
	case len(wrong) == 0 && right > 0:
		v.Checked = append(v.Checked,
			fmt.Sprintf("order: the slices of all %d trials ran as seed %d gives", right, r.Plan.Seed))
	case right == 0 && len(wrong) > 0 && r.Environment.Commit != probe.Environment().Commit:
		v.Unchecked = append(v.Unchecked,
			"the order of slices: none agrees with the seed, and another build ran it, which may draw otherwise")
	default:
		for _, d := range wrong {
			v.Add(d)
		}
	}
}

// shownDifferences is how many differences of each part are shown to people. JSON has more.
const shownDifferences = 6

// Text writes what was found about a result, for people.
func Text(name string, v *verify.Verification) string {
	if v.ID != "" && v.ID != name {
		name += " (" + v.ID + ")"
	}
	verdict := "holds"
	switch n := v.Total(); {
	case n == 1:
		verdict = "does not hold: 1 difference"
	case n > 1:
		verdict = fmt.Sprintf("does not hold: %d differences", n)
	case len(v.Unchecked) > 0:
		verdict = "holds, as far as it can be checked"
	}
	lines := []string{name + ": " + verdict}
	shown, hidden := map[string]int{}, maps.Clone(v.More)
	for _, d := range v.Differences {
		if shown[d.Part()]++; shown[d.Part()] <= shownDifferences {
			lines = append(lines, "  "+differenceLine(d))
		} else {
			hidden[d.Part()]++
		}
	}
	for _, part := range slices.Sorted(maps.Keys(hidden)) {
		lines = append(lines, fmt.Sprintf("  … and %d more in %s", hidden[part], part))
	}
	if v.From != "" {
		lines = append(lines, "  from         "+v.From)
	}
	for _, text := range v.Checked {
		lines = append(lines, "  checked      "+text)
	}
	for _, text := range v.Unchecked {
		lines = append(lines, "  not checked  "+text)
	}
	for i, line := range lines {
		lines[i] = plan.Harmless(line, true) // the text may contain anything
	}
	return strings.Join(lines, "\n") + "\n"
}

// differenceLine writes one difference: where it is, the stored value, and the expected value.
func differenceLine(d verify.Difference) string {
	line := d.Path
	if line == "" {
		line = "file"
	}
	if d.Says != "" {
		line += ": " + d.Says
	}
	switch {
	case d.Stored != "" && d.Computed != "":
		line += ": stored " + d.Stored + ", computed " + d.Computed
	case d.Stored != "":
		line += ": stored " + d.Stored + ", where nothing should be"
	case d.Computed != "":
		line += ": nothing stored, computed " + d.Computed
	}
	return line
}
