package report

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"wirelab/lab/doctor"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
)

// Gist describes a result in a few words, for a list.
type Gist struct {
	// Arms are the names of the arms, only the first if there are many. Loads are the loads.
	Arms  string `json:"arms"`
	Loads string `json:"loads"`
	// Verdict is the main finding. Validity says whether its figures are valid.
	Verdict  string `json:"verdict"`
	Validity string `json:"validity"`
	// Refused is true if a check refuses any of the main figures.
	Refused bool `json:"refused,omitempty"`
}

// keptGist is a gist as stores keep it. It is valid only for the program that made it.
type keptGist struct {
	By string `json:"by"`
	Gist
}

// gistForm must change when the words of [GistOf] change.
const gistForm = "1"

// gistBy identifies the program as far as possible, since its words and checks may differ from those of another
// build.
func gistBy() string {
	by := gistForm
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				by += " " + s.Value
			}
		}
	}
	return by
}

// ListedGist returns the gist of a result in a store's list. It uses the gist that is kept with the result. If there
// is none, it makes one from the result, which get reads, and passes it to keep.
func ListedGist(kept string, get func() (*result.Result, error), keep func(string) error) (Gist, error) {
	var k keptGist
	if err := json.Unmarshal([]byte(kept), &k); err == nil && k.By == gistBy() {
		return k.Gist, nil
	}
	r, err := get()
	if err != nil {
		return Gist{}, err
	}
	a := analyse.Result(r)
	k = keptGist{By: gistBy(), Gist: GistOf(r, &a)}
	text, err := json.Marshal(k)
	if err != nil {
		return k.Gist, err
	}
	// A reader without write access cannot keep it; the gist is then made each time.
	_ = keep(string(text))
	return k.Gist, nil
}

// GistOf says in a few words what was compared, under which loads, what was found, and whether it is valid.
func GistOf(r *result.Result, a *claim.Analysis) Gist {
	r, a = Marked(r, a)
	g := Gist{Arms: shortArms(r), Loads: shortLoads(r.Plan)}
	g.Validity, g.Refused = validityInShort(a)
	found := capacity.Of(a)
	switch {
	case r.SelfTest != nil:
		g.Verdict, g.Validity, g.Refused = selfTestInShort(r.SelfTest), "", false
	case r.Plan.Name == doctor.BurstName:
		g.Verdict = "calibration of this machine"
	case len(found.Arms) > 0:
		g.Verdict, g.Validity, g.Refused = strings.Join(CapacityParts(&found), "; "), "", false
	case len(a.Curves) > 0:
		g.Verdict = strings.TrimSuffix(strings.Join(CurveSentences(&a.Curves[0])[:1], ""), ".")
	case len(r.Rounds) == 0:
		g.Verdict, g.Validity = "nothing was measured", ""
	default:
		g.Verdict = verdictInShort(r.Plan, a)
	}
	return g
}

func selfTestInShort(t *result.SelfTest) string {
	switch failed, refused := t.Failed(), t.Refused(); {
	case len(failed) > 0:
		return "failed: " + List(failed)
	case len(refused) > 0:
		return "could show nothing: " + List(refused)
	}
	return fmt.Sprintf("all %d tests passed", len(t.Tests))
}

// namedArms is how many arms a list names individually.
const namedArms = 3

func shortArms(r *result.Result) string {
	var all []string
	for i := range r.Plan.Arms {
		all = append(all, r.ArmName(i))
	}
	if more := len(all) - namedArms; more > 1 {
		return strings.Join(all[:namedArms], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}

// shortLoads names a plan's loads: "1 and 50 calls in flight", "2,000/s Poisson", "6 loads".
func shortLoads(p plan.Plan) string {
	var flights []string
	for _, l := range p.Loads {
		if l.Open() || !ShapeOf(l.Kind()).Calls || l.Operation != "" {
			if len(p.Loads) == 1 {
				return LoadName(p, 0)
			}
			return fmt.Sprintf("%d loads", len(p.Loads))
		}
		flights = append(flights, fmt.Sprint(max(1, l.InFlight)))
	}
	if len(flights) == 1 && flights[0] == "1" {
		return "1 call in flight"
	}
	return List(flights) + " calls in flight"
}

// validityInShort counts the main figures that a check refuses.
func validityInShort(a *claim.Analysis) (text string, refused bool) {
	bad, all := 0, 0
	for i := range a.Loads {
		l := &a.Loads[i]
		for _, m := range Main(l) {
			for n := range l.Arms {
				if l.Arms[n].Rounds == 0 {
					continue
				}
				all++
				if l.Arms[n].Spoiled(m) != "" {
					bad++
				}
			}
		}
	}
	switch {
	case all == 0:
		return "", false
	case bad == 0:
		return "all figures valid", false
	case bad == all:
		return "no figure valid", true
	}
	return fmt.Sprintf("%d of %d figures not valid", bad, all), true
}

// verdictInShort returns the verdict on the first load that has one.
func verdictInShort(p plan.Plan, a *claim.Analysis) string {
	first := ""
	for i := range a.Loads {
		l := &a.Loads[i]
		text, found := loadVerdict(l)
		if len(a.Loads) > 1 {
			text = LoadName(p, l.Load) + ": " + text
		}
		if found {
			return text
		}
		if first == "" {
			first = text
		}
	}
	return first
}

// loadVerdict says which arm is first by a load's primary metric, and by how much. found is false if nothing can be
// said.
func loadVerdict(l *claim.LoadAnalysis) (text string, found bool) {
	m, err := kinds.MetricOf(l, l.Primary)
	row := l.Row(l.Primary)
	if err != nil || row == nil || len(row.Cells) == 0 || Empty(l) {
		return "nothing was measured", false
	}
	base := row.Cells[0].Estimate
	switch {
	case !base.Known:
		return "no verdict", false
	case len(row.Cells) == 1:
		return m.Short + " " + With(base, RowUnit(m, row)), true
	}
	count := map[claim.Verdict]int{}
	for _, c := range row.Cells[1:] {
		if c.Difference != nil {
			count[c.Difference.Verdict]++
		}
	}
	others := len(row.Cells) - 1
	switch {
	case count[claim.TooFew] == others:
		return "too few rounds for a verdict", false
	case count[claim.Equivalent] == others && others == 1:
		return fmt.Sprintf("equivalent in %s", m.Short), true
	case count[claim.Equivalent] == others:
		return fmt.Sprintf("all equivalent in %s", m.Short), true
	}
	if best, _ := champion(l); best >= 0 {
		text = l.Arms[best].Name + " " + words(m).best
		if others == 1 {
			text += ": " + Change(row.Cells[1].Difference)
			if best == 0 {
				text = fmt.Sprintf("%s %s; %s %s", l.Arms[0].Name, words(m).best, l.Arms[1].Name,
					Change(row.Cells[1].Difference))
			}
		}
		return text, true
	}
	var claimed []string
	for i, c := range row.Cells {
		if d := c.Difference; d != nil && slices.Contains([]claim.Verdict{claim.Better, claim.Worse}, d.Verdict) {
			claimed = append(claimed, l.Arms[i].Name+" "+Change(d))
		}
	}
	if len(claimed) > 0 {
		if more := len(claimed) - namedArms; more > 1 {
			claimed = append(claimed[:namedArms], fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf("%s against %s: %s", m.Short, l.Arms[0].Name, strings.Join(claimed, ", ")), true
	}
	if count[claim.Inconclusive] > 0 {
		return "undecided", false
	}
	return "no verdict", false
}
