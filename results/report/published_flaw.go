package report

import (
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// whereabouts says whether this run has a flaw of a published measurement.
type whereabouts int

const (
	unseen whereabouts = iota // this run does not show it
	gone                      // in theirs, not here
	here                      // in theirs, and here as well
)

// finding is what this run shows about one flaw in one arm.
type finding struct {
	where    whereabouts
	evidence string
}

// scene is where a flaw is looked for: an arm under the loads that its published figures belong to.
type scene struct {
	r      *result.Result
	a      *claim.Analysis
	arm    int
	peers  []int // arms with published figures, in their order
	loads  []int
	trials []*result.Trial
}

// findFlaw looks for a flaw in an arm. A flaw that no check looks for is unseen.
func findFlaw(id string, s scene) finding {
	look, known := flawChecks[id]
	if !known {
		return finding{unseen, "nothing here looks for it"}
	}
	return look(s)
}

// sum adds up a value over all trials.
func (s scene) sum(of func(*result.Trial) uint64) (n uint64) {
	for _, t := range s.trials {
		n += of(t)
	}
	return n
}

// rounds counts the rounds that have a trial.
func (s scene) rounds() int {
	n := 0
	for i := range s.r.Rounds {
		if slices.ContainsFunc(s.r.Rounds[i].Trials, func(t result.Trial) bool { return s.has(&t) }) {
			n++
		}
	}
	return n
}

// has reports whether a trial has the scene's arm and one of its loads.
func (s scene) has(t *result.Trial) bool { return t.Arm == s.arm && slices.Contains(s.loads, t.Load) }

func (s scene) load() plan.Load { return s.r.Plan.Loads[s.loads[0]] }

func (s scene) plan() plan.Arm { return s.r.Plan.Arms[s.arm] }

// ours reports whether the server was started here.
func (s scene) ours() bool { return s.plan().Target == "" }

// flawScenes returns the scenes of all flaws that published figures name, with one scene for each flaw and arm.
func flawScenes(r *result.Result, a *claim.Analysis) (ids []string, scenes map[string][]scene) {
	scenes = map[string][]scene{}
	var peers []int
	for _, f := range r.Plan.Published {
		if arm := armAt(r, f.Arm); arm >= 0 && !slices.Contains(peers, arm) {
			peers = append(peers, arm)
		}
	}
	for _, f := range r.Plan.Published {
		arm, l := armAt(r, f.Arm), loadOf(r.Plan, a, f)
		if arm < 0 || l == nil {
			continue
		}
		for _, id := range f.Flaws {
			if scenes[id] == nil {
				ids = append(ids, id)
			}
			i := slices.IndexFunc(scenes[id], func(s scene) bool { return s.arm == arm })
			if i < 0 {
				i = len(scenes[id])
				scenes[id] = append(scenes[id], scene{r: r, a: a, arm: arm, peers: peers})
			}
			if s := &scenes[id][i]; !slices.Contains(s.loads, l.Load) {
				s.loads = append(s.loads, l.Load)
			}
		}
	}
	slices.Sort(ids)
	for id := range scenes {
		for i := range scenes[id] {
			scenes[id][i].gather()
		}
	}
	return ids, scenes
}

// gather collects the scene's trials.
func (s *scene) gather() {
	for n := range s.r.Rounds {
		for i := range s.r.Rounds[n].Trials {
			if t := &s.r.Rounds[n].Trials[i]; s.has(t) {
				s.trials = append(s.trials, t)
			}
		}
	}
}

// flawParts says of each flaw of the published figures whether it is here too.
func flawParts(r *result.Result, a *claim.Analysis) []PublishedPart {
	ids, scenes := flawScenes(r, a)
	lines := map[whereabouts][]string{}
	for _, id := range ids {
		who := map[whereabouts][]string{}
		said := map[whereabouts]map[string][]string{}
		for _, s := range scenes[id] {
			f, name := findFlaw(id, s), r.ArmName(s.arm)
			if said[f.where] == nil {
				said[f.where] = map[string][]string{}
			}
			who[f.where] = append(who[f.where], name)
			said[f.where][f.evidence] = append(said[f.where][f.evidence], name)
		}
		for where, arms := range who {
			subject := ""
			if len(arms) < publishedArms(r.Plan) {
				subject = List(arms) + ": "
			}
			lines[where] = append(lines[where],
				subject+flawWords(id)+". Here: "+evidenceOf(scenes[id], said[where], r)+".")
		}
	}
	var parts []PublishedPart
	for _, p := range []struct {
		where whereabouts
		title string
	}{
		{here, "Flaws of the published measurement, here as well"},
		{gone, "Flaws of the published measurement, not here"},
		{unseen, "Flaws of the published measurement that this run cannot show"},
	} {
		if len(lines[p.where]) > 0 {
			parts = append(parts, PublishedPart{Title: p.title, Lines: lines[p.where]})
		}
	}
	return parts
}

// flawWords describes a flaw: its words, its id and its effect on a figure.
func flawWords(id string) string {
	effect := plan.FlawEffect(id)
	if effect == "" {
		return id
	}
	return strings.TrimSuffix(plan.Flaw(id), ")") + ", " + string(effect) + ")"
}

// evidenceOf joins the evidence of several arms. Evidence that arms share is given once.
func evidenceOf(scenes []scene, said map[string][]string, r *result.Result) string {
	var parts []string
	for _, s := range scenes {
		for evidence, arms := range said {
			if arms[0] != r.ArmName(s.arm) {
				continue
			}
			if len(said) == 1 {
				return evidence
			}
			parts = append(parts, evidence+" ("+List(arms)+")")
		}
	}
	return strings.Join(parts, "; ")
}
